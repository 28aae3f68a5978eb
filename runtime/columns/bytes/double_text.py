"""DOUBLE as text, with the fewest digits that tell a number from its neighbours, over whole columns.

The way is that of Raffaele Giulietti, "The Schubfach way to render doubles": a power of ten (128 bits of it) brings the number and the
middles between it and its neighbours to whole numbers of which the last two bits are a fraction, rounded to odd; then one division
tells whether there is a number with a digit less between the middles. Digits are spelt as Java does it (`number_text.java_text`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.bytes.byte_columns import texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_LEAST, _MOST = -292, 324  # powers of ten that are asked for
_WIDTH = 26  # of the longest text
_HALF = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_0, _1, _2, _4, _10, _40 = (np.uint64(each) for each in (0, 1, 2, 4, 10, 40))
_FRACTION = np.uint64((1 << 52) - 1)
_HIDDEN = np.uint64(1 << 52)
_WORDS = np.frombuffer(b"NaNInfinity", np.uint8).copy()


def double_texts(values: NDArray[np.float64]) -> tuple[pa.StringArray, NDArray[np.bool_]]:
    """The texts, and where numbers are left to Python."""
    count = len(values)
    offsets = np.zeros(count + 1, np.int64)
    made = np.empty(_WIDTH * count, np.uint8)
    left = np.zeros(count, np.bool_)
    high, low = powers_of_ten()
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64).copy()
    _write(bits, high, low, _WORDS, offsets, made, left)
    return texts_of(offsets, made[: offsets[-1]]), left


@lru_cache(maxsize=1)
def powers_of_ten() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """128 bits of each power of ten, rounded up, in halves."""
    high, low = [], []
    for power in range(_LEAST, _MOST + 1):
        shift = 127 - _log2_of_power(power)
        number = 10 ** abs(power)
        if power >= 0:
            scaled = number << shift if shift >= 0 else number >> -shift
        else:
            scaled = (1 << shift) // number
        scaled += 1
        high.append(scaled >> 64)
        low.append(scaled & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


def _log2_of_power(power: int) -> int:
    return (power * 1741647) >> 19


@njit(cache=True, nogil=True)
def _product_high(a, b):  # type: ignore[no-untyped-def]
    """The upper 64 bits of a product."""
    a1, a0, b1, b0 = a >> _32, a & _HALF, b >> _32, b & _HALF
    middle = a1 * b0 + ((a0 * b0) >> _32)
    other = a0 * b1 + (middle & _HALF)
    return a1 * b1 + (middle >> _32) + (other >> _32)


@njit(cache=True, nogil=True)
def _round_to_odd(high, low, number):  # type: ignore[no-untyped-def]
    """The upper bits of a product with a power; the last one also says that something follows."""
    below = high * number
    sum_ = below + _product_high(low, number)
    top = _product_high(high, number)
    if sum_ < below:
        top += _1
    return (top | _1) if sum_ > _1 else top


@njit(cache=True, nogil=True)
def shortest(bits, high, low):  # type: ignore[no-untyped-def]
    """Digits as a whole number and the power of ten they count in, of a positive number by its bits."""
    fraction = bits & _FRACTION
    exponent = np.int64(bits >> np.uint64(52))
    if exponent != 0:
        c, q = fraction | _HIDDEN, exponent - 1075
        if -52 <= q <= 0:  # a whole number that has room in the fraction
            whole = c >> np.uint64(-q)
            if whole << np.uint64(-q) == c:
                return whole, 0
    else:
        c, q = fraction, np.int64(-1074)
    closed = _0 if c & _1 == _0 else _1  # middles belong to even numbers
    near = fraction == _0 and exponent > 1  # the lower neighbour is half as far away
    k = (q * 1262611 - (524031 if near else 0)) >> 22
    h = np.uint64(q + ((-k * 1741647) >> 19) + 1)
    upper, lower = high[-k - _LEAST], low[-k - _LEAST]
    c4 = c * _4
    below = _round_to_odd(upper, lower, (c4 - (_1 if near else _2)) << h) + closed
    value = _round_to_odd(upper, lower, c4 << h)
    above = _round_to_odd(upper, lower, (c4 + _2) << h) - closed
    s = value // _4
    if s >= _10:
        tens = s // _10
        down = below <= _40 * tens
        up = _40 * tens + _40 <= above
        if down != up:
            return tens + (_1 if up else _0), k + 1
    down = below <= _4 * s
    up = _4 * s + _4 <= above
    if down != up:
        return s + (_1 if up else _0), k
    middle = _4 * s + _2
    further = value > middle or (value == middle and s & _1 == _1)
    return s + (_1 if further else _0), k


@njit(cache=True, nogil=True)
def _write(bits, high, low, words, offsets, made, left):  # type: ignore[no-untyped-def]
    to = 0
    digits = np.empty(20, np.uint8)
    tiny = np.uint64(20)  # the bits of the last number that is left to Python
    for row in range(len(bits)):
        own = bits[row] & np.uint64((1 << 63) - 1)
        negative = own != bits[row]
        if own > np.uint64(0x7FF0000000000000):
            for at in range(3):
                made[to + at] = words[at]
            to += 3
            offsets[row + 1] = to
            continue
        if negative:
            made[to] = 45
            to += 1
        if own == np.uint64(0x7FF0000000000000):
            for at in range(8):
                made[to + at] = words[3 + at]
            to += 8
            offsets[row + 1] = to
            continue
        if own == _0:
            made[to], made[to + 1], made[to + 2] = 48, 46, 48
            to += 3
            offsets[row + 1] = to
            continue
        if own <= tiny:
            left[row] = True
            offsets[row + 1] = to
            continue
        number, power = shortest(own, high, low)
        count = 0
        while number >= _10:
            rest = number // _10
            digit = number - rest * _10
            if count == 0 and digit == _0:
                power += 1  # zeros at the end
            else:
                digits[count] = 48 + digit
                count += 1
            number = rest
        digits[count] = 48 + number
        count += 1
        point = count + power  # digits before the point
        if -3 < point <= 7:
            if point <= 0:
                made[to], made[to + 1] = 48, 46
                to += 2
                for _ in range(-point):
                    made[to] = 48
                    to += 1
            for at in range(count):
                made[to] = digits[count - 1 - at]
                to += 1
                if at + 1 == point:
                    made[to] = 46
                    to += 1
            if point >= count:
                for _ in range(count, point):
                    made[to] = 48
                    to += 1
                if point > count:
                    made[to] = 46
                    to += 1
                made[to] = 48
                to += 1
        else:
            made[to], made[to + 1] = digits[count - 1], 46
            to += 2
            for at in range(1, count):
                made[to] = digits[count - 1 - at]
                to += 1
            if count == 1:
                made[to] = 48
                to += 1
            made[to] = 69
            to += 1
            shown = point - 1
            if shown < 0:
                made[to] = 45
                to += 1
                shown = -shown
            if shown >= 100:
                made[to] = 48 + shown // 100
                to += 1
            if shown >= 10:
                made[to] = 48 + shown // 10 % 10
                to += 1
            made[to] = 48 + shown % 10
            to += 1
        offsets[row + 1] = to


def warm() -> None:
    """Compile this module's kernels."""
    double_texts(np.array([1.5]))
