"""Kernels of the functions of numbers (the compiler's `functions/numbers.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

import decimal
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.choosing import choose
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.expressions.arithmetic import Outcome, absolute, arithmetic, whole_from_double
from cqc.runtime.expressions.division import positive_remainder, quotient
from cqc.runtime.expressions.expression_kernels import is_known, spread
from cqc.runtime.expressions.kernel import elementwise
from cqc.runtime.expressions.nested.decimal_functions import (
    absolute_decimal,
    ceiled,
    decimal_quotient,
    decimal_remainder,
    floored,
    half_even,
    half_up,
    is_decimal,
    rounded_decimal,
)
from cqc.runtime.expressions.rounding import EXACT_POWER, rounded_doubles
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

# Enough digits for every DOUBLE written out in full.
_EXACT = decimal.Context(prec=2000)


def _absolute(column: Column) -> Outcome:
    return absolute_decimal(column) if is_decimal(column) else absolute(column)


def _floor(column: Column, digits: Column | None = None) -> Outcome:
    if is_decimal(column):
        return rounded_decimal(column, digits, floored)
    if column.type is ColumnType.BIGINT:
        return column.values, None
    return whole_from_double(np.floor(column.values))


def _ceil(column: Column, digits: Column | None = None) -> Outcome:
    if is_decimal(column):
        return rounded_decimal(column, digits, ceiled)
    if column.type is ColumnType.BIGINT:
        return column.values, None
    return whole_from_double(np.ceil(column.values))


def _round(column: Column, digits: Column | None = None) -> Outcome:
    """Half away from zero on the decimal digits that the number shows, so 2.675 rounds to 2.68."""
    if is_decimal(column):
        return rounded_decimal(column, digits, half_up)
    places = np.asarray(0 if digits is None else digits.values)
    if places.ndim == 0:
        return _round_to(column, int(places))
    values = np.array(np.broadcast_to(column.values, places.shape))
    failed = np.zeros(places.shape, dtype=np.bool_)
    for place in np.unique(places).tolist():
        rows = places == place
        values[rows], bad = _round_to(Column(column.type, values[rows]), place)
        if bad is not None:
            failed[rows] = bad
    return values, failed


def _round_to(column: Column, digits: int) -> Outcome:
    if column.type is ColumnType.BIGINT:
        return _round_bigint(column.values, digits)
    values = np.asarray(column.values)
    if digits == 0:
        return _round_half_away(values) + 0.0, None
    return _round_double(values, digits), None


def _round_half_away(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        whole = np.trunc(values)
        up = np.abs(values - whole) >= 0.5  # the difference is exact; false for NaN and infinities
    return whole + np.where(up, np.copysign(1.0, values), 0.0)


def _round_double(
    values: NDArray[np.float64], digits: int, *, even: bool = False
) -> NDArray[np.float64]:
    """Half away from zero or to the even digit; what has no room in 64 bits digit by digit."""
    result = np.array(values).reshape(-1)
    unclear = np.isfinite(result)
    if 0 < digits <= EXACT_POWER and not is_plain():
        result, unclear = rounded_doubles(result, digits, even=even)
    if unclear.any():
        exactly = _bround_exactly if even else _round_exactly
        result[unclear] = [
            exactly(value, digits) for value in np.asarray(values).reshape(-1)[unclear].tolist()
        ]
    return result.reshape(np.shape(values))


def _round_exactly(value: float, digits: int) -> float:
    if digits > 400:
        return value
    if digits < -400:
        return 0.0
    scaled = Decimal(repr(value)).scaleb(digits, _EXACT).to_integral_value(ROUND_HALF_UP)
    return float(scaled.scaleb(-digits, _EXACT)) + 0.0


def _round_bigint(values: NDArray[np.int64], digits: int) -> Outcome:
    if digits >= 0:
        return values, None
    if digits < -19:
        return np.zeros_like(values), None
    power = 10**-digits
    if (
        power > 2**62
    ):  # 10**19: no BIGINT reaches half of it by enough to fit, but one may round up to it
        over = np.abs(np.asarray(values, dtype=np.float64)) >= power / 2
        return np.zeros_like(values), np.asarray(over)
    with np.errstate(all="ignore"):
        rest = np.fmod(values, power)
        whole = np.asarray(values - rest)
        up = np.abs(rest) >= power // 2
        step = np.where(up, np.where(values < 0, -power, power), 0)
        rounded = np.asarray(whole + step)
        return rounded, np.asarray((whole ^ rounded) & (step ^ rounded) < 0)


def _bround(column: Column, digits: Column | None = None) -> Outcome:
    """Half to the even digit, on the decimal digits that the number shows."""
    if is_decimal(column):
        return rounded_decimal(column, digits, half_even)
    places = 0 if digits is None else int(digits.values)
    values = np.asarray(column.values)
    if column.type is ColumnType.BIGINT:
        return _bround_bigint(values, places)
    if places == 0:
        return np.rint(values) + 0.0, None
    return _round_double(values, places, even=True), None


def _bround_exactly(value: float, digits: int) -> float:
    if digits > 400:
        return value
    if digits < -400:
        return 0.0
    scaled = Decimal(repr(value)).scaleb(digits, _EXACT).to_integral_value(ROUND_HALF_EVEN)
    return float(scaled.scaleb(-digits, _EXACT)) + 0.0


def _bround_bigint(values: NDArray[np.int64], digits: int) -> Outcome:
    """As rounding half away from zero, but a half goes to the even side: back where that is odd."""
    rounded, failed = _round_bigint(values, digits)
    if digits >= 0 or digits < -18:
        if digits == -19:  # halves of 10**19 lie between whole numbers that are not even there
            half = np.abs(values.astype(np.float64)) == 5e18
            exact = np.abs(values) == 5 * 10**18
            failed = None if failed is None else np.asarray(failed & ~(half & exact))
        return rounded, failed
    power = 10**-digits
    with np.errstate(all="ignore"):
        rest = np.abs(np.fmod(values, power))
        odd = np.fmod((values - np.fmod(values, power)) // power, 2) != 0
        back = (rest == power // 2) & ~odd
        even = values - np.fmod(values, power)
    rounded = np.where(back, even, rounded)
    return rounded, None if failed is None else np.asarray(failed & ~back)


def _pmod(left: Column, right: Column) -> Outcome:
    """The remainder, with the divisor added where it is negative, and the remainder taken again."""
    if is_decimal(left):
        return decimal_remainder(left, right, positive=True)
    if ColumnType.DOUBLE not in (left.type, right.type):
        return positive_remainder(left.values, right.values)
    rest, failed = arithmetic(ArithmeticOp.MODULO, left, right)
    with np.errstate(all="ignore"):
        again = np.fmod(rest + right.values, right.values)
    return np.where(rest < 0, again, rest), failed


def _div(left: Column, right: Column) -> Outcome:
    return (
        decimal_quotient(left, right) if is_decimal(left) else quotient(left.values, right.values)
    )


def _width_bucket(value: Column, least: Column, most: Column, buckets: Column) -> PartialOutcome:
    x, low, high, count = (column.values for column in (value, least, most, buckets))
    with np.errstate(all="ignore"):
        there = (count > 0) & (count < np.iinfo(np.int64).max) & ~np.isnan(x) & (low != high)
        there = there & np.isfinite(low) & np.isfinite(high)
        rises = low < high
        bottom, top = np.minimum(low, high), np.maximum(low, high)
        share = np.where(rises, x - bottom, top - x)
        inside = count.astype(np.float64) * share / (top - bottom)
        before = np.where(rises, x < bottom, x > top)
        after = np.where(rises, x >= top, x <= bottom)
        clear = there & ~before & ~after & (np.abs(inside) < 2.0**62)
        number = np.where(clear, inside, 0.0).astype(np.int64) + 1
    found = np.where(before, 0, np.where(after, count + 1, number))
    return np.asarray(found), None, np.asarray(there)


def _sign(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values == 0, values, np.sign(values))  # 0.0 and -0.0 stay what they are


def _mod(left: Column, right: Column) -> Outcome:
    if is_decimal(left):
        return decimal_remainder(left, right, positive=False)
    return arithmetic(ArithmeticOp.MODULO, left, right)


def _nanvl(nodes: list[Node], type_: ColumnType) -> Node:
    value, otherwise = nodes

    def node(frame: Frame) -> Column:
        column = value(frame)
        is_nan = np.asarray(np.isnan(column.values) & is_known(column))
        if not is_nan.any():
            return column
        is_nan = np.broadcast_to(is_nan, (frame.rows,))
        return choose(is_nan, otherwise(frame.narrowed(is_nan)), column)

    return node


def _is_nan(nodes: list[Node], type_: ColumnType) -> Node:
    (value,) = nodes

    def node(frame: Frame) -> Column:
        column = value(frame)
        return Column(type_, np.asarray(np.isnan(column.values) & is_known(column)))

    return node


def _extreme_node(*, greatest: bool) -> NodeMaker:
    """`least` or `greatest`: NULL arguments are passed over."""
    text_kernel = pc.max_element_wise if greatest else pc.min_element_wise

    def make(nodes: list[Node], type_: ColumnType) -> Node:
        def node(frame: Frame) -> Column:
            columns = [argument(frame) for argument in nodes]
            if type_.held_as_text:
                texts = [spread(column, frame.rows).values for column in columns]
                return text_column(text_kernel(*texts), type_)
            values, present = _pick_extreme(columns, greatest=greatest)
            return Column(type_, values, None if np.all(present) else present)

        return node

    return make


def _pick_extreme(columns: Sequence[Column], *, greatest: bool) -> tuple[Any, Any]:
    """`least` or `greatest` of numbers (all of one type), skipping NULL: the values and where there are any."""
    best, found = columns[0].values, is_known(columns[0])
    for column in columns[1:]:
        better = (
            _exceeds(column, best)
            if greatest
            else _exceeds(Column(column.type, best), column.values)
        )
        present = is_known(column)
        best = np.where(present & (better | ~found), column.values, best)
        found = found | present
    return best, found


def _exceeds(column: Column, other: Any) -> NDArray[np.bool_]:
    larger = np.asarray(column.values > other)
    if column.type is ColumnType.DOUBLE:
        larger = larger | (np.isnan(column.values) & ~np.isnan(other))
    return larger


KERNELS: dict[str, Kernel] = {
    "abs": _absolute,
    "round": _round,
    "floor": _floor,
    "ceil": _ceil,
    "sign": elementwise(_sign),
    "mod": _mod,
    "bround": _bround,
    "pmod": _pmod,
    "div": _div,
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {"width_bucket": _width_bucket}

NODES: dict[str, NodeMaker] = {
    "nanvl": _nanvl,
    "isnan": _is_nan,
    "least": _extreme_node(greatest=False),
    "greatest": _extreme_node(greatest=True),
}
