"""The form of a theta join that a kernel can compute exactly as the expression would.

A probe must not differ from the query's own condition in the last floating-point digit. So the written expression is
recognised by its structure: the same operations in the same order on doubles give the same bits.

    T.fluct < 0.5 * B.pressure        SIDES  1*T + 0 < 0.5*B + 0
    B.pressure - T.fluct >= 3         SUM    1*B + -1*T >= 3

What is not of these forms is probed by the compiler's linear form with some slack, and checked by expression. Whole-number
columns are computed as doubles as well, which is exact while all numbers involved stay below 2^53.
"""

from __future__ import annotations

from dataclasses import replace
from math import frexp, isfinite
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import (
    Arithmetic,
    ArithmeticOp,
    Cast,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Literal,
    Negate,
)
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import ThetaJoin

EXACT_LIMIT = float(1 << 53)
_WHOLE = (ColumnType.BIGINT, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.INTERVAL)
_NUMBERS = (*_WHOLE, ColumnType.DOUBLE)
_MONOTONE = (ComparisonOp.LT, ComparisonOp.LE, ComparisonOp.GT, ComparisonOp.GE)

Parameters = tuple[float, float, float, float]


@record
class ThetaShape:
    """What the conditions of one predicate list have in common: two columns, the comparison and the form.

    With parameters (a, b, c, d): `a*left + b op c*right + d`, or in a sum `a*left + c*right op d`. `left_item` is the
    smaller item. `wide` means that the parameters only approximate the condition.
    """

    left_item: int
    left_column: int
    right_item: int
    right_column: int
    op: ComparisonOp
    is_sum: bool
    wide: bool

    @property
    def is_monotone(self) -> bool:
        """Whether raising one parameter can change the condition only once for given values."""
        return self.op in _MONOTONE


@record
class ThetaForm:
    """One theta condition: its shape, its own constants, and how large whole-number columns may be."""

    shape: ThetaShape
    parameters: Parameters
    left_limit: float  # the form is exact while the column's values are at most this large
    right_limit: float


@record
class _Side:
    """`scale * column + offset`, the offset added last."""

    column: ColumnRef
    scale: float
    offset: float
    whole: bool  # computed in whole numbers


def theta_form(theta: ThetaJoin) -> ThetaForm:
    """The exact form of a theta join, or a wide one where its expression has another structure."""
    expression = theta.expression
    if isinstance(expression, Comparison):
        form = _sides_form(expression) or _sum_form(expression)
        if form is not None:
            return form
    return wide_form(theta)


def wide_form(theta: ThetaJoin) -> ThetaForm:
    """The compiler's linear form, to be probed with slack and checked by expression."""
    left = (theta.left_item, theta.left_column, theta.left_scale, theta.left_offset)
    right = (theta.right_item, theta.right_column, theta.right_scale, theta.right_offset)
    op = theta.op
    if left[0] > right[0]:
        left, right, op = right, left, op.flipped
    shape = ThetaShape(left[0], left[1], right[0], right[1], op, is_sum=False, wide=True)
    unlimited = float("inf")
    return ThetaForm(shape, (left[2], left[3], right[2], right[3]), unlimited, unlimited)


def _sides_form(comparison: Comparison) -> ThetaForm | None:
    left, right, op = _side(comparison.left), _side(comparison.right), comparison.op
    if left is None or right is None or left.column.item == right.column.item:
        return None
    if left.column.item > right.column.item:
        left, right, op = right, left, op.flipped
    shape = _shape(left.column, right.column, op, is_sum=False)
    parameters = (left.scale, left.offset, right.scale, right.offset)
    return ThetaForm(shape, parameters, _limit(left), _limit(right))


def _sum_form(comparison: Comparison) -> ThetaForm | None:
    constant, total, op = _constant(comparison.right), comparison.left, comparison.op
    if constant is None:
        constant, total, op = _constant(comparison.left), comparison.right, op.flipped
    if constant is None or not isinstance(total, Arithmetic):
        return None
    if total.op not in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT):
        return None
    left, right = _side(total.left), _side(total.right)
    if left is None or right is None or left.offset or right.offset:
        return None
    if total.op is ArithmeticOp.SUBTRACT:
        right = replace(right, scale=-right.scale)
    if left.column.item == right.column.item:
        return None
    if left.column.item > right.column.item:
        left, right = right, left
    shape = _shape(left.column, right.column, op, is_sum=True)
    half = EXACT_LIMIT / 2
    parameters = (left.scale, 0.0, right.scale, constant)
    return ThetaForm(shape, parameters, _limit(left, half), _limit(right, half))


def _shape(left: ColumnRef, right: ColumnRef, op: ComparisonOp, *, is_sum: bool) -> ThetaShape:
    return ThetaShape(
        left.item, left.column, right.item, right.column, op, is_sum=is_sum, wide=False
    )


def _limit(side: _Side, most: float = EXACT_LIMIT) -> float:
    if side.column.type is ColumnType.DOUBLE:
        return float("inf")
    return (most - abs(side.offset)) / max(1.0, abs(side.scale)) - 1.0


def _constant(expression: Expression) -> float | None:
    """A finite number whose double is exact, or None."""
    if isinstance(expression, Cast) and expression.type is ColumnType.DOUBLE:
        return _constant(expression.operand)
    if isinstance(expression, Negate):
        inner = _constant(expression.operand)
        return None if inner is None else -inner
    if not isinstance(expression, Literal) or expression.type not in _NUMBERS:
        return None
    value = expression.value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return float(value) if isinstance(value, int) and abs(value) < EXACT_LIMIT else None


def _side(expression: Expression) -> _Side | None:
    """The side of a comparison, when it is one column times a constant plus a constant, in this order."""
    match expression:
        case ColumnRef() if expression.type in _NUMBERS:
            return _Side(expression, 1.0, 0.0, expression.type in _WHOLE)
        case Cast(operand=operand) if expression.type is ColumnType.DOUBLE:
            inner = _side(operand)
            return None if inner is None else replace(inner, whole=False)
        case Negate(operand=operand):
            inner = _side(operand)
            return inner and replace(inner, scale=-inner.scale, offset=-inner.offset)
        case Arithmetic():
            return _arithmetic_side(expression)
        case _:
            return None


def _arithmetic_side(expression: Arithmetic) -> _Side | None:
    constant, side = _constant(expression.right), _side(expression.left)
    swapped = constant is None
    if swapped:
        constant, side = _constant(expression.left), _side(expression.right)
    if constant is None or side is None or side.offset:
        return None
    match expression.op:
        case ArithmeticOp.MULTIPLY if abs(side.scale) == 1.0 and constant:
            return replace(side, scale=side.scale * constant)
        case ArithmeticOp.DIVIDE if (
            not swapped and abs(side.scale) == 1.0 and _is_power_of_two(constant)
        ):
            return replace(side, scale=side.scale / constant, whole=False)
        case ArithmeticOp.ADD:
            return replace(side, offset=constant)
        case ArithmeticOp.SUBTRACT if swapped:
            return replace(side, scale=-side.scale, offset=constant)
        case ArithmeticOp.SUBTRACT:
            return replace(side, offset=-constant)
        case _:
            return None


def _is_power_of_two(value: float) -> bool:
    mantissa, exponent = frexp(abs(value))
    return mantissa == 0.5 and abs(exponent) < 1000
