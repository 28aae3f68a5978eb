"""The built-in scalar functions on Python values, as Spark SQL computes them."""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import re2

from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle.patterns import like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value = int | float | str | bool | None

# Enough digits for every DOUBLE written out in full.
EXACT = decimal.Context(prec=2000)


def call(name: str, arguments: Sequence[Value], type_: ColumnType) -> Value:
    """The value of `name(arguments)`; `type_` is the type the binder gave the call."""
    if name in TAKING_NULL:
        return TAKING_NULL[name](*(as_type(value, type_) for value in arguments))
    if any(value is None for value in arguments):
        return None
    return FUNCTIONS[name](*arguments)


def as_type(value: Value, type_: ColumnType) -> Value:
    """BIGINT as DOUBLE where the call is a DOUBLE."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and type_ is ColumnType.DOUBLE else value


def size(value: Value) -> tuple[bool, Value]:
    """NaN is the greatest number."""
    if isinstance(value, float) and math.isnan(value):
        return (True, 0.0)
    return (False, value)


def fitting(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def absolute(value: float) -> Value:
    return abs(value) if isinstance(value, float) else fitting(abs(value))


def round_half_up(value: float, digits: int = 0) -> Value:
    """Half away from zero on the decimal digits that the number shows, so 2.675 rounds to 2.68."""
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


def down(value: float) -> Value:
    return whole(value, math.floor)


def up(value: float) -> Value:
    return whole(value, math.ceil)


def whole(value: float, towards: Callable[[float], int]) -> int | None:
    """A BIGINT; NULL where there is none for the number."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return None
    return fitting(towards(value))


def substring(text: str, position: int, length: int | None = None) -> str:
    """Positions count from 1, negative ones from the end, 0 is the first; what is outside the text is not there."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else start + length
    return "".join(text[at] for at in range(max(start, 0), min(end, len(text))))


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


def regex(text: str, pattern: str, _escape: str) -> bool | None:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.search(pattern, text, options) is not None
    except re2.error:
        return None


def present(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if value is not None]


def equal(left: Value, right: Value) -> bool:
    """`left = right` is TRUE: NaN equals itself, and BIGINT meets DOUBLE as DOUBLE."""
    if left is None or right is None:
        return False
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return size(left) == size(right)


# Functions for which NULL is a value like others. All others are NULL as soon as one argument is.
TAKING_NULL: dict[str, Callable[..., Value]] = {
    "nanvl": lambda x, otherwise: otherwise if x is not None and math.isnan(x) else x,
    "isnan": lambda x: x is not None and math.isnan(x),
    "nvl": lambda value, otherwise: otherwise if value is None else value,
    "nvl2": lambda value, known, unknown: unknown if value is None else known,
    "nullif": lambda value, other: None if equal(value, other) else value,
    "if": lambda condition, then, otherwise: then if condition else otherwise,
    "coalesce": lambda *values: next(iter(present(values)), None),
    "least": lambda *values: min(present(values), key=size, default=None),  # type: ignore[type-var]  # one type
    "greatest": lambda *values: max(present(values), key=size, default=None),  # type: ignore[type-var]  # one type
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "instant": lambda seconds: round(seconds * 1_000_000),
    "abs": absolute,
    "round": round_half_up,
    "floor": down,
    "ceil": up,
    "sign": lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "length": len,
    "concat": lambda *parts: "".join(parts),
    "substring": substring,
    "sqrt": lambda x: math.nan if x < 0 else math.sqrt(x),
    "mod": remainder,
    "pi": lambda: math.pi,
    "e": lambda: math.e,
    "cbrt": math.cbrt,
    "pow": power,
    "exp": lambda x: math.inf if x > 709.8 else math.exp(x),
    "ln": lambda x: None if x <= 0 else math.log(x),
    "log": lambda x, y=None: logarithm(math.e, x) if y is None else logarithm(x, y),
    "log10": lambda x: None if x <= 0 else math.log10(x),
    "log2": lambda x: None if x <= 0 else math.log2(x),
    "radians": lambda x: x * (math.pi / 180),
    "degrees": lambda x: x * (180 / math.pi),
    "sin": lambda x: math.nan if math.isinf(x) else math.sin(x),
    "cos": lambda x: math.nan if math.isinf(x) else math.cos(x),
    "tan": lambda x: math.nan if math.isinf(x) else math.tan(x),
    "asin": lambda x: math.nan if abs(x) > 1 else math.asin(x),
    "acos": lambda x: math.nan if abs(x) > 1 else math.acos(x),
    "atan": math.atan,
    "atan2": lambda y, x: math.atan2(y + 0.0, x + 0.0),  # Spark makes -0.0 to 0.0
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
    "replace": lambda text, find, put="": text.replace(find, put) if find else text,
    "reverse": lambda text: "".join(reversed(text)),
    "startswith": lambda text, part: text[: len(part)] == part,
    "endswith": lambda text, part: text[len(text) - len(part) :] == part if part else True,
    "contains": lambda text, part: text.find(part) >= 0,
    "like": lambda text, pattern, escape: like(text, pattern, escape, fold_case=False),
    "ilike": lambda text, pattern, escape: like(text, pattern, escape, fold_case=True),
    "rlike": regex,
}
