"""Comparisons between one column of each of two items: equi-joins and theta joins.

`A.x = B.y` is an equi-join. Any other comparison that is linear in one numeric (or TIMESTAMP) column of each side is a
theta join, `scale * left + offset op scale * right + offset`. The linear form serves an index, so it only has to be
close: within rounding of the magnitudes involved. Expressions in which large constants cancel are not close, nor are
extreme scales; they stay residuals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    Arithmetic,
    ArithmeticOp,
    Cast,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Expression,
    Literal,
    Negate,
)
from cqc.compiler.meaning.normal import EquiJoin, ThetaJoin
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDERED = (ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.TIMESTAMP, ColumnType.DATE)
_MOST_OPERATIONS = 16  # each rounds once; the slack of a probe covers this many
_MOST_CANCELLED = 4.0  # how much larger the parts may be than their sum
_LARGEST_SCALE = 1e100

Place = tuple[int, int]


def equi_join(condition: Comparison) -> EquiJoin | None:
    """`A.x = B.y` with the lower item on the left, or None."""
    if condition.op is not ComparisonOp.EQ:
        return None
    left, right = _plain(condition.left), _plain(condition.right)
    if left is None or right is None or left.item == right.item:
        return None
    if right.item < left.item:
        left, right = right, left
    return EquiJoin(left.item, left.column, right.item, right.column)


def _plain(expression: Expression) -> ColumnRef | None:
    """A bare column, or a BIGINT column read as DOUBLE for a comparison with one."""
    if isinstance(expression, Cast) and expression.type is ColumnType.DOUBLE:
        inner = expression.operand
        return inner if isinstance(inner, ColumnRef) and inner.type is ColumnType.BIGINT else None
    return expression if isinstance(expression, ColumnRef) else None


@dataclass(slots=True)
class _Linear:
    """`sum of scales * columns + offset`, and the sizes of the parts before anything cancelled."""

    scales: dict[Place, float]
    offset: float
    scale_sizes: dict[Place, float]
    offset_size: float
    operations: int


def theta_join(condition: Comparison) -> ThetaJoin | None:
    """A comparison linear in one column of each of two items, the lower item on the left, or None."""
    left, right = _linear(condition.left), _linear(condition.right)
    if left is None or right is None:
        return None
    if len(left.scales) == 1 and len(right.scales) == 1:
        return _make(condition, left, right)
    total = _add(left, right, -1.0)
    if len(total.scales) != 2:
        return None
    first, second = sorted(total.scales)
    moved = -total.scales[second]
    here = _Linear(
        {first: total.scales[first]},
        total.offset,
        {first: total.scale_sizes[first]},
        total.offset_size,
        total.operations,
    )
    there = _Linear({second: moved}, 0.0, {second: total.scale_sizes[second]}, 0.0, 0)
    return _make(condition, here, there)


def _make(condition: Comparison, left: _Linear, right: _Linear) -> ThetaJoin | None:
    op = condition.op
    (place,), (other,) = left.scales, right.scales
    if place[0] == other[0] or not (_is_close(left) and _is_close(right)):
        return None
    if other[0] < place[0]:
        left, right, place, other, op = right, left, other, place, op.flipped
    return ThetaJoin(
        place[0],
        place[1],
        left.scales[place],
        left.offset,
        op,
        other[0],
        other[1],
        right.scales[other],
        right.offset,
        _is_exact(condition.left) and _is_exact(condition.right),
        condition,
    )


def _is_close(linear: _Linear) -> bool:
    """Whether rounding stays within what a probe allows for."""
    if linear.operations > _MOST_OPERATIONS:
        return False
    for place, scale in linear.scales.items():
        size = linear.scale_sizes[place]
        if not 1 / _LARGEST_SCALE < abs(scale) <= size <= _MOST_CANCELLED * abs(scale):
            return False
        if size > _LARGEST_SCALE:
            return False
    return (
        abs(linear.offset) < _LARGEST_SCALE
        and linear.offset_size <= _MOST_CANCELLED * abs(linear.offset) + 0.0
    )


def _is_exact(side: Expression) -> bool:
    """Whether `scale * column + offset` computed in DOUBLE, leaving out 1 and 0, is the very expression.

    So it is for a bare column, and in DOUBLE for a column times or plus a constant, or both in this order.
    """
    match side:
        case ColumnRef():
            return True
        case (
            Arithmetic(op=ArithmeticOp.ADD, left=inner, right=Literal())
            | Arithmetic(op=ArithmeticOp.ADD, left=Literal(), right=inner)
            | Arithmetic(op=ArithmeticOp.SUBTRACT, left=inner, right=Literal())
        ):
            return side.type is ColumnType.DOUBLE and (
                _plain(inner) is not None or _is_scaled(inner)
            )
        case _:
            return _is_scaled(side)


def _is_scaled(side: Expression) -> bool:
    match side:
        case (
            Arithmetic(op=ArithmeticOp.MULTIPLY, left=inner, right=Literal())
            | Arithmetic(op=ArithmeticOp.MULTIPLY, left=Literal(), right=inner)
        ):
            return side.type is ColumnType.DOUBLE and _plain(inner) is not None
        case _:
            return False


def _linear(expression: Expression) -> _Linear | None:
    match expression:
        case ColumnRef(type=type_) if type_ in _ORDERED:
            place = (expression.item, expression.column)
            return _Linear({place: 1.0}, 0.0, {place: 1.0}, 0.0, 0)
        case Literal(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            constant = float(value)
            return _Linear({}, constant, {}, abs(constant), 0) if math.isfinite(constant) else None
        case Negate(operand=operand):
            inner = _linear(operand)
            return inner and _scaled(inner, -1.0)
        case Cast(operand=operand, type=ColumnType.DOUBLE) if operand.type is ColumnType.BIGINT:
            return _linear(operand)
        case Arithmetic(left=left, right=right):
            first, second = _linear(left), _linear(right)
            if first is None or second is None:
                return None
            return _combined(expression, first, second)
        case _:
            return None


def _combined(step: Arithmetic, left: _Linear, right: _Linear) -> _Linear | None:
    is_duration = ColumnType.INTERVAL in (step.left.type, step.right.type)
    match step.op:
        case ArithmeticOp.ADD:
            return _add(left, right, 1.0)
        case ArithmeticOp.SUBTRACT:
            return _add(left, right, -1.0)
        case ArithmeticOp.MULTIPLY if not right.scales and not is_duration:
            return _scaled(left, right.offset)
        case ArithmeticOp.MULTIPLY if not left.scales and not is_duration:
            return _scaled(right, left.offset)
        case ArithmeticOp.DIVIDE if not right.scales and right.offset and not is_duration:
            return _scaled(left, 1.0 / right.offset)
        case _:
            return None


def _scaled(linear: _Linear, factor: float) -> _Linear | None:
    if factor == 0 or not math.isfinite(factor):
        return None
    size = abs(factor)
    return _Linear(
        {place: scale * factor for place, scale in linear.scales.items()},
        linear.offset * factor,
        {place: scale * size for place, scale in linear.scale_sizes.items()},
        linear.offset_size * size,
        linear.operations + 1,
    )


def _add(left: _Linear, right: _Linear, sign: float) -> _Linear:
    return _Linear(
        _sum(left.scales, right.scales, sign),
        left.offset + sign * right.offset,
        _sum(left.scale_sizes, right.scale_sizes, 1.0),
        left.offset_size + right.offset_size,
        left.operations + right.operations + 1,
    )


def _sum(
    left: Mapping[Place, float], right: Mapping[Place, float], sign: float
) -> dict[Place, float]:
    total = dict(left)
    for place, scale in right.items():
        total[place] = total.get(place, 0.0) + sign * scale
    return total
