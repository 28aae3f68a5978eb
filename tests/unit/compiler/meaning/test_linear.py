"""Linear conditions: the set found is exactly where the expression holds, neighbours of the ends included."""

from __future__ import annotations

import math
import random

import pytest

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, ComparisonOp
from cqc.compiler.meaning.linear import double_to_ordinal, ordinal_to_double, solve
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.value_sets import contains
from tests.support.oracle.scalars import Scope, is_true

SPAN = Span(SourceFile("test", ""), 0, 0)


def literal(value: float) -> bound.Literal:
    type_ = ColumnType.DOUBLE if isinstance(value, float) else ColumnType.BIGINT
    return bound.Literal(value, type_, SPAN)


def expression(type_: ColumnType, chooser: random.Random) -> bound.Expression:
    made: bound.Expression = bound.ColumnRef(0, 0, type_, SPAN)
    for _ in range(chooser.randint(0, 3)):
        constant = literal(chooser.choice([2, 3, -7, 2**40, 10, 0.1, -2.5, 1e-3, 3.7]))
        op = chooser.choice([ArithmeticOp.ADD, ArithmeticOp.SUBTRACT, ArithmeticOp.MULTIPLY])
        if chooser.random() < 0.2:
            op = ArithmeticOp.DIVIDE
        sides = (made, constant)
        if op is not ArithmeticOp.DIVIDE and chooser.random() < 0.5:
            sides = (constant, made)
        whole = made.type is constant.type is ColumnType.BIGINT and op is not ArithmeticOp.DIVIDE
        result = ColumnType.BIGINT if whole else ColumnType.DOUBLE
        made = bound.Arithmetic(op, *sides, result, SPAN)
        if chooser.random() < 0.2:
            made = bound.Negate(made, made.type, SPAN)
    return made


@pytest.mark.parametrize("type_", [ColumnType.BIGINT, ColumnType.DOUBLE])
def test_the_ends_of_the_set_are_exact(type_: ColumnType) -> None:
    chooser = random.Random(11)
    for _ in range(150):
        side, constant = expression(type_, chooser), literal(chooser.choice([0, 5, 103, 0.3, -1e9]))
        op = chooser.choice(list(ComparisonOp))
        solved = solve(side, op, constant)
        assert solved is not None
        _, intervals = solved
        ends = [end for each in intervals for end in (each.low, each.high) if end is not None]
        condition = bound.Comparison(side, op, constant, SPAN)
        for value in values_near(ends, type_, chooser):
            inside = contains(type_, intervals, value)
            assert inside == is_true(condition, Scope([(value,)])), (condition, value)


def values_near(ends: list[float], type_: ColumnType, chooser: random.Random) -> list[float]:
    if type_ is ColumnType.BIGINT:
        near = {int(end) + step for end in ends for step in (-1, 0, 1)}
        near |= {-(2**63), 2**63 - 1, 0, chooser.randrange(-(2**62), 2**62)}
        return [value for value in near if -(2**63) <= value < 2**63]
    found = [math.nan, math.inf, -math.inf, 0.0, -0.0, chooser.uniform(-1e6, 1e6)]
    for end in ends:
        found += [end, math.nextafter(end, math.inf), math.nextafter(end, -math.inf)]
    return found


def test_ordinals_follow_the_order_of_doubles() -> None:
    doubles = [-math.inf, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, math.inf]
    ordinals = [double_to_ordinal(each) for each in doubles]
    assert ordinals == sorted(ordinals)
    assert [ordinal_to_double(each) for each in ordinals] == doubles
    assert double_to_ordinal(-0.0) == 0


@pytest.mark.parametrize("op", [ArithmeticOp.MODULO, ArithmeticOp.MULTIPLY, ArithmeticOp.DIVIDE])
def test_what_is_not_monotone_is_left_alone(op: ArithmeticOp) -> None:
    column = bound.ColumnRef(0, 0, ColumnType.DOUBLE, SPAN)
    zero = bound.Arithmetic(op, column, literal(0.0), ColumnType.DOUBLE, SPAN)
    assert solve(zero, ComparisonOp.LT, literal(1.0)) is None
