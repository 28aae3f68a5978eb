"""The parts of compiled expressions: three-valued logic, and failures that count only where a value is asked for."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import Column, from_python, to_python
from cqc.runtime.expressions.arithmetic import arithmetic
from cqc.runtime.expressions.expression_kernels import (
    Failures,
    Frame,
    case_node,
    column_node,
    connective_node,
    constant,
    constant_node,
    in_constants_node,
    is_distinct_node,
    is_null_node,
    is_truth_node,
    lifted,
    lifted_partial,
    not_node,
    spread,
)

if TYPE_CHECKING:
    from cqc.runtime.expressions.expression_kernels import Node

TRUTHS: list[bool | None] = [True, False, None]


def frame(*columns: Column) -> Frame:
    return Frame(lambda _, at: columns[at], len(columns[0]), Failures())


def values(node: Node, on: Frame) -> list[Any]:
    return to_python(spread(node(on), on.rows))


def truths(count: int) -> Frame:
    rows = list(product(TRUTHS, repeat=count))
    return frame(*(from_python(T.BOOLEAN, list(each)) for each in zip(*rows, strict=True)))


@pytest.mark.parametrize("stops_at", [False, True])
def test_and_and_or_are_three_valued(stops_at: bool) -> None:
    node = connective_node([column_node(0, at) for at in range(3)], [False] * 3, stops_at)
    expected = [
        stops_at if stops_at in row else None if None in row else not stops_at
        for row in product(TRUTHS, repeat=3)
    ]
    assert values(node, truths(3)) == expected


def test_not_and_is_know_null() -> None:
    rows = truths(1)
    column = column_node(0, 0)
    assert values(not_node(column), rows) == [False, True, None]
    assert values(is_null_node(column), rows) == [False, False, True]
    assert values(is_truth_node(column, True), rows) == [True, False, False]
    assert values(is_truth_node(column, False), rows) == [False, True, False]
    pairs = truths(2)
    distinct = [left is not right for left, right in product(TRUTHS, repeat=2)]
    assert values(is_distinct_node(column_node(0, 0), column_node(0, 1)), pairs) == distinct


def division(left: Node, right: Node) -> Node:
    return lifted(
        lambda one, two: arithmetic(ArithmeticOp.DIVIDE, one, two), T.DOUBLE, [left, right]
    )


def test_a_failed_evaluation_is_null_and_counted_once_a_row() -> None:
    rows = frame(
        from_python(T.DOUBLE, [6.0, 6.0, None, 6.0]), from_python(T.DOUBLE, [2.0, 0.0, 0.0, None])
    )
    assert values(division(column_node(0, 0), column_node(0, 1)), rows) == [3.0, None, None, None]
    assert rows.failures.count == 1


def test_a_constant_that_fails_fails_on_every_row() -> None:
    rows = frame(from_python(T.BIGINT, [1, 2, 3]))
    node = division(constant_node(constant(1.0, T.DOUBLE)), constant_node(constant(0.0, T.DOUBLE)))
    assert values(node, rows) == [None, None, None]
    assert rows.failures.count == 3


def test_what_is_not_asked_for_does_not_fail() -> None:
    rows = frame(from_python(T.BOOLEAN, [True, False]), from_python(T.DOUBLE, [0.0, 0.0]))
    one = constant_node(constant(1.0, T.DOUBLE))
    fails = division(one, column_node(0, 1))
    node = case_node([(column_node(0, 0), one)], fails, T.DOUBLE)
    assert values(node, rows) == [1.0, None]
    assert rows.failures.count == 1
    either = connective_node([column_node(0, 0), is_null_node(fails)], [False, True], True)
    assert values(either, rows) == [True, True]
    assert rows.failures.count == 2


def test_a_partial_function_has_no_value_and_has_not_failed() -> None:
    def positive(column: Column) -> Any:
        return column.values, None, column.values > 0

    rows = frame(from_python(T.BIGINT, [1, 0, None]))
    assert values(lifted_partial(positive, T.BIGINT, [column_node(0, 0)]), rows) == [1, None, None]
    assert rows.failures.count == 0


@pytest.mark.parametrize(
    ("type_", "column", "listed", "expected"),
    [
        (T.BIGINT, [1, 2, None], [2, 3], [False, True, None]),
        (T.BIGINT, [1, 2, None], [2, None], [None, True, None]),
        (T.STRING, ["a", "b", None], ["b", "b"], [False, True, None]),
        (T.DOUBLE, [float("nan"), -0.0, 1.0], [float("nan"), 0.0], [True, True, False]),
        (T.BIGINT, [1, None], [None], [None, None]),
    ],
)
def test_in_a_list_is_the_or_of_equalities(
    type_: T, column: list[Any], listed: list[Any], expected: list[Any]
) -> None:
    node = in_constants_node(column_node(0, 0), [constant(value, type_) for value in listed])
    assert values(node, frame(from_python(type_, column))) == expected


def test_a_constant_is_spread() -> None:
    assert to_python(spread(constant("a", T.STRING), 2)) == ["a", "a"]
    assert to_python(spread(constant(None, T.BIGINT), 2)) == [None, None]
    assert to_python(spread(constant(None, T.STRING), 1)) == [None]
