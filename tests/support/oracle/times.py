"""The functions on dates (days) and instants (microseconds) on Python values, as Spark SQL computes them.

Python's calendar has the years 1 to 9999. A date outside is brought inside by whole cycles of 400 years, after which the calendar
repeats itself.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

DAY_US = 86_400_000_000
CYCLE_DAYS = 146_097
EPOCH = date(1970, 1, 1)
UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY_US,
    "DAYOFYEAR": DAY_US,
    "WEEK": 7 * DAY_US,
}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def inside(days: int) -> tuple[date, int]:
    """A date of Python's calendar, and how many cycles it is away."""
    cycles = days // CYCLE_DAYS
    return EPOCH + timedelta(days=days - cycles * CYCLE_DAYS), cycles


def ymd(days: int) -> tuple[int, int, int]:
    day, cycles = inside(days)
    return day.year + 400 * cycles, day.month, day.day


def from_ymd(year: int, month: int, day: int) -> int | None:
    """Days since the epoch; None where the calendar has no such day."""
    cycles = (year - 1970) // 400
    try:
        inner = date(year - 400 * cycles, month, day)
    except ValueError:
        return None
    return (inner - EPOCH).days + cycles * CYCLE_DAYS


def a_date(days: int | None) -> int | None:
    return days if days is not None and -(2**31) <= days < 2**31 else None


def an_instant(us: int | None) -> int | None:
    return us if us is not None and -(2**63) <= us < 2**63 else None


def month_length(year: int, month: int) -> int:
    return next(day for day in (31, 30, 29, 28) if from_ymd(year, month, day) is not None)


def plus_months(days: int, months: int) -> int:
    year, month, day = ymd(days)
    total = year * 12 + month - 1 + months
    year, month = total // 12, total % 12 + 1
    moved = from_ymd(year, month, min(day, month_length(year, month)))
    assert moved is not None
    return moved


def iso(days: int) -> tuple[int, int, int]:
    day, cycles = inside(days)
    year, week, weekday = day.isocalendar()
    return year + 400 * cycles, week, weekday


