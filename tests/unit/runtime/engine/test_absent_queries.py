"""Queries with outer joins or EXISTS come and go like others, and disturb nobody."""

from __future__ import annotations

import cqc

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT);
"""


def engine_of(*queries: str) -> cqc.Engine:
    return cqc.Engine(cqc.compile(DECLARATIONS + ";".join(queries)))


def drained(engine: cqc.Engine) -> list[tuple[str, object, tuple[object, ...]]]:
    return [(each.query, each.ts, tuple(each.row.values())) for each in engine.drain()]


LEFT = "SELECT A.k, B.ts AS came FROM A LEFT JOIN B ON A.k = B.k WINDOW B.ts BETWEEN A.ts AND A.ts + 10"


def test_a_left_join_gives_partners_at_once_and_nulls_when_they_are_decided() -> None:
    engine = engine_of(LEFT)
    engine.push_batch({"A": [{"ts": 1, "k": 1}, {"ts": 2, "k": None}], "B": [{"ts": 3, "k": 1}]})
    assert drained(engine) == [("q1", 3, (1, 3))]
    engine.push("B", [{"ts": 13, "k": 1}])
    assert drained(engine) == [("q1", 12, (None, None))]


def test_an_ordinary_query_over_the_same_streams_is_not_disturbed() -> None:
    engine = engine_of(LEFT, "SELECT k FROM A")
    engine.register("SELECT A.k FROM A, B WHERE A.k = B.k MAXWINDOW 5 SEC", name="inner")
    engine.push_batch({"A": [{"ts": 1, "k": 1}], "B": [{"ts": 3, "k": 1}]})
    assert sorted(drained(engine)) == [("inner", 3, (1,)), ("q1", 3, (1, 3)), ("q2", 1, (1,))]
    engine.unregister("q1")
    engine.push("A", [{"ts": 4, "k": 1}])
    assert sorted(drained(engine)) == [("inner", 4, (1,)), ("q2", 4, (1,))]


def test_results_are_counted_when_nobody_collects_them() -> None:
    program = cqc.compile(DECLARATIONS + LEFT)
    engine = cqc.Engine(program, collect=False)
    engine.push_batch({"A": [{"ts": 1, "k": 1}, {"ts": 1, "k": 2}], "B": [{"ts": 3, "k": 1}]})
    engine.finish()
    assert engine.result_counts() == {"q1": 2}
