"""Timestamps as text and as microseconds since the epoch.

ISO 8601 with `T` or a space, with or without a zone and a fraction; without a zone the text is UTC. A fraction finer than
a microsecond is cut off, as in Spark. The calendar is the proleptic Gregorian one, years 1 to 9999;
only arithmetic goes beyond them, and what it finds there is written with a sign: `+10000-01-01T00:00:00Z`.
"""

from __future__ import annotations

import re
from datetime import date

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAY_US = 86_400_000_000
LAST_DAY = date.max.toordinal() - _EPOCH_DAY
FIRST_DAY = 1 - _EPOCH_DAY
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097

_TEXT = re.compile(
    r"""\s*(\d{4})-(\d{1,2})-(\d{1,2})
        (?:[T\ ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?
           \s?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?
        )?\s*""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)


def parse_instant(text: str) -> int | None:
    """The microseconds of a timestamp's text, or None when it is not one.

    Example:
        parse_instant("1970-01-01T00:00:01.5Z") == 1_500_000
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    if hour is None:
        return days * _DAY_US
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    offset = _zone_minutes(zone)
    if hours > 23 or minutes > 59 or seconds > 59 or offset is None:
        return None
    in_day = (hours * 60 + minutes - offset) * 60 + seconds
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    return days * _DAY_US + in_day * 1_000_000 + micros


_DAY = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*", re.ASCII)
_LOOSE_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))


def parse_day(text: str) -> int | None:
    """The days since the epoch of a date's text, or None when it is not one.

    Example:
        parse_day("1970-01-02") == 1
    """
    match = _DAY.fullmatch(text)
    return None if match is None else _days(*match.groups())


def parse_day_cast(text: str) -> int | None:
    """The same as CAST reads it: a year alone, a year and a month, and anything after a space or a T."""
    match = _LOOSE_DAY.fullmatch(text.strip(_TRIMMED))
    return None if match is None else _days(*match.groups("1"))


def _days(year: str, month: str, day: str) -> int | None:
    try:
        return date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def format_day(days: int) -> str:
    """Days since the epoch as `yyyy-MM-dd`; with a sign beyond the calendar.

    Example:
        format_day(1) == "1970-01-02"
    """
    return format_instant(days * _DAY_US).partition("T")[0]


def _zone_minutes(zone: str | None) -> int | None:
    """Minutes east of UTC, or None for an offset that no clock has."""
    if zone is None or zone[0] not in "+-":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
    if hours > 18 or minutes > 59:
        return None
    total = hours * 60 + minutes
    return -total if zone[0] == "-" else total


def format_instant(us: int) -> str:
    """Microseconds as ISO 8601 UTC with `Z`, microseconds only where there are any.

    Example:
        format_instant(1_500_000) == "1970-01-01T00:00:01.500000Z"
    """
    days, in_day = divmod(us, _DAY_US)
    seconds, micros = divmod(in_day, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    tail = f".{micros:06d}" if micros else ""
    return f"{_day_text(days)}T{hour:02d}:{minute:02d}:{second:02d}{tail}Z"


def _day_text(days: int) -> str:
    """The date so many days after the epoch. Years that no text is read with have a sign, as in ISO 8601 and Spark."""
    if FIRST_DAY <= days <= LAST_DAY:
        return str(date.fromordinal(days + _EPOCH_DAY))
    cycles, in_cycle = divmod(days, _CYCLE_DAYS)  # the calendar repeats itself
    day = date.fromordinal(in_cycle + _EPOCH_DAY)
    year = day.year + _CYCLE_YEARS * cycles
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{day.month:02d}-{day.day:02d}"
