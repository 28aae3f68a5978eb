"""All alerts of an engine, as an engine sees them."""

import cqc

PROGRAM = """CREATE STREAM s (ts TIMESTAMP, k STRING, x DOUBLE);
CREATE ALERT hot SEVERITY 'high' AS SELECT x, k FROM s WHERE x > 1 PER k, x > 5 AS very NO DATA AFTER 1 HOUR
WITH (summary = '{k} is at {x} {{sic}}', runbook = 'https://wiki.example');"""


def test_a_result_has_everything_that_is_told_beside_its_row() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": "2024-01-01T00:00:00Z", "k": None, "x": 2.5}])
    (result,) = engine.drain()
    assert result.row == {"x": 2.5, "k": None}
    assert result.alert == {
        "state": "firing",
        "severity": "high",
        "key": {"k": None, "very": False},
        "since": result.ts,
        "count": 1,
        "summary": "null is at 2.5 {sic}",
        "runbook": "https://wiki.example",
    }
    assert "alert={" in repr(result)


def test_results_are_counted_those_of_dropping_included() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": "2024-01-01T00:00:00Z", "k": "a", "x": 2.5}])
    assert engine.snapshot().state.queries[0].results == 1
    engine.execute("DROP ALERT hot")
    assert [each.alert["state"] for each in engine.drain()] == ["firing", "resolved"]  # type: ignore[index]


def test_an_alert_that_is_replaced_with_its_view_is_resolved() -> None:
    text = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE VIEW v AS SELECT ts, x FROM s;"
    engine = cqc.Engine(
        cqc.compile(text + "CREATE ALERT a AS SELECT x FROM v WHERE x > 1 NO DATA AFTER 1 HOUR;")
    )
    engine.push("s", [{"ts": 1, "x": 5}])
    engine.push("s", [{"ts": 3, "x": 6}])
    engine.execute("CREATE OR REPLACE VIEW v AS SELECT ts, x + 1 AS x FROM s")
    told = [(each.ts, each.alert["state"], each.row["x"]) for each in engine.drain()]  # type: ignore[index]
    assert told == [(1, "firing", 5), (3, "resolved", 5)]


def test_results_come_as_tables_too() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": "2024-01-01T00:00:00Z", "k": "a", "x": 2.5}])
    table = engine.drain(to="arrow")["hot"]
    assert table.column_names == ["ts", "x", "k", "alert"]
    assert '"state": "firing"' in table["alert"][0].as_py()
