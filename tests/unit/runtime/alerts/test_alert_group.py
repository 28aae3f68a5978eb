"""Alerts with one PER clause look at observations together, and forget what is over."""

import cqc

PROGRAM = """CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT);
CREATE ALERT a AS SELECT k, x FROM s WHERE x > 0 PER k NO DATA AFTER 5 SEC;
CREATE ALERT b AS SELECT k, x FROM s WHERE x > 1 PER k ONCE EVERY 20 SEC NO DATA AFTER 5 SEC;"""


def test_what_is_kept_stays_small_while_keys_come_and_go() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM), keep_past=False)
    told = 0
    for second in range(0, 400, 4):
        rows = [{"ts": second, "k": 1_000 * second + at, "x": 2} for at in range(100)]
        engine.push("s", rows)
        told += sum(1 for _ in engine.drain())
    engine.finish()
    told += sum(1 for _ in engine.drain())
    assert told == 2 * 2 * 100 * 100  # both alerts, firing and no_data, for every key
    (state,) = engine.snapshot().state.alerts
    (group,) = state["groups"]
    assert len(group["entries"]) < 200_000
    assert len(state["alerts"]) == 2


def test_an_alert_that_leaves_takes_its_keys_along() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": 1, "k": 1, "x": 2}, {"ts": 1, "k": 2, "x": 1}])
    engine.unregister("b")
    engine.push("s", [{"ts": 2, "k": 1, "x": 0}, {"ts": 2, "k": 2, "x": 0}])
    told = [(each.query, each.ts, each.row["k"], each.alert["state"]) for each in engine.drain()]  # type: ignore[index]
    assert sorted(told) == [
        ("a", 1, 1, "firing"),
        ("a", 1, 2, "firing"),
        ("a", 2, 1, "resolved"),
        ("a", 2, 2, "resolved"),
        ("b", 1, 1, "firing"),
        ("b", 1, 1, "resolved"),
    ]


def test_keys_of_which_nothing_is_bad_are_not_kept() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM), keep_past=False)
    engine.push("s", [{"ts": 1, "k": at, "x": int(at == 7)} for at in range(4_000)])
    engine.push("s", [{"ts": 2, "k": at, "x": 0} for at in range(4_000)])
    engine.push("s", [{"ts": 3, "k": at, "x": 0} for at in range(4_000)])
    told = [(each.ts, each.row["k"], each.alert["state"]) for each in engine.drain()]  # type: ignore[index]
    assert told == [(1, 7, "firing"), (2, 7, "resolved")]
    assert engine.kept_bytes()["a"] < 20_000
