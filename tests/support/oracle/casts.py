"""CAST on Python values by Spark's ANSI rules; a value that has no counterpart is NULL."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

from cqc.compiler.meaning.types import ColumnType, DecimalType
from tests.support.oracle import nested

if TYPE_CHECKING:
    from collections.abc import Callable

Value = int | float | str | bool | None

SECOND_US = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[dDfF]?")
INFINITE = {"inf", "+inf", "infinity", "+infinity"}
TRUE_WORDS = {"t", "true", "y", "yes", "1"}
FALSE_WORDS = {"f", "false", "n", "no", "0"}
MOMENT = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?"
    r"\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?)?)?)?"
)


def cast(value: Value, source: ColumnType, target: ColumnType) -> Value:
    if value is None or source is target:
        return value
    if isinstance(source, DecimalType) or isinstance(target, DecimalType):
        return nested.cast_decimal(value, source, target)  # type: ignore[no-any-return]
    if source.is_nested:
        return nested.cast_nested(value, source, target)  # type: ignore[no-any-return]
    if source is ColumnType.BINARY:
        return value.decode(errors="replace")  # type: ignore[union-attr]
    if target is ColumnType.BINARY:
        return value.encode()  # type: ignore[union-attr,return-value]
    return CASTS[source, target](value)


def fitting(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def double_to_text(value: float) -> str:
    """As Java writes a double: plain from 0.001 up to ten million, else one digit, point, digits, E, exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    exact = Decimal(repr(abs(value)))
    if len(exact.normalize().as_tuple().digits) == 1:  # of two digits those that are nearest
        exact = round(Decimal(abs(value)), 1 - Decimal(abs(value)).adjusted())
    _, digits, exponent = exact.normalize().as_tuple()
    shown = "".join(map(str, digits))
    assert isinstance(exponent, int)
    power = len(shown) + exponent - 1  # the value is shown[0].shown[1:] times ten to this power
    if -3 <= power < 7:
        plain = format(Decimal(repr(abs(value))), "f")
        return sign + (plain if "." in plain else plain + ".0")
    return f"{sign}{shown[0]}.{shown[1:] or '0'}E{power}"


def timestamp_to_text(value: int) -> str:
    """With a space, and only as many digits of the second as needed."""
    moment = (EPOCH + timedelta(microseconds=value)).replace(tzinfo=None)
    text = moment.isoformat(sep=" ")
    return text.rstrip("0") if "." in text else text


def double_to_bigint(value: float) -> int | None:
    if math.isnan(value) or math.isinf(value):
        return None
    return fitting(math.trunc(value))


def double_to_timestamp(value: float) -> int | None:
    if math.isnan(value) or math.isinf(value):
        return None
    return double_to_bigint(value * SECOND_US)


def text_to_bigint(text: str) -> int | None:
    text = trim(text)
    return fitting(int(text)) if WHOLE.fullmatch(text) else None


def text_to_double(text: str) -> float | None:
    text = trim(text)
    if number := NUMBER.fullmatch(text):
        return float(number[1])
    word = text.lower()
    if word == "nan":
        return math.nan
    if word in INFINITE:
        return math.inf
    return -math.inf if word in ("-inf", "-infinity") else None


def text_to_boolean(text: str) -> bool | None:
    word = trim(text).lower()
    if word in TRUE_WORDS:
        return True
    return False if word in FALSE_WORDS else None


def text_to_timestamp(text: str) -> int | None:
    """`2024-01-01 00:00:00.5Z` and its shorter forms; without a zone it is UTC."""
    match = MOMENT.fullmatch(trim(text))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    numbers = [int(part or least) for part, least in ((year, 1), (month, 1), (day, 1))]
    clock = [int(part or 0) for part in (hour, minute, second)]
    micros = int((fraction or "").ljust(6, "0")[:6])
    try:
        moment = datetime(*numbers, *clock, micros, tzinfo=zone_of(zone))  # type: ignore[arg-type, misc]  # seven numbers
    except ValueError:
        return None
    return (moment - EPOCH) // timedelta(microseconds=1)


def zone_of(text: str | None) -> timezone:
    if text in (None, "Z", "UTC"):
        return UTC
    sign = -1 if text.startswith("-") else 1
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes)))


def trim(text: str) -> str:
    """White space and control characters at both ends do not count."""
    return text.strip("".join(map(chr, [*range(0x21), 0x7F])))


def text_to_date(text: str) -> int | None:
    """`2024-01-31`, its beginnings, and whatever follows it after a space or a T."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](?:.|\n)*)?)?)?", trim(text))
    if match is None:
        return None
    try:
        day = datetime(int(match[1]), int(match[2] or 1), int(match[3] or 1), tzinfo=UTC)
    except ValueError:
        return None
    return (day - EPOCH).days


def date_to_text(value: int) -> str:
    return (EPOCH + timedelta(days=value)).date().isoformat()


STRING, BIGINT, DOUBLE = ColumnType.STRING, ColumnType.BIGINT, ColumnType.DOUBLE
BOOLEAN, TIMESTAMP, DATE = ColumnType.BOOLEAN, ColumnType.TIMESTAMP, ColumnType.DATE

CASTS: dict[tuple[ColumnType, ColumnType], Callable[..., Value]] = {
    (BIGINT, DOUBLE): float,
    (BIGINT, STRING): str,
    (BIGINT, BOOLEAN): bool,
    (BIGINT, TIMESTAMP): lambda value: fitting(value * SECOND_US),
    (DOUBLE, BIGINT): double_to_bigint,
    (DOUBLE, STRING): double_to_text,
    (DOUBLE, BOOLEAN): lambda value: value != 0,
    (DOUBLE, TIMESTAMP): double_to_timestamp,
    (BOOLEAN, BIGINT): int,
    (BOOLEAN, DOUBLE): float,
    (BOOLEAN, STRING): lambda value: "true" if value else "false",
    (TIMESTAMP, BIGINT): lambda value: value // SECOND_US,
    (TIMESTAMP, DOUBLE): lambda value: value / SECOND_US,
    (TIMESTAMP, STRING): timestamp_to_text,
    (ColumnType.INTERVAL, DOUBLE): lambda value: value / SECOND_US,
    (STRING, BIGINT): text_to_bigint,
    (STRING, DOUBLE): text_to_double,
    (STRING, BOOLEAN): text_to_boolean,
    (STRING, TIMESTAMP): text_to_timestamp,
    (STRING, DATE): text_to_date,
    (TIMESTAMP, DATE): lambda value: value // (86_400 * SECOND_US),
    (DATE, TIMESTAMP): lambda value: fitting(value * 86_400 * SECOND_US),
    (DATE, STRING): date_to_text,
}
