"""Every built-in function means what it means in Spark: the SQL that cqc emits for Spark, asked of Spark itself.

All calls are one SELECT, so that Spark plans once. They are made from the registry: a new function needs no line here.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import cqc
from cqc.compiler.emit.sql import query_sql
from cqc.compiler.functions.aggregates import AGGREGATES, EXAMPLE_COLUMNS, EXAMPLE_ROWS
from cqc.compiler.functions.registry import SCALAR_FAMILIES
from cqc.compiler.meaning.types import ColumnType
from tests.property.random_calls import (
    COLUMNS,
    STREAM,
    random_call,
    random_rows,
    same,
    with_moments,
)
from tests.support.oracle.duckdb_judge import plain
from tests.support.oracle.scalars import Scope, evaluate

if TYPE_CHECKING:
    from cqc.runtime.spark.session.session import Session
    from tests.support.oracle.scalars import Row, Value

ENTRIES = [entry for family in SCALAR_FAMILIES.values() for entry in family]
COLUMNS_OF_S = [("ts", ColumnType.BIGINT), *COLUMNS]
ROWS = 40
CALLS = 4


def by_spark(
    session: Session, select: str, columns: list[tuple[str, ColumnType]], rows: list[Row]
) -> list[list[Value]]:
    """The answer of a query, in the order of its first output."""
    schema = ", ".join(f"{name} {type_.value}" for name, type_ in columns)
    typed = with_moments([type_ for _, type_ in columns], rows)
    session.spark.createDataFrame(typed, schema).createOrReplaceTempView("s")
    program = cqc.compile(f"CREATE STREAM s ({schema}); {select};")
    found = session.spark.sql(query_sql(program.queries["q1"], "spark")).collect()
    return sorted([[plain(value) for value in row] for row in found], key=lambda row: row[0] or 0)  # type: ignore[arg-type, return-value]  # a number


def test_the_examples_give_what_the_documentation_says(session: Session) -> None:
    calls = ", ".join(f"{entry.example[0]} AS v{at}" for at, entry in enumerate(ENTRIES))
    ((_, *found),) = by_spark(
        session, f"SELECT ts, {calls} FROM s", [("ts", ColumnType.BIGINT)], [(0,)]
    )
    wrong = [
        f"{entry.example[0]}: {value!r}"
        for entry, value in zip(ENTRIES, found, strict=True)
        if not same(value, entry.example[1])
    ]
    assert not wrong


def test_random_calls_give_what_the_oracle_says(session: Session) -> None:
    random = Random(4)
    calls = [random_call(random, entry) for entry in ENTRIES for _ in range(CALLS)]
    select = f"SELECT ts, {', '.join(f'{call} AS v{at}' for at, call in enumerate(calls))} FROM s"
    expressions = [
        output.expression for output in cqc.compile(f"{STREAM} {select};").queries["q1"].outputs
    ]
    rows = random_rows(random, ROWS)
    wrong = []
    for row, found in zip(rows, by_spark(session, select, COLUMNS_OF_S, rows), strict=True):
        for call, value, each in zip(calls, found[1:], expressions[1:], strict=True):
            expected = evaluate(each, Scope([row]))
            if not same(value, expected):
                wrong.append(f"{call}: {value!r}, not {expected!r}, with {row}")
    assert not wrong, "\n".join(wrong[:20])


def test_the_aggregates_examples_give_what_the_documentation_says(session: Session) -> None:
    calls = ", ".join(f"{entry.example[0]} AS v{at}" for at, entry in enumerate(AGGREGATES))
    columns = [("ts", ColumnType.BIGINT), *EXAMPLE_COLUMNS.items()]
    rows: list[Row] = [(at, *row) for at, row in enumerate(EXAMPLE_ROWS)]
    found = by_spark(session, f"SELECT {calls} FROM s BEGIN 0 END NOW", columns, rows)
    assert found == [[entry.example[1] for entry in AGGREGATES]]
