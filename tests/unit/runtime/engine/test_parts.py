"""Which parts of an engine take part in a micro-batch follows the queries that run, however late they come or early they go."""

from __future__ import annotations

from typing import Any

import cqc

STREAMS = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE STREAM t (ts BIGINT, x BIGINT);"


def push(engine: cqc.Engine, second: int, stream: str = "s") -> list[tuple[str, dict[str, Any]]]:
    """Push a row; what was found by then."""
    engine.push(stream, [{"ts": second, "x": second}])
    return [(each.query, each.row) for each in engine.drain()]


def test_a_view_takes_part_while_somebody_reads_it() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    assert push(engine, 1) == []
    engine.execute(
        "CREATE VIEW total AS SELECT COUNT(*) AS n FROM TUMBLE(s, 10 SEC) GROUP BY window_start"
    )
    engine.register("SELECT n FROM total", name="q")
    assert push(engine, 2) == []
    assert push(engine, 25) == [("q", {"n": 1})]
    engine.unregister("q")
    assert push(engine, 50) == []


def test_queries_about_what_is_missing_take_part_from_their_registration_on() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    push(engine, 1)
    engine.register(
        "SELECT s.x FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.x = s.x AND t.ts >= s.ts AND t.ts <= s.ts + 5)",
        name="alone",
    )
    push(engine, 2)
    assert push(engine, 60, "t") + push(engine, 60) == [("alone", {"x": 2})]
    engine.unregister("alone")
    assert push(engine, 200, "t") + push(engine, 200) == []


def test_all_tuples_are_kept_while_a_pull_query_may_ask_for_them() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS), keep_past=False)
    push(engine, 1)
    assert len(engine.states["s"]) == 0
    handle = engine.register("SELECT SUM(x) AS total FROM s BEGIN 0 END NOW", name="sum")
    push(engine, 2)
    push(engine, 3)
    assert engine.invoke(handle).to_pylist() == [{"total": 5}]
    engine.unregister(handle)
    before = len(engine.states["s"])
    push(engine, 4)
    assert len(engine.states["s"]) <= before


def test_a_stream_that_is_declared_later_goes_its_own_way() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    push(engine, 1)
    engine.execute("CREATE STREAM u (ts BIGINT, x BIGINT)")
    engine.register("SELECT x FROM u", name="q")
    assert push(engine, 2, "u") == [("q", {"x": 2})]
