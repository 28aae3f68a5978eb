"""An aggregate without GROUP BY inside EXISTS and IN has a row where nothing is found: DuckDB says the same."""

from __future__ import annotations

import duckdb
import pytest

import cqc

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT, name STRING);
CREATE STREAM B (ts BIGINT, k BIGINT, y BIGINT, name STRING);
"""
ROWS = {
    "A": [(1, 1, 0, "a"), (2, 1, 5, "b"), (3, 2, 1, None), (4, 3, 0, "c"), (5, None, 0, "d"), (6, 4, None, "e"), (7, 5, 2, "f")],
    "B": [(1, 1, 5, "a"), (2, 1, 4, "b"), (3, 2, None, "b"), (4, None, 3, None), (5, 4, 1, "e"), (6, 5, 2, "f"), (7, 5, 9, None)],
}  # fmt: skip
QUESTIONS = [
    "EXISTS (SELECT COUNT(*) FROM B WHERE B.k = A.k)",
    "NOT EXISTS (SELECT COUNT(*) FROM B WHERE B.k = A.k)",
    "EXISTS (SELECT MAX(y) FROM B WHERE B.k = A.k AND B.y > 3)",
    "EXISTS (SELECT 1 FROM B WHERE B.k = A.k HAVING COUNT(*) = 0)",
    "NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k HAVING COUNT(*) = 0)",
    "EXISTS (SELECT 1 FROM B WHERE B.k = A.k HAVING COUNT(*) < 2 AND COUNT(y) <> 1)",
    "NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k HAVING COUNT(*) < 2)",
    "EXISTS (SELECT 1 FROM B WHERE B.k = A.k HAVING MAX(y) IS NULL)",
    "NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k HAVING MAX(y) IS NULL OR SUM(y) > 8)",
    "EXISTS (SELECT 1 FROM B WHERE B.k = A.k AND B.name = A.name HAVING COUNT(*) <= 0)",
    "EXISTS (SELECT 1 FROM B WHERE B.name = A.name HAVING MIN(B.name) IS NULL)",
    "A.x IN (SELECT COUNT(*) FROM B WHERE B.k = A.k)",
    "A.x NOT IN (SELECT COUNT(*) FROM B WHERE B.k = A.k)",
    "A.x IN (SELECT MAX(y) FROM B WHERE B.k = A.k)",
    "A.x NOT IN (SELECT MAX(y) FROM B WHERE B.k = A.k)",
    "A.x + 1 IN (SELECT COUNT(y) + 1 FROM B WHERE B.k = A.k)",
    "A.x NOT IN (SELECT MIN(y) FROM B WHERE B.k = A.k HAVING COUNT(*) > 1)",
    "A.x NOT IN (SELECT COUNT(*) FROM B WHERE B.k = A.k HAVING COUNT(*) < 2)",
    "A.x IN (SELECT COUNT(*) FROM B WHERE B.k = A.k HAVING COUNT(*) < 2)",
    "A.name NOT IN (SELECT MAX(B.name) FROM B WHERE B.k = A.k)",
    "A.x IN (SELECT MAX(y) FROM B)",
    "EXISTS (SELECT COUNT(*) FROM B WHERE B.k = A.k) AND A.x NOT IN (SELECT COUNT(*) FROM B WHERE B.k = A.k)",
    "EXISTS (SELECT COUNT(*) FROM B b LEFT JOIN A a2 ON b.k = a2.k WHERE b.k = A.k HAVING COUNT(a2.x) = 0)",
]


def of_cqc(question: str) -> list[int]:
    program = (
        f"{DECLARATIONS} CREATE QUERY q AS SELECT A.ts FROM A WHERE {question} BEGIN 0 END NOW;"
    )
    compiled = cqc.compile(program)
    assert not compiled.warnings
    engine = cqc.Engine(compiled)
    columns = {"A": ("ts", "k", "x", "name"), "B": ("ts", "k", "y", "name")}
    for name, rows in ROWS.items():
        engine.push(name, [dict(zip(columns[name], row, strict=True)) for row in rows])
    return sorted(engine.invoke("q")["ts"].to_pylist())


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_as_duckdb_does(question: str) -> None:
    database = duckdb.connect()
    database.execute("CREATE TABLE A (ts BIGINT, k BIGINT, x BIGINT, name VARCHAR)")
    database.execute("CREATE TABLE B (ts BIGINT, k BIGINT, y BIGINT, name VARCHAR)")
    for name, rows in ROWS.items():
        database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
    expected = database.execute(f"SELECT A.ts FROM A WHERE {question} ORDER BY ts").fetchall()
    assert of_cqc(question) == [ts for (ts,) in expected]


def test_what_some_aggregates_are_of_nothing_is_not_said() -> None:
    question = "EXISTS (SELECT collect_list(y) FROM B WHERE B.k = A.k)"
    with pytest.raises(cqc.CompileError, match="aggregate without GROUP BY"):
        cqc.compile(f"{DECLARATIONS} SELECT A.ts FROM A WHERE {question} BEGIN 0 END NOW;")