def date_trunc(word: str, us: int) -> int | None:
    unit = {"YYYY": "YEAR", "YY": "YEAR", "MM": "MONTH", "MON": "MONTH", "DD": "DAY"}.get(
        word.upper(), word.upper()
    )
    if unit in UNITS_US and unit not in ("WEEK", "DAYOFYEAR"):
        return an_instant(us - us % UNITS_US[unit])
    days = us // DAY_US
    year, month, _ = ymd(days)
    if unit == "WEEK":
        start: int | None = days - (iso(days)[2] - 1)
    elif unit in MONTHS:
        first = {"MONTH": month, "QUARTER": (month - 1) // 3 * 3 + 1, "YEAR": 1}[unit]
        start = from_ymd(year, first, 1)
    else:
        return None
    assert start is not None
    return an_instant(start * DAY_US)


def months_between(end: int, start: int, rounds: bool = True) -> float:
    (y1, m1, d1), (y2, m2, d2) = ymd(end // DAY_US), ymd(start // DAY_US)
    months = (y1 - y2) * 12 + m1 - m2
    both_last = d1 == month_length(y1, m1) and d2 == month_length(y2, m2)
    if d1 == d2 or both_last:
        return float(months)
    seconds = (d1 - d2) * 86_400 + end % DAY_US // 1_000_000 - start % DAY_US // 1_000_000
    exact = months + seconds / (31 * 86_400)
    return ((exact * 1e8 + 0.5) // 1) / 1e8 if rounds else exact


def next_day(days: int, name: str) -> int | None:
    found = [at for at, full in enumerate(WEEKDAYS) if name.lower() in (full, full[:3], full[:2])]
    if not found:
        return None
    day = days + 1
    while iso(day)[2] - 1 != found[0]:
        day += 1
    return a_date(day)


def timestampadd(unit: str, count: int, us: int) -> int | None:
    if unit in UNITS_US:
        amount = an_instant(count * UNITS_US[unit])
        return None if amount is None else an_instant(us + amount)
    months = count * MONTHS[unit]
    if abs(months) >= 2**31:
        return None
    return an_instant(plus_months(us // DAY_US, months) * DAY_US + us % DAY_US)


def timestampdiff(unit: str, start: int, end: int) -> int | None:
    if unit in UNITS_US:
        size = abs(end - start) // UNITS_US[unit]
        return an_instant(size if end >= start else -size)
    if end < start:
        # As java.time counts backwards: the greatest number of whole months that does not pass the end.
        months, sign = 0, -1
    else:
        months, sign = 0, 1
    (y1, m1, d1), (y2, m2, d2) = ymd(start // DAY_US), ymd(end // DAY_US)
    months = (y2 - y1) * 12 + m2 - m1
    left, right = (d1, start % DAY_US), (d2, end % DAY_US)
    if sign > 0 and right < left:
        months -= 1
    if sign < 0 and right > left:
        months += 1
    size = abs(months) // MONTHS[unit]
    return size if months >= 0 else -size


def make_date(year: int, month: int, day: int) -> int | None:
    return a_date(from_ymd(year, month, day))


def make_timestamp(
    year: int, month: int, day: int, hour: int, minute: int, second: float, zone: str | None = None
) -> int | None:
    days = from_ymd(year, month, day)
    if days is None or not 0 <= hour <= 23 or not 0 <= minute <= 59 or not abs(second) < 100:
        return None
    micros = int((second * 1e6 + 0.5) // 1)
    if not 0 <= micros <= 60_000_000:
        return None
    local = an_instant(days * DAY_US + (hour * 60 + minute) * 60_000_000 + micros)
    return local if local is None or zone is None else to_utc(local, zone)


def seconds_to_instant(seconds: float) -> int | None:
    if isinstance(seconds, int):
        return an_instant(seconds * 1_000_000)
    if seconds != seconds or abs(seconds) == float("inf"):
        return None
    return an_instant(int(seconds * 1_000_000))


def zone_of(name: str) -> tzinfo | None:
    if name == "+01:30":
        return timezone(timedelta(minutes=90))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def moment(us: int) -> tuple[datetime, int]:
    """A datetime of Python's calendar without a zone, and the cycles in microseconds that it is away."""
    cycle = CYCLE_DAYS * DAY_US
    shift = 0
    while us - shift < -62_100_000_000_000_000:
        shift -= cycle
    while us - shift > 253_300_000_000_000_000:
        shift += cycle
    return datetime(1970, 1, 1) + timedelta(microseconds=us - shift), shift


def to_utc(us: int, name: str) -> int | None:
    zone = zone_of(name)
    if zone is None:
        return None
    local, shift = moment(us)
    difference = local.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)
    return difference // timedelta(microseconds=1) + shift


def from_utc(us: int, name: str) -> int | None:
    zone = zone_of(name)
    if zone is None:
        return None
    at, shift = moment(us)
    shown = at.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    return (shown - datetime(1970, 1, 1)) // timedelta(microseconds=1) + shift


def date_format(us: int, pattern: str) -> str | None:
    """The patterns that the random calls use."""
    year, month, day = ymd(us // DAY_US)
    at = moment(us)[0]
    name = at.strftime
    padded = f"{'+' if year > 9999 else '-' if year < 0 else ''}{abs(year):04d}"
    clock = at.strftime("%H:%M:%S")
    known: dict[str, Any] = {
        "yyyy-MM-dd HH:mm:ss": f"{padded}-{month:02d}-{day:02d} {clock}",
        "yyyy/M/d": f"{padded}/{month}/{day}",
        "EEEE, d MMM h:mm a": f"{name('%A')}, {day} {name('%b')} {(at.hour + 11) % 12 + 1}:{name('%M %p')}",
        "HH:mm:ss.SSS": f"{clock}.{us % 1_000_000 // 1000:03d}",
        "yy 'Q'q D": f"{abs(year) % 100:02d} Q{(month + 2) // 3} {us // DAY_US - (from_ymd(year, 1, 1) or 0) + 1}",
        "EEE d MMM yyyy HH:mm:ss.SSS": f"{name('%a')} {day} {name('%b')} {padded} {clock}.{us % 1_000_000 // 1000:03d}",
        "": "",
    }
    return known.get(pattern)


def parsed(text: str, pattern: str) -> int | None:
    """The patterns that the random calls use."""
    forms = {
        "yyyy-MM-dd HH:mm:ss": ("%Y-%m-%d %H:%M:%S", 19),
        "dd.MM.yyyy": ("%d.%m.%Y", 10),
        "HH:mm": ("%H:%M", 5),
        "dd/MM/yyyy[ HH:mm]": ("%d/%m/%Y" if len(text) < 11 else "%d/%m/%Y %H:%M", len(text)),
        "dd/MMM/yyyy:HH:mm:ss Z": ("%d/%b/%Y:%H:%M:%S %z", 26),
    }
    if pattern not in forms or len(text) != forms[pattern][1]:
        return None
    try:
        at = datetime.strptime(text, forms[pattern][0])
    except ValueError:
        return None
    if pattern == "HH:mm":
        at = at.replace(year=1970)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def unix_timestamp(value: int | str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int | None:
    if isinstance(value, int):
        return int(abs(value) // 1_000_000) * (1 if value >= 0 else -1)
    us = parsed(value, pattern)
    return None if us is None else us // 1_000_000


def from_unixtime(seconds: int, pattern: str = "yyyy-MM-dd HH:mm:ss") -> str | None:
    us = an_instant(seconds * 1_000_000)
    return None if us is None else date_format(us, pattern)


def to_date(text: str, pattern: str) -> int | None:
    us = parsed(text, pattern)
    return None if us is None else us // DAY_US


def day_of_year(days: int) -> int:
    start = from_ymd(ymd(days)[0], 1, 1)
    assert start is not None
    return days - start + 1


def last_day(days: int) -> int | None:
    year, month, _ = ymd(days)
    return from_ymd(year, month, month_length(year, month))


TIME_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "date_trunc": date_trunc,
    "year": lambda days: ymd(days)[0],
    "quarter": lambda days: (ymd(days)[1] + 2) // 3,
    "month": lambda days: ymd(days)[1],
    "day": lambda days: ymd(days)[2],
    "dayofweek": lambda days: iso(days)[2] % 7 + 1,
    "dayofweek_iso": lambda days: iso(days)[2],
    "weekday": lambda days: iso(days)[2] - 1,
    "dayofyear": day_of_year,
    "weekofyear": lambda days: iso(days)[1],
    "yearofweek": lambda days: iso(days)[0],
    "hour": lambda us: us % DAY_US // 3_600_000_000,
    "minute": lambda us: us % 3_600_000_000 // 60_000_000,
    "second": lambda us: us % 60_000_000 // 1_000_000,
    "second_of_minute": lambda us: us % 60_000_000 / 1_000_000,
    "last_day": last_day,
    "date_add": lambda days, count: a_date(days + count),
    "date_sub": lambda days, count: a_date(days - count),
    "datediff": lambda end, start: end - start,
    "add_months": lambda days, count: a_date(plus_months(days, count)),
    "months_between": months_between,
    "next_day": next_day,
    "timestampadd": timestampadd,
    "timestampdiff": timestampdiff,
    "make_date": make_date,
    "make_timestamp": make_timestamp,
    "timestamp_seconds": seconds_to_instant,
    "timestamp_millis": lambda count: an_instant(count * 1_000),
    "timestamp_micros": lambda count: count,
    "date_format": date_format,
    "to_timestamp": parsed,
    "to_date": to_date,
    "from_unixtime": from_unixtime,
    "unix_timestamp": unix_timestamp,
    "unix_seconds": lambda us: us // 1_000_000,
    "unix_millis": lambda us: us // 1_000,
    "unix_micros": lambda us: us,
    "from_utc_timestamp": from_utc,
    "to_utc_timestamp": to_utc,
}
