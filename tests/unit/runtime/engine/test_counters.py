"""What an engine tells of itself changes nothing, is a copy, and can be asked after it was closed."""

from __future__ import annotations

import cqc

TEXT = "CREATE STREAM S (ts BIGINT, x BIGINT); CREATE QUERY q AS SELECT 1 / x AS y FROM S;"


def engine_with(*numbers: int) -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(TEXT))
    engine.push("s", [{"ts": at, "x": x} for at, x in enumerate(numbers)])
    engine.close()
    return engine


def test_counts_are_copies_under_declared_names() -> None:
    engine = engine_with(1, 2)
    engine.stream_counts()["S"].reasons["mine"] += 1
    assert engine.stream_counts()["S"].read == engine.tuples_read == 2
    assert not engine.stream_counts()["S"].reasons


def test_failed_evaluations_are_counted() -> None:
    engine = engine_with(1, 0)
    assert [result.row["y"] for result in engine.drain()] == [1.0, None]
    assert engine.failed_evaluations == 1


def test_sizes_and_heads_are_those_of_the_states() -> None:
    engine = engine_with(1, 2, 3)
    kept = engine.state_sizes()["S"]
    assert (kept.tuples, engine.heads()) == (3, {"s": 3})
    assert kept.bytes > 0
    assert engine.relations_used() == {"s"}


def test_a_query_is_known_by_its_name_and_its_node() -> None:
    engine = engine_with()
    assert engine.name_of("Q") == "q"
    assert engine.node("q").outputs[0].name == "y"
    assert not engine.waits_for_time
    assert engine.taken_names == {"q": "q"}


def test_an_engine_with_views_tells_of_its_streams() -> None:
    views = "CREATE VIEW v AS SELECT ts, x FROM S UNION ALL SELECT ts, x FROM S;"
    query = "CREATE QUERY j AS SELECT v.x FROM v, S WHERE S.x = v.x MAXWINDOW 5 SECONDS;"
    engine = cqc.Engine(cqc.compile(TEXT + views + query))
    engine.push("s", [{"ts": 1, "x": 2}])
    assert [each.name for each in engine.metrics().packets] == ["S"]
