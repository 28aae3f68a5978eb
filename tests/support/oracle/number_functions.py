"""The functions on numbers, on Python values as Spark SQL computes them."""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Value = int | float | str | bool | None


# Enough digits for every DOUBLE written out in full.
EXACT = decimal.Context(prec=2000)


def size(value: Value) -> tuple[bool, Value]:
    """NaN is the greatest number."""
    if isinstance(value, float) and math.isnan(value):
        return (True, 0.0)
    return (False, value)


def fitting(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def absolute(value: float) -> Value:
    return abs(value) if isinstance(value, float | Decimal) else fitting(abs(value))


def round_half_up(value: float, digits: int = 0) -> Value:
    """Half away from zero on the decimal digits that the number shows, so 2.675 rounds to 2.68."""
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_HALF_UP)
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return value
    if digits > 400:
        return value
    if digits < -400:
        return 0.0 if isinstance(value, float) else 0
    written = Decimal(repr(value))
    rounded = (written.scaleb(digits, EXACT)).to_integral_value(ROUND_HALF_UP)
    exact = rounded.scaleb(-digits, EXACT)
    if isinstance(value, float):
        return float(exact) + 0.0  # Decimal keeps the sign of zero, Spark does not
    return fitting(int(exact))


def down(value: float | Decimal, digits: int = 0) -> Value:
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_FLOOR)
    return whole(value, math.floor)


def up(value: float | Decimal, digits: int = 0) -> Value:
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_CEILING)
    return whole(value, math.ceil)


def at_digit(value: Decimal, digits: int, rounding: str) -> Any:
    """A DECIMAL with so many digits after the point; one that has fewer keeps its own."""
    kept = min(digits, -value.as_tuple().exponent)  # type: ignore[operator]  # a number
    return EXACT.quantize(
        value.scaleb(kept, EXACT).to_integral_value(rounding).scaleb(-kept, EXACT),
        Decimal(1).scaleb(-max(kept, 0)),
    )


def whole(value: float, towards: Callable[[float], int]) -> int | None:
    """A BIGINT; NULL where there is none for the number."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return None
    return fitting(towards(value))


def remainder(left: float, right: float) -> Value:
    """The sign is that of the dividend."""
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        bad = math.isinf(left) or math.isnan(left) or math.isnan(right)
        return math.nan if bad else math.fmod(left, right)
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def power(base: float, exponent: float) -> float:
    """As Java's StrictMath.pow."""
    if exponent == 0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    is_odd = math.isfinite(exponent) and math.fmod(exponent, 2) in (1.0, -1.0)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        if base != 0:
            return math.nan  # a root of a negative number
        return -math.inf if math.copysign(1.0, base) < 0 and is_odd else math.inf


def logarithm(base: float, x: float) -> Value:
    if base <= 0 or x <= 0:
        return None
    above, below = math.log(x), math.log(base)
    if below == 0:
        return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
    return above / below


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    values = (lat1, lon1, lat2, lon2)
    if any(math.isnan(value) or math.isinf(value) for value in values):
        return math.nan
    one, other = math.radians(lat1), math.radians(lat2)
    width = math.radians(lon2) - math.radians(lon1)
    chord = math.sin((other - one) / 2) ** 2
    chord += math.cos(one) * math.cos(other) * math.sin(width / 2) ** 2
    return 2 * 6371.0088 * math.asin(min(1.0, math.sqrt(chord)))


def bround(value: float, digits: int = 0) -> Value:
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_HALF_EVEN)
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return value
    if digits > 400:
        return value
    if digits < -400:
        return 0.0 if isinstance(value, float) else 0
    scaled = Decimal(repr(value)).scaleb(digits, EXACT).to_integral_value(ROUND_HALF_EVEN)
    exact = scaled.scaleb(-digits, EXACT)
    return float(exact) + 0.0 if isinstance(value, float) else fitting(int(exact))


def pmod(left: float, right: float) -> Value:
    if isinstance(left, Decimal):
        rest = remainder(left, right)
        return remainder(rest + right, right) if rest is not None and rest < 0 else rest  # type: ignore[operator]  # DECIMAL
    rest = remainder(left, right)
    if rest is None or isinstance(rest, str) or not rest < 0:
        return rest
    if isinstance(rest, float) or isinstance(right, float):
        return remainder(rest + right, right)
    total = (rest + right + 2**63) % 2**64 - 2**63  # Java's addition wraps around
    return remainder(total, right)


def div(left: int, right: int) -> Value:
    if right == 0:
        return None
    size = abs(left) // abs(right)
    return fitting(size if (left < 0) == (right < 0) else -size)


def width_bucket(value: float, least: float, most: float, buckets: int) -> Value:
    ends = (least, most)
    if buckets <= 0 or buckets == 2**63 - 1 or math.isnan(value) or least == most:
        return None
    if any(math.isnan(end) or math.isinf(end) for end in ends):
        return None
    low, high = min(ends), max(ends)
    rises = least < most
    if value < low if rises else value > high:
        return 0
    if value >= high if rises else value <= low:
        return buckets + 1
    share = value - low if rises else high - value
    inside = float(buckets) * share / (high - low)
    return (int(inside) if math.isfinite(inside) else 0) + 1


def conv(number: str, source: int, target: int) -> Value:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    number = "".join(each.lower() if each.isascii() else each for each in number.strip(" "))
    if source not in range(2, 37) or abs(target) not in range(2, 37) or number == "":
        return None
    negative = number.startswith("-")
    good = ""
    for character in number.lstrip("-") if negative else number:
        if character not in digits[:source]:
            break
        good += character
    value = int(good, source) if good else 0
    if value >= 2**64:
        return None
    if negative and target > 0:
        signed = -value if value < 2**63 else -1
        value = signed % 2**64
    if target < 0 and value >= 2**63:
        negative, value = True, 2**64 - value
    written = ""
    while value:
        value, rest = divmod(value, abs(target))
        written = digits[rest] + written
    return ("-" if negative and target < 0 else "") + (written.upper() or "0")


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def bits(value: int) -> int:
    return value % 2**64
