"""A row is decided when the watermark is past its last instant, or has reached it where the bound is open."""

from __future__ import annotations

import cqc

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT);
"""
WITHOUT = "SELECT A.k FROM A WHERE NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k WINDOW B.ts >= A.ts AND B.ts {} A.ts + 10)"


def engine_of(*queries: str) -> cqc.Engine:
    return cqc.Engine(cqc.compile(DECLARATIONS + ";".join(queries)))


def drained(engine: cqc.Engine) -> list[tuple[str, object, tuple[object, ...]]]:
    return [(each.query, each.ts, tuple(each.row.values())) for each in engine.drain()]


def test_a_closed_bound_is_passed_by_a_greater_watermark() -> None:
    engine = engine_of(WITHOUT.format("<="))
    engine.push("A", [{"ts": 5, "k": 1}])
    engine.push("B", [{"ts": 15, "k": 2}])
    assert drained(engine) == []
    engine.push("B", [{"ts": 16, "k": 2}])
    assert drained(engine) == [("q1", 15, (1,))]


def test_an_open_bound_is_passed_by_a_watermark_that_reaches_it() -> None:
    engine = engine_of(WITHOUT.format("<"))
    engine.push("A", [{"ts": 5, "k": 1}])
    engine.push("B", [{"ts": 14, "k": 2}])
    assert drained(engine) == []
    engine.push("B", [{"ts": 15, "k": 1}])
    assert drained(engine) == [("q1", 15, (1,))]


def test_a_partner_in_the_micro_batch_that_decides_counts() -> None:
    engine = engine_of(WITHOUT.format("<="))
    engine.push_batch({"A": [{"ts": 5, "k": 1}], "B": [{"ts": 99, "k": 2}, {"ts": 15, "k": 1}]})
    assert drained(engine) == []


def test_exists_gives_one_result_at_the_first_partner() -> None:
    engine = engine_of(
        "SELECT A.k FROM A WHERE EXISTS (SELECT 1 FROM B WHERE B.k = A.k WINDOW B.ts BETWEEN A.ts - 5 AND A.ts + 5)"
    )
    engine.push_batch({"A": [{"ts": 10, "k": 1}], "B": [{"ts": 12, "k": 1}, {"ts": 13, "k": 1}]})
    assert drained(engine) == [("q1", 12, (1,))]
    engine.push_batch({"A": [{"ts": 14, "k": 1}]})  # a partner that is not after it: at once
    assert drained(engine) == [("q1", 14, (1,))]


def test_the_end_of_the_input_decides_everything() -> None:
    engine = engine_of(WITHOUT.format("<="))
    engine.push("A", [{"ts": 5, "k": 1}])
    engine.finish()
    assert drained(engine) == [("q1", 15, (1,))]
