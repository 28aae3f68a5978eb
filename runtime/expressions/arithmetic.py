"""`+ - * / %` and negation over columns, each with a mask of the evaluations that fail.

BIGINT is checked: where the exact result does not fit, the evaluation fails. Division and remainder by zero fail. DOUBLE
follows IEEE 754. Instants and durations are whole microseconds; a product or quotient of a duration is rounded half away
from zero. Values at NULL positions are arbitrary, so a mask may be true there; the caller ignores it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.expressions.division import remainder

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.columns.columns import Column

Outcome = tuple[NDArray[Any], NDArray[np.bool_] | None]

_MOST = 2.0**63
_LEAST_BIGINT = np.int64(-(2**63))


def arithmetic(op: ArithmeticOp, left: Column, right: Column) -> Outcome:
    """The values of `left op right` and where the evaluation fails (None: nowhere)."""
    with np.errstate(all="ignore"):
        if ColumnType.INTERVAL in (left.type, right.type):
            return _interval(op, left, right)
        if op is ArithmeticOp.DIVIDE or ColumnType.DOUBLE in (left.type, right.type):
            return _double(op, _double_values(left), _double_values(right))
        return _WHOLE[op](left.values, right.values)


def negate(operand: Column) -> Outcome:
    """`-operand`; the least BIGINT has no opposite."""
    with np.errstate(all="ignore"):
        if operand.type is ColumnType.DOUBLE:
            return -operand.values, None
        return -operand.values, _where_any(operand.values == _LEAST_BIGINT)


def absolute(operand: Column) -> Outcome:
    """The size of a number."""
    with np.errstate(all="ignore"):
        if operand.type is ColumnType.DOUBLE:
            return np.abs(operand.values), None
        return np.abs(operand.values), _where_any(operand.values == _LEAST_BIGINT)


def whole_from_double(values: NDArray[np.float64]) -> Outcome:
    """Doubles that are whole numbers as BIGINT; fails where there is none."""
    with np.errstate(all="ignore"):
        fits = (values >= -_MOST) & (values < _MOST)  # false for NaN
        return np.where(fits, values, 0.0).astype(np.int64), _where_any(~fits)


def _double_values(column: Column) -> NDArray[np.float64]:
    return np.asarray(column.values, dtype=np.float64)


def _where_any(mask: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return np.asarray(mask) if np.any(mask) else None


def _add(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    total = np.asarray(left + right)
    if np.ndim(left) == 0:
        left, right = right, left
    if np.ndim(right) == 0:  # the sum lies on the side of it where it belongs
        return total, _where_any(total < left if right >= 0 else total > left)
    return total, _where_any(((left ^ total) & (right ^ total)) < 0)


def _subtract(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    difference = np.asarray(left - right)
    if np.ndim(right) == 0:
        return difference, _where_any(difference > left if right >= 0 else difference < left)
    return difference, _where_any(((left ^ right) & (left ^ difference)) < 0)


def _multiply(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    product = np.asarray(left * right)
    size = np.abs(np.asarray(left, dtype=np.float64) * np.asarray(right, dtype=np.float64))
    near = np.asarray(size >= _MOST * 0.999)
    if not near.any():
        return product, None
    # Close to the limit a double cannot tell; Python's integers can, and such values are rare.
    shape = product.shape
    left_near, right_near = (np.broadcast_to(side, shape)[near].tolist() for side in (left, right))
    exact = [a * b for a, b in zip(left_near, right_near, strict=True)]
    failed = np.zeros(shape, dtype=np.bool_)
    failed[near] = [not -(2**63) <= value < 2**63 for value in exact]
    return product, _where_any(failed)


_WHOLE: dict[ArithmeticOp, Callable[[Any, Any], Outcome]] = {
    ArithmeticOp.ADD: _add,
    ArithmeticOp.SUBTRACT: _subtract,
    ArithmeticOp.MULTIPLY: _multiply,
    ArithmeticOp.MODULO: remainder,
}


def _double(op: ArithmeticOp, left: NDArray[np.float64], right: NDArray[np.float64]) -> Outcome:
    match op:
        case ArithmeticOp.ADD:
            return np.asarray(left + right), None
        case ArithmeticOp.SUBTRACT:
            return np.asarray(left - right), None
        case ArithmeticOp.MULTIPLY:
            return np.asarray(left * right), None
        case ArithmeticOp.DIVIDE:
            return np.asarray(left / right), _where_any(right == 0)
        case ArithmeticOp.MODULO:
            return np.asarray(np.fmod(left, right)), _where_any(right == 0)


def _interval(op: ArithmeticOp, left: Column, right: Column) -> Outcome:
    if op is ArithmeticOp.DIVIDE and right.type is not ColumnType.DOUBLE:
        return _divide_half_up(left.values, right.values)
    if op in (ArithmeticOp.MULTIPLY, ArithmeticOp.DIVIDE) and ColumnType.DOUBLE in (
        left.type,
        right.type,
    ):
        exact, failed = _double(op, _double_values(left), _double_values(right))
        rounded, beyond = whole_from_double(_half_away_from_zero(exact))
        if failed is None or beyond is None:
            return rounded, beyond if failed is None else failed
        return rounded, failed | beyond
    return _WHOLE[op](left.values, right.values)


def _half_away_from_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    floor = np.floor(np.abs(values))
    return np.asarray(np.copysign(floor + (np.abs(values) - floor >= 0.5), values))


def _divide_half_up(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    zero = np.asarray(right == 0)
    least = np.asarray((left == _LEAST_BIGINT) & (right == -1))
    divisor = np.where(zero | least, 1, right)
    quotient = np.asarray(left // divisor)
    rest = np.asarray(left - quotient * divisor)
    # Towards zero first, then away from zero where what is left over is half of the divisor or more.
    inexact_negative = (rest != 0) & ((left < 0) != (divisor < 0))
    quotient = quotient + inexact_negative
    rest = np.abs(np.where(inexact_negative, rest - divisor, rest))
    up = rest >= np.abs(divisor) - rest
    direction = np.where((left < 0) != (divisor < 0), -1, 1)
    return quotient + np.where(up & (rest != 0), direction, 0), _where_any(zero | least)
