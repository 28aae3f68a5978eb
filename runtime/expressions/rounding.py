"""DOUBLE rounded to digits after the point, by the decimal digits that a number shows, over whole columns.

Scaling tells where a number is, unless it is so near a half that the error of the product counts; then its shortest digits are rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.bytes.double_text import powers_of_ten, shortest
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT_POWER = 22  # ten to this power is the last one that a DOUBLE holds exactly
_CLEAR = 2.0**-50  # of the product: four times what two roundings can do
_TENS = np.array([10**power for power in range(19)], np.uint64)
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_WHOLE = 2.0**53


def rounded_doubles(
    values: NDArray[np.float64], digits: int, *, even: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers with 1 to 22 digits after the point, a half to the even digit or away from zero; and which are left to others."""
    result = np.empty(len(values), np.float64)
    left = np.zeros(len(values), np.bool_)
    high, low = powers_of_ten()
    own = np.ascontiguousarray(values, np.float64).copy()
    _round(own, own.view(np.uint64), digits, even, (high, low, _TENS), result, left)
    return result, left


@njit(cache=True, nogil=True)
def _round(values, bits, digits, even, tables, result, left):  # type: ignore[no-untyped-def]
    high, low, tens = tables
    power = 10.0**digits
    for row in range(len(values)):
        value = values[row]
        size = abs(value)
        if not size < _WHOLE:  # whole numbers, the infinities and NaN
            result[row] = value
            continue
        scaled = size * power
        if scaled < 2.0**50:
            whole = np.floor(scaled)
            rest = scaled - whole
            if abs(rest - 0.5) > scaled * _CLEAR:
                made = (whole + 1.0 if rest > 0.5 else whole) / power
                result[row] = -made + 0.0 if value < 0 else made
                continue
        number, exponent = shortest(bits[row] & np.uint64((1 << 63) - 1), high, low)
        drop = -(exponent + digits)
        if drop <= 0:
            result[row] = value
            continue
        if drop > 18:
            left[row] = True
            continue
        quotient = number // tens[drop]
        twice = (number - quotient * tens[drop]) * _2
        if twice > tens[drop] or (twice == tens[drop] and (not even or quotient & _1 == _1)):
            quotient += _1
        if quotient >= np.uint64(1 << 53):
            left[row] = True
            continue
        made = np.float64(quotient) / power
        result[row] = -made + 0.0 if value < 0 else made


def warm() -> None:
    """Compile this module's kernels."""
    rounded_doubles(np.array([1.5]), 1, even=False)
