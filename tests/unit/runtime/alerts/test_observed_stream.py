"""Observations that wait, and alerts that come while they do."""

import cqc

PROGRAM = """CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, y BIGINT, WATERMARK FOR ts AS ts - 10 SECONDS);
CREATE ALERT a AS SELECT x FROM s WHERE x > 0 NO DATA AFTER 1 HOUR;"""


def told(engine: cqc.Engine) -> list[tuple[object, ...]]:
    return [
        (each.query, each.ts, each.alert["state"], *each.row.values())  # type: ignore[index]
        for each in engine.drain()
    ]


def test_an_alert_that_needs_more_columns_comes_while_observations_wait() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": 5, "k": "a", "x": 1, "y": 1}])
    engine.execute("CREATE ALERT b AS SELECT y, k FROM s WHERE y > 0 PER k NO DATA AFTER 1 HOUR")
    engine.push("s", [{"ts": 3, "k": "a", "x": 0, "y": 2}, {"ts": 6, "k": "a", "x": 0, "y": 0}])
    assert told(engine) == []
    engine.finish()
    assert sorted(told(engine)) == [
        ("a", 5, "firing", 1),
        ("a", 6, "resolved", 0),
        ("b", 3, "firing", 2, "a"),
        ("b", 6, "resolved", 0, "a"),
    ]


def test_a_number_that_is_free_again_inherits_nothing() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": 5, "k": "a", "x": 1, "y": 0}])
    engine.unregister("a")
    engine.execute("CREATE ALERT c AS SELECT x FROM s WHERE x > 5 NO DATA AFTER 1 HOUR")
    engine.finish()
    assert told(engine) == []


def test_alerts_that_ask_the_same_share_what_is_found() -> None:
    twin = "CREATE ALERT twin AS SELECT y FROM s WHERE x > 0 PER k NO DATA AFTER 1 HOUR"
    engine = cqc.Engine(cqc.compile(f"{PROGRAM}{twin};"))
    engine.push("s", [{"ts": 5, "k": "a", "x": 1, "y": 7}])
    engine.finish()
    assert ("a", 5, "firing", 1) in (found := told(engine))
    assert ("twin", 5, "firing", 7) in found
