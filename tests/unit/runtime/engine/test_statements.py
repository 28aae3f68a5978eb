"""Statements for a running engine: views come, change and go, and what there is can be shown."""

from __future__ import annotations

import pytest

import cqc

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT);
CREATE TABLE t (x BIGINT, name STRING);
CREATE VIEW big AS SELECT ts, x FROM s WHERE x > 10;
CREATE VIEW bigger AS SELECT x FROM big WHERE x > 20;
CREATE QUERY q AS SELECT x FROM bigger;
"""


def engine_of(text: str = PROGRAM) -> cqc.Engine:
    return cqc.Engine(cqc.compile(text))


def found(engine: cqc.Engine) -> list[tuple[str, object]]:
    return [(each.query, each.row["x"]) for each in engine.drain()]


def test_what_there_is_can_be_shown() -> None:
    engine = engine_of()
    queries = engine.execute("SHOW QUERIES").to_pylist()
    assert queries == [{"name": "q", "kind": "push", "text": "SELECT x FROM bigger"}]
    streams = engine.execute("show streams").to_pylist()
    assert [(each["name"], each["kind"]) for each in streams] == [("s", "stream"), ("t", "table")]
    views = engine.execute("SHOW VIEWS;").to_pylist()
    assert [each["name"] for each in views] == ["big", "bigger"]
    assert views[1]["columns"] == "ts BIGINT, x BIGINT"
    assert engine.execute("SHOW ALERTS").num_rows == 0
    assert engine.execute("SHOW SINKS").num_rows == 0


def test_columns_can_be_described() -> None:
    engine = engine_of()
    assert engine.execute("DESCRIBE big").to_pylist() == [
        {"column": "ts", "type": "BIGINT", "note": "event time"},
        {"column": "x", "type": "BIGINT", "note": ""},
    ]
    assert [each["column"] for each in engine.execute("DESCRIBE Q").to_pylist()] == ["x"]
    with pytest.raises(cqc.RunError, match="no stream, table, view or query nothing"):
        engine.execute("DESCRIBE nothing")


def test_a_view_goes_only_when_nothing_reads_it() -> None:
    engine = engine_of()
    with pytest.raises(cqc.RunError, match="big is read by view bigger"):
        engine.execute("DROP VIEW big")
    with pytest.raises(cqc.RunError, match="bigger is read by query q"):
        engine.execute("DROP VIEW bigger")
    engine.execute("DROP QUERY q; DROP VIEW bigger; DROP VIEW BIG")
    assert engine.execute("SHOW VIEWS").num_rows == 0
    with pytest.raises(cqc.RunError, match="no view big"):
        engine.execute("DROP VIEW big")
    with pytest.raises(cqc.RunError, match="no query q"):
        engine.execute("DROP QUERY q")


def test_a_replaced_view_registers_its_readers_again() -> None:
    engine = engine_of(PROGRAM + "CREATE QUERY other AS SELECT x FROM s;")
    engine.push("s", [{"ts": 1, "x": 30}])
    assert found(engine) == [("q", 30), ("other", 30)]
    with pytest.raises(cqc.CompileError, match="OR REPLACE"):
        engine.execute("CREATE VIEW big AS SELECT ts, x FROM s")
    engine.execute("CREATE OR REPLACE VIEW big AS SELECT ts, x FROM s WHERE x > 40")
    engine.push("s", [{"ts": 2, "x": 30}, {"ts": 3, "x": 50}])
    assert found(engine) == [("other", 30), ("q", 50), ("other", 50)]


def test_a_view_that_would_break_a_reader_is_refused() -> None:
    engine = engine_of()
    with pytest.raises(cqc.CompileError, match="no column x"):
        engine.execute("CREATE OR REPLACE VIEW bigger AS SELECT x AS y FROM big")
    engine.push("s", [{"ts": 1, "x": 30}])
    assert found(engine) == [("q", 30)]


def test_statements_make_streams_views_and_queries() -> None:
    engine = engine_of("CREATE STREAM s (ts BIGINT, x BIGINT);")
    engine.execute(
        "CREATE STREAM r (ts BIGINT, y BIGINT); CREATE VIEW v AS SELECT y FROM r WHERE y > 1;"
        "CREATE QUERY p AS SELECT y AS x FROM v"
    )
    engine.push("r", [{"ts": 1, "y": 1}, {"ts": 2, "y": 2}])
    assert found(engine) == [("p", 2)]
    assert engine.execute("SELECT COUNT(*) AS n FROM v BEGIN 0 END NOW").to_pylist() == [{"n": 1}]
    assert engine.execute("SHOW QUERIES").num_rows == 1
    with pytest.raises(cqc.RunError, match="SET"):
        engine.execute("SET IDLE = 5 SEC")
    with pytest.raises(cqc.CompileError):
        engine.execute("SHOW NOTHING")
    with pytest.raises(TypeError):
        engine.execute(5)  # type: ignore[arg-type]


def test_statements_of_an_engine_are_none_of_a_program() -> None:
    with pytest.raises(cqc.CompileError, match=r"engine\.execute"):
        cqc.compile(PROGRAM + "DROP QUERY q;")
