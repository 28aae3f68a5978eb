"""`+ - * / %` of DECIMAL: exact whole numbers of digits, rounded half up to the scale of the result.

What has more digits than the result's type fails, and so does a division by zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.types import DecimalType
from cqc.runtime.columns.columns import is_known, spread
from cqc.runtime.columns.sortable_columns import decimal_column, digits_of, divided
from cqc.runtime.expressions.nested.decimal_functions import half_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.expression_kernels import Frame, Node

_LARGE = 1 << 62
_QUOTIENT_SCALE = 39  # of quotients before they are rounded, as in Spark


def decimal_arithmetic(op: ArithmeticOp, type_: DecimalType, nodes: list[Node]) -> Node:
    """A node for `left op right`, both DECIMAL."""

    def node(frame: Frame) -> Column:
        left, right = (spread(each(frame), frame.rows) for each in nodes)
        valid = np.broadcast_to(is_known(left) & is_known(right), (frame.rows,))
        digits, failed = _computed(op, type_, left, right)
        failed = failed & valid
        if failed.any():
            frame.fail(failed)
            valid = valid & ~failed
        return decimal_column(type_, digits, None if valid.all() else np.array(valid))

    return node


def negated_decimal(operand: Node) -> Node:
    def node(frame: Frame) -> Column:
        column = spread(operand(frame), frame.rows)
        digits = digits_of(column)
        if _size(digits) >= _LARGE:
            digits = digits.astype(object)  # the least int64 has no counterpart
        return decimal_column(column.type, -digits, column.valid)

    return node


def _computed(
    op: ArithmeticOp, type_: DecimalType, left: Column, right: Column
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    assert isinstance(left.type, DecimalType)
    assert isinstance(right.type, DecimalType)
    one, other = digits_of(left), digits_of(right)
    scales = left.type.scale, right.type.scale
    none = np.zeros(len(one), np.bool_)
    if op in (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT, ArithmeticOp.MODULO):
        scale = max(scales)
        one, other = _moved(one, scale - scales[0]), _moved(other, scale - scales[1])
        if op is ArithmeticOp.MODULO:
            zero = np.asarray(other == 0, np.bool_)
            made = _objects(one, np.where(zero, 1, other), _remainder)
            return _rounded(made, scale, type_, zero)
        if _small(one) and _small(other):
            made = one + other if op is ArithmeticOp.ADD else one - other
        else:
            a, b = one.astype(object), other.astype(object)
            made = a + b if op is ArithmeticOp.ADD else a - b
        return _rounded(made, scale, type_, none)
    if op is ArithmeticOp.MULTIPLY:
        if _size(one) * _size(other) < _LARGE:
            return _rounded(one * other, sum(scales), type_, none)
        return _rounded(one.astype(object) * other.astype(object), sum(scales), type_, none)
    zero = np.asarray(other == 0, np.bool_)
    shift = 10 ** (_QUOTIENT_SCALE - scales[0] + scales[1])
    made = _objects(one, np.where(zero, 1, other), lambda a, b: divided(a * shift, b))
    return _rounded(made, _QUOTIENT_SCALE, type_, zero)


def _objects(one: NDArray[Any], other: NDArray[Any], function: Any) -> NDArray[Any]:
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    made = np.empty(len(one), object)
    made[:] = [function(int(a), int(b)) for a, b in pairs]
    return made


def _remainder(number: int, by: int) -> int:
    rest = abs(number) % abs(by)
    return -rest if number < 0 else rest


def _size(digits: NDArray[Any]) -> int:
    """The largest of them, whatever its sign; of Python's numbers more than any DECIMAL holds."""
    if digits.dtype == object:
        return 10**80
    return max(int(digits.max()), -int(digits.min())) if len(digits) else 0


def _small(digits: NDArray[Any]) -> bool:
    return _size(digits) < _LARGE // 2


def _moved(digits: NDArray[Any], places: int) -> NDArray[Any]:
    """With zeros after the digits."""
    if not places:
        return digits
    power = 10**places
    if _size(digits) < _LARGE // power:
        return np.asarray(digits * power)
    return np.asarray(digits.astype(object) * power)


def _rounded(
    digits: NDArray[Any], scale: int, type_: DecimalType, failed: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Digits of one scale in that of the type, half up; and where something failed or has too many of them."""
    if scale > type_.scale:
        power = 10 ** (scale - type_.scale)
        if power < _LARGE and _size(digits) < _LARGE:
            return _fitting(half_up(digits, power), type_, failed)
        made = np.empty(len(digits), object)
        made[:] = [divided(int(each), power) for each in digits.tolist()]
        digits = made
    return _fitting(digits, type_, failed)


def _fitting(
    digits: NDArray[Any], type_: DecimalType, failed: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    most = 10**type_.digits
    if _size(digits) < most:
        return digits, failed
    beyond = np.array([abs(each) >= most for each in digits.tolist()], np.bool_)
    if beyond.any():
        digits = np.where(beyond, 0, digits)
    return digits, failed | beyond
