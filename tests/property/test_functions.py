"""Every built-in function: its documented example, and random calls of it, on the engine and by both judges.

The tests read the registry, so a new function is tested by having an entry. The one line it needs is the oracle's.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.emit.sql import query_sql
from cqc.compiler.functions.aggregates import AGGREGATES, EXAMPLE_COLUMNS, EXAMPLE_ROWS
from cqc.compiler.functions.registry import SCALAR_FAMILIES
from cqc.compiler.functions.sql_forms import CannotWriteError
from cqc.compiler.meaning import bound
from cqc.compiler.rewrites.fold_constants import fold
from tests.property.random_calls import (
    COLUMNS,
    STREAM,
    by_engine,
    random_call,
    random_rows,
    same,
)
from tests.support.duckdb_judge import DuckDbJudge
from tests.support.oracle import functions as oracle
from tests.support.oracle.brute_force import Data
from tests.support.oracle.judge import oracle_answer
from tests.support.oracle.scalars import Scope, evaluate

if TYPE_CHECKING:
    from cqc.compiler.functions.entry import AggregateEntry, FunctionEntry, ScalarEntry
    from cqc.compiler.program import Program
    from tests.support.oracle.scalars import Row, Value

ENTRIES = [entry for family in SCALAR_FAMILIES.values() for entry in family]
FOLDED = [entry for entry in ENTRIES if entry.constant is not None]
UNNAMED = {bound.INSTANT, *bound.MATCH_CALLS}  # no query calls them
ONE_ROW = "CREATE STREAM s (ts BIGINT);"
ROWS = 60
CALLS = 8


def name_of(entry: FunctionEntry) -> str:
    return entry.name


def by_duckdb(program: Program, rows: list[Row]) -> list[list[Value]] | None:
    """None where the emitted SQL says that DuckDB cannot do it."""
    try:
        statement = query_sql(program.queries["q1"], timed=True)
    except CannotWriteError:
        return None
    arrivals = {"s": [(row, at) for at, row in enumerate(rows)]}
    judge = DuckDbJudge(dict(program.catalog.relations), Data(arrivals))
    found = [list(row) for _, row in judge.answer(statement)]
    judge.close()
    return sorted(found, key=lambda values: values[0])  # type: ignore[arg-type, return-value]  # a number


def test_the_oracle_knows_every_function_and_no_other() -> None:
    taking_null = {entry.name for entry in ENTRIES if entry.takes_null}
    assert set(oracle.TAKING_NULL) == taking_null
    assert set(oracle.FUNCTIONS) - UNNAMED == {entry.name for entry in ENTRIES} - taking_null


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_the_example_gives_what_the_documentation_says(entry: ScalarEntry) -> None:
    call, expected = entry.example
    program = cqc.compile(ONE_ROW + f"SELECT ts, {call} AS v FROM s;")
    (_, output) = program.queries["q1"].outputs
    assert same(evaluate(output.expression, Scope([(0,)])), expected)
    assert same(by_engine(program, [(0,)])[0][1], expected)
    judged = by_duckdb(program, [(0,)])
    assert judged is None or same(judged[0][1], expected)
    folded = fold(output.expression)
    if isinstance(folded, bound.Literal):
        assert same(folded.value, expected)


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_random_calls_are_what_both_judges_say(entry: ScalarEntry) -> None:
    random = Random(entry.name)
    calls = [random_call(random, entry) for _ in range(CALLS)]
    outputs = ", ".join(f"{call} AS v{at}" for at, call in enumerate(calls))
    program = cqc.compile(STREAM + f"SELECT ts, {outputs} FROM s;")
    rows = random_rows(random, ROWS)
    expressions = [output.expression for output in program.queries["q1"].outputs]
    expected = [[evaluate(each, Scope([row])) for each in expressions] for row in rows]
    for found in (by_engine(program, rows), by_duckdb(program, rows)):
        if found is None:
            continue
        for row, values, wanted in zip(rows, found, expected, strict=True):
            for call, value, right in zip(calls, values[1:], wanted[1:], strict=True):
                assert same(value, right), f"{call}: {value!r}, not {right!r}, with {named(row)}"


def named(row: Row) -> dict[str, Value]:
    return dict(zip([name for name, _ in COLUMNS], row[1:], strict=True))


@pytest.mark.parametrize("entry", FOLDED, ids=name_of)
def test_a_call_on_constants_is_folded_to_what_the_oracle_says(entry: ScalarEntry) -> None:
    random = Random(entry.name)
    rows = random_rows(random, 20)
    for row in rows:
        call = cqc.compile(STREAM + f"SELECT {random_call(random, entry)} AS v FROM s;")
        (output,) = call.queries["q1"].outputs
        constant = with_constants(output.expression, row)
        folded = fold(constant)
        if isinstance(folded, bound.Literal):
            assert same(folded.value, evaluate(constant, Scope([row]))), constant


def with_constants(expression: bound.Expression, row: Row) -> bound.Expression:
    """The expression with the columns' values of one row written out."""
    match expression:
        case bound.ColumnRef():
            return bound.Literal(row[expression.column], expression.type, expression.span)
        case bound.Cast():
            operand = with_constants(expression.operand, row)
            return bound.Cast(operand, expression.type, expression.span)
        case bound.FunctionCall():
            arguments = tuple(with_constants(each, row) for each in expression.arguments)
            return bound.FunctionCall(expression.name, arguments, expression.type, expression.span)
        case _:
            return expression


@pytest.mark.parametrize("entry", AGGREGATES, ids=name_of)
def test_the_aggregates_example_gives_what_the_documentation_says(entry: AggregateEntry) -> None:
    call, expected = entry.example
    columns = ", ".join(f"{name} {type_.value}" for name, type_ in EXAMPLE_COLUMNS.items())
    stream = f"CREATE STREAM s (ts BIGINT, {columns});"
    program = cqc.compile(stream + f"CREATE QUERY q1 AS SELECT {call} AS v FROM s BEGIN 0 END NOW;")
    rows: list[Row] = [(at, *row) for at, row in enumerate(EXAMPLE_ROWS)]
    engine = cqc.Engine(program)
    engine.push("s", [dict(zip(["ts", *EXAMPLE_COLUMNS], row, strict=True)) for row in rows])
    (found,) = engine.invoke("q1").to_pylist()
    assert same(found["v"], expected)
    judged = by_duckdb(program, rows)
    assert judged is None or same(judged[0][0], expected)
    arrivals = Data({"s": [(row, at) for at, row in enumerate(rows)]})
    ((_, (right,)),) = oracle_answer(program.queries["q1"], arrivals)
    assert same(right, expected)
