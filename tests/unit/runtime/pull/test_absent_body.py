"""A pull query judges absence among the tuples of its window."""

from __future__ import annotations

import cqc

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT);
"""


def engine_of(*queries: str) -> cqc.Engine:
    return cqc.Engine(cqc.compile(DECLARATIONS + ";".join(queries)))


def test_a_partner_outside_the_window_is_none() -> None:
    engine = engine_of(
        "SELECT A.ts, B.ts AS came FROM A LEFT JOIN B ON A.k = B.k BEGIN NOW - 10 END NOW"
    )
    engine.push_batch({"A": [{"ts": 10, "k": 1}], "B": [{"ts": 5, "k": 1}]})
    assert engine.invoke("q1").to_pylist() == [{"ts": 10, "came": 5}]
    engine.push("B", [{"ts": 16, "k": 2}])
    assert engine.invoke("q1").to_pylist() == [{"ts": 10, "came": None}]


def test_groups_are_made_of_rows_with_nulls() -> None:
    engine = engine_of(
        "SELECT B.k, COUNT(*) AS n FROM A LEFT JOIN B ON A.k = B.k BEGIN NOW - 10 END NOW GROUP BY B.k ORDER BY B.k"
    )
    engine.push_batch(
        {"A": [{"ts": 1, "k": 1}, {"ts": 2, "k": 2}, {"ts": 2, "k": 3}], "B": [{"ts": 2, "k": 2}]}
    )
    assert engine.invoke("q1").to_pylist() == [{"k": None, "n": 2}, {"k": 2, "n": 1}]
    engine.unregister("q1")


def test_a_table_may_be_preserved() -> None:
    program = cqc.compile(
        "CREATE TABLE T (k BIGINT);"
        + DECLARATIONS
        + "SELECT T.k, COUNT(B.ts) AS n FROM T LEFT JOIN B ON B.k = T.k BEGIN NOW - 10 END NOW GROUP BY T.k ORDER BY T.k"
    )
    engine = cqc.Engine(program)
    engine.push("T", [{"k": 1}, {"k": 2}])
    assert engine.invoke("q1").to_pylist() == []  # nothing was seen yet
    engine.push("B", [{"ts": 1, "k": 2}, {"ts": 2, "k": 2}])
    assert engine.invoke("q1").to_pylist() == [{"k": 1, "n": 0}, {"k": 2, "n": 2}]
