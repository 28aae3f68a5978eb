"""Comparisons in the order of the language: for any values, all six agree with one key to sort by."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cqc.compiler.meaning.bound import ComparisonOp as Op
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.comparisons import compare, truth
from cqc.runtime.expressions.expression_kernels import constant

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATORS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq, Op.NE: operator.ne, Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge,
}  # fmt: skip


def order(value: Any) -> Any:
    """NaN is above every number, -0.0 is 0.0, text goes by code point."""
    if isinstance(value, float) and math.isnan(value):
        return (1, 0.0)
    if isinstance(value, str):
        return [ord(letter) for letter in value]
    return (0, float(value))


VALUES: dict[tuple[T, T], tuple[list[Any], list[Any]]] = {
    (T.BIGINT, T.BIGINT): ([-1, 0, 2**53], [0, 2, 2**53]),
    (T.DOUBLE, T.DOUBLE): (
        [-0.0, 0.0, math.nan, math.inf, -math.inf],
        [0.0, math.nan, math.inf, 1.5],
    ),
    (T.BIGINT, T.DOUBLE): ([0, 1, 2**53 + 1], [-0.0, math.nan, 2.0**53, 0.5]),
    (T.STRING, T.STRING): (
        ["", "a", "b", "\U0001f600", "\uffff"],
        ["a", "aa", "Z", "\uffff", "\U0001f600"],
    ),
    (T.BOOLEAN, T.BOOLEAN): ([True, False], [True, False]),
    (T.TIMESTAMP, T.TIMESTAMP): ([-5, 0, 5], [0, 5]),
}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("types", VALUES)
def test_every_comparison_follows_one_order(op: Op, types: tuple[T, T]) -> None:
    lefts, rights = VALUES[types]
    pairs = [(left, right) for left in lefts for right in rights]
    expected = [OPERATORS[op](order(left), order(right)) for left, right in pairs]
    columns = [
        from_python(type_, list(side))
        for type_, side in zip(types, zip(*pairs, strict=True), strict=True)
    ]
    assert compare(op, columns[0], columns[1]).tolist() == expected
    for (left, right), wanted in zip(pairs, expected, strict=True):
        by_constant = compare(op, from_python(types[0], [left]), constant(right, types[1]))
        assert by_constant.tolist() == [wanted]


def test_null_is_not_true() -> None:
    assert truth(pa.array([True, None, False])).tolist() == [True, False, False]
    assert truth(pa.scalar(None, pa.bool_())).item() is False
