"""Sets of values: the algebra agrees with membership, value by value."""

from __future__ import annotations

import math
import random

import pytest

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.normal import Interval, Value
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.value_sets import (
    EVERYTHING,
    NOTHING,
    Intervals,
    compared,
    complement,
    contains,
    intersect,
    unite,
)

VALUES: dict[ColumnType, list[Value]] = {
    ColumnType.BIGINT: [-(2**63), -1, 0, 1, 2, 3, 2**63 - 1],
    ColumnType.DOUBLE: [-math.inf, -1.5, -0.0, 0.0, 1.0, math.inf, math.nan],
    ColumnType.STRING: ["", "a", "ab", "b"],
    ColumnType.BOOLEAN: [False, True],
}


def random_set(type_: ColumnType, chooser: random.Random) -> Intervals:
    def one() -> Intervals:
        return compared(type_, chooser.choice(list(ComparisonOp)), chooser.choice(VALUES[type_]))

    return chooser.choice([unite(type_, [one(), one()]), intersect(type_, one(), one()), one()])


@pytest.mark.parametrize("type_", VALUES)
def test_the_algebra_agrees_with_membership(type_: ColumnType) -> None:
    chooser = random.Random(5)
    for _ in range(300):
        first, second = random_set(type_, chooser), random_set(type_, chooser)
        for value in VALUES[type_]:
            inside, also = contains(type_, first, value), contains(type_, second, value)
            assert contains(type_, unite(type_, [first, second]), value) == (inside or also)
            assert contains(type_, intersect(type_, first, second), value) == (inside and also)
            assert contains(type_, complement(type_, first), value) != inside
        assert complement(type_, complement(type_, first)) == first


def test_whole_numbers_have_one_form() -> None:
    bigint = ColumnType.BIGINT
    assert compared(bigint, ComparisonOp.GT, 4) == compared(bigint, ComparisonOp.GE, 5)
    one_to_three = unite(bigint, [compared(bigint, ComparisonOp.EQ, value) for value in (3, 1, 2)])
    assert one_to_three == (Interval(1, True, 3, True),)
    assert compared(bigint, ComparisonOp.GE, -(2**63)) == EVERYTHING
    assert compared(bigint, ComparisonOp.GT, 2**63 - 1) == NOTHING


def test_nan_alone_is_what_is_greater_than_infinity() -> None:
    found = compared(ColumnType.DOUBLE, ComparisonOp.EQ, math.nan)
    assert found == (Interval(math.inf, False, None, False),)
    assert compared(ColumnType.DOUBLE, ComparisonOp.LE, math.nan) == EVERYTHING


def test_both_zeros_are_one_value() -> None:
    negative, positive = (
        compared(ColumnType.DOUBLE, ComparisonOp.LT, zero) for zero in (-0.0, 0.0)
    )
    assert negative == positive
    assert math.copysign(1, negative[0].high or 0) == 1
