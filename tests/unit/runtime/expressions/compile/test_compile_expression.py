"""The evaluator against the oracle's one-value-at-a-time form, and what the oracle does not know: failure counts."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cqc.compiler.functions import registered
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, ComparisonOp, Expression
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.errors import RunError
from cqc.runtime.expressions.compile.compile_expression import (
    REPLACED,
    Compiled,
    compile_expression,
)
from tests.support.generators.random_expressions import (
    COLUMN_TYPES,
    SPAN,
    TYPES,
    random_expression,
    random_rows,
)
from tests.support.oracle.scalars import Scope, evaluate

if TYPE_CHECKING:
    import numpy as np

X = bound.ColumnRef(0, 0, T.BIGINT, SPAN)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and bool(left == right)


def run_rows(expression: Expression, rows: list[tuple[Any, ...]]) -> list[Any]:
    columns = [
        from_python(type_, [row[at] for row in rows]) for at, type_ in enumerate(COLUMN_TYPES)
    ]
    return to_python(compile_expression(expression).run(lambda _, at: columns[at], len(rows)))


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_are_what_the_oracle_says(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        expression = random_expression(random, random.choice((*TYPES, T.INTERVAL)), 3)
        rows = random_rows(random, random.choice((1, 9)))
        got = run_rows(expression, rows)
        wanted = [evaluate(expression, Scope((row,))) for row in rows]
        if expression.type is T.DOUBLE:
            wanted = [float(value) if isinstance(value, int) else value for value in wanted]
        for row, one, other in zip(rows, got, wanted, strict=True):
            assert same(one, other), f"{expression}\n{row}\n{one!r} is not {other!r}"


def compiled(expression: Expression, values: list[int | None]) -> tuple[Compiled, list[Any]]:
    column = from_python(T.BIGINT, values)
    made = compile_expression(expression)
    return made, to_python(made.run(lambda item, at: column, len(values)))


def number(value: int) -> bound.Literal:
    return bound.Literal(value, T.BIGINT, SPAN)


def one_over_x() -> bound.Arithmetic:
    return bound.Arithmetic(ArithmeticOp.DIVIDE, number(1), X, T.DOUBLE, SPAN)


def test_overflow_and_division_by_zero_are_null_and_counted() -> None:
    plus_one = bound.Arithmetic(ArithmeticOp.ADD, X, number(1), T.BIGINT, SPAN)
    made, values = compiled(plus_one, [1, 2**63 - 1, None])
    assert values == [2, None, None]
    assert made.failures == 1
    made, values = compiled(one_over_x(), [2, 0, None, 0])
    assert values == [0.5, None, None, None]
    assert made.failures == 2


def test_a_constant_that_fails_is_counted_on_every_row() -> None:
    zero = bound.Arithmetic(ArithmeticOp.DIVIDE, number(1), number(0), T.DOUBLE, SPAN)
    made, values = compiled(zero, [1, 2, 3])
    assert values == [None, None, None]
    assert made.failures == 3


def test_what_is_not_asked_for_does_not_fail() -> None:
    not_zero = bound.Comparison(X, ComparisonOp.NE, number(0), SPAN)
    half = bound.Comparison(one_over_x(), ComparisonOp.GT, bound.Literal(0.1, T.DOUBLE, SPAN), SPAN)
    guarded = bound.And((not_zero, half), SPAN)
    made, values = compiled(guarded, [0, 1, None])
    assert values == [False, True, None]
    assert made.failures == 0
    case = bound.Case(
        ((not_zero, one_over_x()),), bound.Literal(0.0, T.DOUBLE, SPAN), T.DOUBLE, SPAN
    )
    made, values = compiled(case, [0, 2])
    assert values == [0.0, 0.5]
    assert made.failures == 0


def test_coalesce_asks_for_the_next_only_where_the_first_is_null() -> None:
    call = bound.FunctionCall(
        "coalesce", (bound.Cast(X, T.DOUBLE, SPAN), one_over_x()), T.DOUBLE, SPAN
    )
    made, values = compiled(call, [0, None])
    assert values == [0.0, None]
    assert made.failures == 0


def test_is_true_is_false_for_null() -> None:
    condition = compile_expression(bound.Comparison(X, ComparisonOp.GT, number(1), SPAN))
    column = from_python(T.BIGINT, [1, None, 2])
    assert condition.is_true(lambda item, at: column, 3).tolist() == [False, False, True]


def test_constant_conditions_answer_for_every_row() -> None:
    condition = compile_expression(bound.Literal(True, T.BOOLEAN, SPAN))
    assert condition.is_true(lambda item, at: from_python(T.BIGINT, []), 2).tolist() == [True, True]
    nothing = compile_expression(bound.Literal(None, T.NULL, SPAN))
    assert to_python(nothing.run(lambda item, at: from_python(T.BIGINT, []), 2)) == [None, None]


def test_no_rows_give_no_values() -> None:
    random = Random(5)
    for type_ in TYPES:
        for _ in range(30):
            assert run_rows(random_expression(random, type_, 3), []) == []


def test_replaced_expressions_are_read_not_evaluated() -> None:
    total = bound.Aggregate(bound.AggregateFunction.SUM, X, False, T.BIGINT, SPAN)
    twice = bound.Arithmetic(ArithmeticOp.MULTIPLY, total, number(2), T.BIGINT, SPAN)
    made = compile_expression(twice, {total: 0})
    sums = from_python(T.BIGINT, [4, None])
    asked: list[tuple[int, int]] = []

    def columns(item: int, column: int) -> Any:
        asked.append((item, column))
        return sums

    assert to_python(made.run(columns, 2)) == [8, None]
    assert asked == [(REPLACED, 0)]


def test_a_user_function_sees_only_rows_without_null(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def double_it(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        seen.append(values.tolist())
        return values * 2.0

    monkeypatch.setattr(registered, "_registered", {})
    registered.function("double_it", double_it)
    call = bound.UserCall("double_it", (X,), T.DOUBLE, SPAN)
    assert compiled(call, [1, None, 3])[1] == [2.0, None, 6.0]
    assert seen == [[1, 3]]


def test_a_function_that_is_not_registered_is_a_run_error() -> None:
    with pytest.raises(RunError, match="nowhere is not registered"):
        compile_expression(bound.UserCall("nowhere", (X,), T.DOUBLE, SPAN))


def test_an_in_list_of_many_literals_is_one_look_up() -> None:
    many = bound.InList(X, tuple(number(value) for value in range(0, 5000, 2)), SPAN)
    assert compiled(many, [4, 5, None])[1] == [True, False, None]
