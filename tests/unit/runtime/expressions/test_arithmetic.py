"""Arithmetic over columns, against Python's exact integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from cqc.compiler.meaning.bound import ArithmeticOp as Op
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import Column, from_python
from cqc.runtime.expressions.arithmetic import absolute, arithmetic, negate, whole_from_double

LEAST, MOST = -(2**63), 2**63 - 1
EDGES = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    2**31,
    -(2**31),
    2**32 + 1,
    3037000500,
    -3037000500,
    MOST,
    MOST - 1,
    LEAST,
    LEAST + 1,
]


def exact(op: Op, left: int, right: int) -> int | None:
    if op is Op.MODULO:
        return (
            None
            if right == 0
            else int(math.copysign(abs(left) % abs(right), left))
            if abs(left) < 2**52
            else (abs(left) % abs(right) * (1 if left >= 0 else -1))
        )
    value = {Op.ADD: left + right, Op.SUBTRACT: left - right, Op.MULTIPLY: left * right}[op]
    return value if LEAST <= value <= MOST else None


@pytest.mark.parametrize("op", [Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.MODULO])
def test_bigint_is_exact_or_fails(op: Op) -> None:
    random = Random(1)
    near = [
        random.randint(-(2 ** random.randint(1, 63)), 2 ** random.randint(1, 62)) for _ in range(40)
    ]
    pairs = [(left, right) for left in EDGES + near for right in EDGES + near]
    columns = [from_python(T.BIGINT, list(side)) for side in zip(*pairs, strict=True)]
    values, failed = arithmetic(op, columns[0], columns[1])
    assert failed is not None
    for (left, right), value, wrong in zip(pairs, values.tolist(), failed.tolist(), strict=True):
        assert (None if wrong else value) == exact(op, left, right), (left, op, right)


def test_nothing_fails_without_a_mask() -> None:
    column = from_python(T.BIGINT, [1, 2])
    assert arithmetic(Op.ADD, column, column)[1] is None
    assert arithmetic(Op.MULTIPLY, column, column)[1] is None


def test_a_constant_is_spread_over_the_rows() -> None:
    five = Column(T.BIGINT, np.asarray(5))
    values, failed = arithmetic(Op.SUBTRACT, five, from_python(T.BIGINT, [1, LEAST]))
    assert values[0] == 4
    assert failed is not None
    assert failed.tolist() == [False, True]


@pytest.mark.parametrize("op", [Op.DIVIDE, Op.MODULO])
def test_division_by_zero_fails_for_both_zeros(op: Op) -> None:
    left, right = from_python(T.DOUBLE, [7.0, 7.0, 7.0]), from_python(T.DOUBLE, [0.0, -0.0, 2.0])
    values, failed = arithmetic(op, left, right)
    assert failed is not None
    assert failed.tolist() == [True, True, False]
    assert values[2] == (3.5 if op is Op.DIVIDE else 1.0)


def test_bigints_are_divided_as_doubles() -> None:
    values, _ = arithmetic(Op.DIVIDE, from_python(T.BIGINT, [7]), from_python(T.BIGINT, [2]))
    assert values.tolist() == [3.5]


def half_away(value: Fraction) -> int:
    size = math.floor(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def test_a_part_of_a_duration_is_rounded_half_away_from_zero() -> None:
    pairs = [
        (left, right)
        for left in (*range(-9, 10), MOST, LEAST + 1)
        for right in (-3, -2, -1, 1, 2, 3, 4)
    ]
    durations, parts = (list(side) for side in zip(*pairs, strict=True))
    values, failed = arithmetic(
        Op.DIVIDE, from_python(T.INTERVAL, durations), from_python(T.BIGINT, parts)
    )
    assert failed is None
    assert values.tolist() == [half_away(Fraction(left, right)) for left, right in pairs]
    values, _ = arithmetic(
        Op.MULTIPLY, from_python(T.INTERVAL, [5, -5]), from_python(T.DOUBLE, [0.5, 0.5])
    )
    assert values.tolist() == [3, -3]


def test_a_duration_that_grows_beyond_its_bounds_fails() -> None:
    huge = from_python(T.INTERVAL, [MOST, LEAST])
    assert arithmetic(Op.MULTIPLY, huge, from_python(T.DOUBLE, [2.0, math.nan]))[1].tolist() == [
        True,
        True,
    ]  # type: ignore[union-attr]
    assert arithmetic(Op.DIVIDE, huge, from_python(T.BIGINT, [0, -1]))[1].tolist() == [True, True]  # type: ignore[union-attr]


def test_the_least_bigint_has_no_opposite_and_no_size() -> None:
    column = from_python(T.BIGINT, [LEAST, -3])
    for values, failed in (negate(column), absolute(column)):
        assert values[1] == 3
        assert failed is not None
        assert failed.tolist() == [True, False]


def test_doubles_become_whole_numbers_where_there_is_one() -> None:
    values, failed = whole_from_double(np.array([-(2.0**63), 2.0**63, math.nan, math.inf, 7.0]))
    assert values[[0, 4]].tolist() == [LEAST, 7]
    assert failed is not None
    assert failed.tolist() == [False, True, True, True, False]
