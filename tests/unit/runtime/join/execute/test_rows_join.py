"""ROWS windows: who is among the last k when a combination is completed."""

from __future__ import annotations

import cqc
from tests.support.generators.random_joins import SECOND, Bench


def _push(bench: Bench, name: str, seconds: list[int]) -> None:
    bench.push(name, [(at, 0, 0.0, "", 0) for at in seconds], [at * SECOND for at in seconds])


def _pairs(bench: Bench) -> list[tuple[int, ...]]:
    return sorted(ids for _, ids in bench.queries[0].found)


def test_at_equal_time_the_item_that_is_first_in_from_comes_first() -> None:
    bench = Bench()
    bench.add("SELECT p.id AS i0, q.id AS i1 FROM A AS p [ROWS 2], B AS q [ROWS 9];")
    _push(bench, "b", [3, 4])
    _push(bench, "a", [4, 1, 2])
    bench.end_batch(at_end=True)
    assert _pairs(bench) == [(1, 3), (2, 3), (2, 4), (4, 3), (4, 4)]
    assert bench.wanted(bench.queries[0]) == sorted(bench.queries[0].found)


def test_nothing_is_found_before_the_watermark_settles_the_order() -> None:
    bench = Bench()
    bench.add("SELECT p.id AS i0, q.id AS i1 FROM A AS p [ROWS 1], B AS q [ROWS 1];")
    _push(bench, "a", [1])
    _push(bench, "b", [2])
    bench.end_batch()
    assert _pairs(bench) == []
    _push(bench, "a", [9])
    _push(bench, "b", [9])
    bench.end_batch()
    assert _pairs(bench) == [(1, 2)]


def test_only_the_last_rows_stay_in_the_state() -> None:
    bench = Bench()
    bench.add("SELECT p.id AS i0, q.id AS i1 FROM A AS p [ROWS 2], B AS q [ROWS 2];")
    for second in range(40):
        _push(bench, "a", [second])
        _push(bench, "b", [second])
        bench.end_batch()
    assert len(bench.states["a"]) <= 6
    assert bench.queries[0].seat.results == len(bench.queries[0].found)


def test_beside_tables_alone_nothing_waits_for_the_watermark() -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE TABLE w (x BIGINT);"
        "SELECT s.x AS sx, w.x AS wx FROM w, s [ROWS 1]"
    )
    with cqc.Engine(program) as engine:
        engine.push("w", [{"x": 7}])
        engine.push("s", [{"ts": 1, "x": 1}, {"ts": 2, "x": 2}])
        assert [tuple(result.row.values()) for result in engine.drain()] == [(1, 7), (2, 7)]
