"""Which keys burn, for people who look."""

import cqc

PROGRAM = """CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);
CREATE ALERT slow SEVERITY 'low' AS SELECT x FROM s WHERE x > 1 PER k FOR 5 SEC NO DATA AFTER 1 HOUR;
CREATE ALERT quick AS SELECT x, k FROM s WHERE x > 2 ONCE EVERY 1 HOUR NO DATA AFTER 1 HOUR;"""


def test_keys_are_shown_with_what_is_known_of_them() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    for ts, k, x in [(1, "a", 3), (2, "b", 2), (6, "a", 4), (7, "b", 1)]:
        engine.push("s", [{"ts": ts, "k": k, "x": x}])
    assert engine.alert_counts() == {"slow": (0, 1), "quick": (0, 0)}
    (key,) = engine.alerts()
    assert (key.alert, key.severity, key.state, key.key) == ("slow", "low", "firing", {"k": "a"})
    assert (key.since, key.last, key.count, key.told, key.row) == (1, 6, 2, True, {"x": 4})


def test_pending_keys_and_those_that_are_held_back_are_shown_too() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    for ts, x in [(1, 3), (2, 0), (3, 3)]:
        engine.push("s", [{"ts": ts, "k": "a", "x": x}])
    found = [(key.alert, key.state, key.told, key.key) for key in engine.alerts()]
    assert sorted(found) == [("quick", "firing", False, {}), ("slow", "pending", False, {"k": "a"})]
    assert engine.alerts("nobody") == []
    shown = engine.execute("SHOW ALERTS").to_pylist()  # type: ignore[union-attr]
    assert [(each["name"], each["pending"], each["firing"]) for each in shown] == [
        ("slow", "1", "0"),
        ("quick", "0", "1"),
    ]
