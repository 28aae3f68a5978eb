"""Functions of DECIMAL: rounding, remainders and whole quotients, on the digits as whole numbers.

Values come and go as kernels have them (`kernel.py`): whole columns (a text for a constant), and where an evaluation failed. What has more digits than the
type of the result fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.functions.decimal_types import remainder_type, rounded_type
from cqc.compiler.meaning.types import DecimalType
from cqc.runtime.columns.sortable_columns import DecimalColumn, decimal_column, digits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.arithmetic import Outcome

_FITS = 1 << 62


def is_decimal(column: Column) -> bool:
    """Whether a column is one of DECIMAL."""
    return isinstance(column.type, DecimalType)


def absolute_decimal(column: Column) -> Outcome:
    """The size of each number."""
    digits = digits_of(column)
    if digits.dtype != object and digits.size and np.min(digits) == np.iinfo(np.int64).min:
        digits = digits.astype(object)
    return _held(decimal_column(column.type, np.abs(digits), column.valid)), None


def rounded_decimal(
    column: Column, digits: Column | None, towards: Callable[[Any, Any], Any]
) -> Outcome:
    """The numbers with so many digits after the point; `towards` gives the quotient of digits and a power of ten as a whole number."""
    own = column.type
    assert isinstance(own, DecimalType)
    places = 0 if digits is None else int(digits.values)
    type_ = rounded_type(own, places)
    assert isinstance(type_, DecimalType)
    dropped = own.scale - min(places, own.scale)
    values = digits_of(column)
    if dropped > 2 * 38:  # no number has as many: what is left is 0, or one step beyond it
        dropped = 2 * 38
    power = 10**dropped
    if power >= _FITS:
        values = values.astype(object)
    made = towards(values, power) if dropped else values
    if places < 0:
        zeros = 10 ** min(-places, 2 * 38)
        made = (
            made.astype(object) * zeros
            if zeros >= _FITS or _is_large(made, zeros)
            else made * zeros
        )
    return _made(column, type_, made)


def _held(column: Column) -> Any:
    """A column of DECIMAL as it is, so that nobody has to read texts again; the text of a constant."""
    return column if isinstance(column, DecimalColumn) else column.values


def _is_large(digits: NDArray[Any], factor: int) -> bool:
    if digits.dtype == object:
        return True
    return bool(digits.size) and max(int(digits.max()), -int(digits.min())) >= _FITS // factor


def _made(column: Column, type_: DecimalType, digits: NDArray[Any]) -> Outcome:
    """Digits as a column's values, and where there are too many of them."""
    most = 10**type_.digits
    digits = np.asarray(digits)
    if digits.dtype != object and most > 1 << 63:
        return _held(decimal_column(type_, digits, column.valid)), None
    failed = np.asarray((digits >= most) | (digits <= -most), np.bool_)
    safe = np.where(failed, 0, digits) if failed.any() else digits
    made = _held(decimal_column(type_, np.asarray(safe), column.valid))
    return made, failed if failed.any() else None


def floored(digits: NDArray[Any], power: int) -> NDArray[Any]:
    """The largest whole numbers that are not above the quotients."""
    return np.asarray(digits // power)


def ceiled(digits: NDArray[Any], power: int) -> NDArray[Any]:
    """The least whole numbers that are not below the quotients."""
    whole = digits // power
    return np.asarray(whole + (whole * power != digits))


def half_up(digits: NDArray[Any], power: int) -> NDArray[Any]:
    """The nearest whole numbers, a half away from zero."""
    whole = (
        digits // power
    )  # towards minus infinity, so that a half below zero is already away from it
    rest = digits - whole * power
    return np.asarray(whole + np.where(digits < 0, rest > power - rest, rest >= power - rest))


def half_even(digits: NDArray[Any], power: int) -> NDArray[Any]:
    """The nearest whole numbers, a half to the even one."""
    whole = digits // power
    rest = digits - whole * power
    up = (rest > power - rest) | ((rest == power - rest) & (whole % 2 == 1))
    return np.asarray(whole + up)


Shape = tuple[int, ...]


def _one_scale(left: Column, right: Column) -> tuple[NDArray[Any], NDArray[Any], Shape]:
    """The digits of both numbers in the greater of their scales, as Python's whole numbers by row; and the shape of what is made of them."""
    assert isinstance(left.type, DecimalType)
    assert isinstance(right.type, DecimalType)
    scale = max(left.type.scale, right.type.scale)
    one, other = digits_of(left), digits_of(right)
    shape = np.broadcast_shapes(one.shape, other.shape)
    one = np.broadcast_to(one, shape).reshape(-1).astype(object)
    other = np.broadcast_to(other, shape).reshape(-1).astype(object)
    return one * 10 ** (scale - left.type.scale), other * 10 ** (scale - right.type.scale), shape


def _without_zero(numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    zero = np.asarray(numbers == 0, np.bool_)
    made = numbers.copy()
    made[zero] = 1
    return made, zero


def _rest(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    size = np.abs(one) % np.abs(other)
    return np.asarray(np.where(one < 0, -size, size))


def decimal_remainder(left: Column, right: Column, *, positive: bool) -> Outcome:
    """The remainder with the sign of the first number; `positive`: with the second number added where it is negative."""
    type_ = remainder_type([left.type, right.type])
    one, other, shape = _one_scale(left, right)
    other, zero = _without_zero(other)
    rest = _rest(one, other)
    if positive:
        rest = np.where(rest < 0, _rest(rest + other, other), rest)
    values = _held(decimal_column(type_, np.asarray(rest).reshape(shape), None))
    return values, zero.reshape(shape) if zero.any() else None


def decimal_quotient(left: Column, right: Column) -> Outcome:
    """The quotient without what is after its point, as BIGINT."""
    one, other, shape = _one_scale(left, right)
    other, zero = _without_zero(other)
    size = np.abs(one) // np.abs(other)
    quotient = np.where((one < 0) != (other < 0), -size, size)
    beyond = np.asarray((quotient < -(1 << 63)) | (quotient >= 1 << 63), np.bool_)
    failed = zero | beyond
    quotient[failed] = 0
    values = quotient.astype(np.int64).reshape(shape)
    return values, failed.reshape(shape) if failed.any() else None
