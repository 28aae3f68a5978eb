"""A snapshot is plain data: whole or since the last one, as JSON and back, with the queries that are wanted."""

from __future__ import annotations

import json

import cqc
from cqc.runtime.engine.snapshot import EngineState, QueryState, same_text

PROGRAM = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY q AS SELECT x FROM s WHERE x > 1;"


def engine_with(*numbers: int) -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": number, "x": number} for number in numbers])
    return engine


def test_it_holds_how_far_everything_has_come() -> None:
    engine = engine_with(1, 2, 3)
    snapshot = engine.snapshot()
    line = snapshot.state.lines["s"]
    assert (line.read, line.arrivals, line.first_us, line.largest_us) == (
        3,
        3,
        1_000_000,
        3_000_000,
    )
    (query,) = snapshot.state.queries
    assert (query.name, query.results) == ("q", 2)
    assert same_text(query.text, "SELECT x FROM s  WHERE x > 1")
    assert snapshot.tuples["s"].packet.ts_us.tolist() == [1_000_000, 2_000_000, 3_000_000]


def test_since_the_last_one_it_holds_the_tuples_that_have_come_since() -> None:
    engine = engine_with(1, 2)
    first = engine.snapshot()
    engine.push("s", [{"ts": 5, "x": 5}])
    second = engine.snapshot(since=first.ends)
    assert second.tuples["s"].start == first.ends["s"] == 2
    assert second.tuples["s"].packet.ts_us.tolist() == [5_000_000]
    assert second.state.lines["s"].read == 3
    assert len(engine.snapshot(since=engine.heads()).tuples["s"].packet) == 0


def test_a_query_is_remembered_with_the_place_of_its_registration() -> None:
    engine = engine_with(1, 2)
    engine.register("SELECT x FROM s", "late")
    first, late = engine.snapshot().state.queries
    assert (first.since, late.since) == ({}, {"s": 2})
    assert late.text == "SELECT x FROM s"


def test_its_state_is_json_and_comes_back() -> None:
    state = engine_with(1, 2, 3).snapshot().state
    assert EngineState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_queries_that_are_not_wanted_leave_with_their_results() -> None:
    state = EngineState(
        queries=[QueryState("a", "SELECT 1", {}, 4), QueryState("b", "SELECT  2", {}, 5)],
        results_of_gone={"a": 1},
    )
    kept = state.without_gone({"b": "SELECT 2", "a": "SELECT 3"})
    assert [query.name for query in kept.queries] == ["b"]
    assert kept.results_of_gone == {"a": 5}
