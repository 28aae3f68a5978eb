"""Kernels of the functions that move dates and instants, make them, or count what lies between (`functions/time_moves.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's. A date beyond 32 bits of days, and an instant beyond 64 bits
of microseconds, is a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.times.time_units import FIXED_US, MONTHS, WEEKDAYS
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.arithmetic import Outcome, arithmetic
from cqc.runtime.expressions.division import towards_zero
from cqc.runtime.expressions.times import calendar
from cqc.runtime.expressions.times.by_word import by_word
from cqc.runtime.expressions.times.calendar import DAY_US, MINUTE_US, SECOND_US, day_and_clock
from cqc.runtime.expressions.times.zones import instants_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_MONTH_SECONDS = 31 * 86_400  # by which months_between counts what is left of a month
_LEAST_DAY, _MOST_DAY = -(2**63) // DAY_US, (2**63 - 1) // DAY_US


def either(*masks: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Where any of the masks is true; None is nowhere."""
    known = [mask for mask in masks if mask is not None]
    if not known:
        return None
    return np.asarray(np.logical_or.reduce(np.broadcast_arrays(*known)))


def fails_beyond_dates(days: Any) -> NDArray[np.bool_]:
    """Where days since the epoch are beyond 32 bits."""
    return np.asarray((days < -(2**31)) | (days >= 2**31))


def instant_of(days: Any, clock: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Microseconds of a day and a time in it, and where no instant is so far away."""
    beyond = (days <= _LEAST_DAY) | (days >= _MOST_DAY)
    return np.where(beyond, 0, days) * DAY_US + clock, np.asarray(beyond)


def _date_add(day: Column, count: Column) -> Outcome:
    moved = np.asarray(day.values + count.values)
    return moved, fails_beyond_dates(moved)


def _date_sub(day: Column, count: Column) -> Outcome:
    moved = np.asarray(day.values - count.values)
    return moved, fails_beyond_dates(moved)


def _add_months(day: Column, count: Column) -> Outcome:
    moved = np.asarray(calendar.add_months(day.values, count.values))
    return moved, fails_beyond_dates(moved)


def _datediff(end: Column, start: Column) -> Outcome:
    return np.asarray(end.values - start.values), None


def _months_between(first: Column, second: Column, rounds: Column | None = None) -> Outcome:
    """Whole months where both are the same day or both the last of their month; else by months of 31 days."""
    one, other = (day_and_clock(column.values) for column in (first, second))
    (month_1, day_1), (month_2, day_2) = (calendar.month_number(part[0]) for part in (one, other))
    is_last_1 = calendar.month_start(month_1 + 1) == one[0] + 1
    is_last_2 = calendar.month_start(month_2 + 1) == other[0] + 1
    months = (month_1 - month_2).astype(np.float64)
    seconds = (day_1 - day_2) * 86_400 + one[1] // SECOND_US - other[1] // SECOND_US
    exact = months + seconds / _MONTH_SECONDS
    rounded = np.floor(exact * 1e8 + 0.5) / 1e8
    fraction = rounded if rounds is None else np.where(rounds.values, rounded, exact)
    is_whole = (day_1 == day_2) | (is_last_1 & is_last_2)
    return np.asarray(np.where(is_whole, months, fraction)), None


def _next_day(day: Column, name: Column) -> PartialOutcome:
    return by_word(_day_after, name, day)


def _day_after(name: str, day: Column) -> PartialOutcome:
    days = np.asarray(day.values)
    wanted = WEEKDAYS.get(name.upper())
    if wanted is None:
        return days, np.ones(days.shape, np.bool_), None
    ahead = wanted - calendar.weekday(days)
    return np.asarray(days + np.where(ahead <= 0, ahead + 7, ahead)), None, None


def _timestampadd(unit: Column, count: Column, moment: Column) -> PartialOutcome:
    return by_word(_moved, unit, count, moment)


def _moved(unit: str, count: Column, moment: Column) -> PartialOutcome:
    unit = unit.upper()
    if unit in FIXED_US:
        size = Column(ColumnType.BIGINT, np.asarray(FIXED_US[unit]))
        product, beyond = arithmetic(ArithmeticOp.MULTIPLY, count, size)
        amount = Column(ColumnType.BIGINT, product)
        start = Column(ColumnType.BIGINT, moment.values)
        made, failed = arithmetic(ArithmeticOp.ADD, start, amount)
        return made, either(beyond, failed), None
    counted = np.asarray(count.values)
    size_months = MONTHS[unit]
    too_many = np.asarray(np.abs(counted.astype(np.float64)) * size_months >= 2.0**31)
    months = np.where(too_many, 0, counted) * size_months
    days, clock = day_and_clock(moment.values)
    made, beyond_time = instant_of(calendar.add_months(days, months), clock)
    return made, either(too_many, beyond_time), None


def _timestampdiff(unit: Column, start: Column, end: Column) -> PartialOutcome:
    return by_word(_between, unit, start, end)


def _between(unit: str, start: Column, end: Column) -> PartialOutcome:
    """Whole units from start to end, towards zero."""
    unit = unit.upper()
    if unit in FIXED_US:
        with np.errstate(all="ignore"):
            lies = np.asarray(end.values - start.values)
            beyond = ((end.values ^ start.values) & (end.values ^ lies)) < 0
        if not beyond.any():
            return towards_zero(lies, FIXED_US[unit]), None, None
    (day_1, clock_1), (day_2, clock_2) = (day_and_clock(part.values) for part in (start, end))
    if unit in MONTHS:
        days = day_2 - ((day_2 > day_1) & (clock_2 < clock_1))
        days = days + ((day_2 < day_1) & (clock_2 > clock_1))
        (month_1, in_1), (month_2, in_2) = (calendar.month_number(part) for part in (day_1, days))
        months = towards_zero((month_2 * 32 + in_2) - (month_1 * 32 + in_1), 32)
        return towards_zero(months, MONTHS[unit]), None, None
    days, clock = day_2 - day_1, clock_2 - clock_1
    up, down = (days > 0) & (clock < 0), (days < 0) & (clock > 0)
    days, clock = days - up + down, clock + np.where(up, DAY_US, 0) - np.where(down, DAY_US, 0)
    size = FIXED_US[unit]
    if size >= DAY_US:
        return towards_zero(days, size // DAY_US), None, None
    beyond = np.asarray(np.abs(days.astype(np.float64)) * (DAY_US // size) >= 2.0**63)
    made = np.where(beyond, 0, days) * (DAY_US // size) + towards_zero(clock, size)
    return np.asarray(made), beyond, None


def _make_date(year: Column, month: Column, day: Column) -> Outcome:
    days, failed = _checked_day(year.values, month.values, day.values)
    return days, either(failed, fails_beyond_dates(days))


def _checked_day(year: Any, month: Any, day: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Days since the epoch, and where the calendar has no such day."""
    bad_month = (month < 1) | (month > 12)
    number = np.asarray(year) * 12 + np.where(bad_month, 1, month) - 1
    start = calendar.month_start(number)
    bad_day = (day < 1) | (day > calendar.month_start(number + 1) - start)
    return np.asarray(start + day - 1), np.asarray(bad_month | bad_day)


def _make_timestamp(
    year: Column,
    month: Column,
    day: Column,
    hour: Column,
    minute: Column,
    second: Column,
    zone: Column | None = None,
) -> PartialOutcome:
    """A 60th second without a fraction is the next minute, as in Spark."""
    days, no_day = _checked_day(year.values, month.values, day.values)
    with np.errstate(all="ignore"):
        seconds = np.asarray(second.values, np.float64)
        micros = np.where(np.abs(seconds) < 100, np.floor(seconds * 1e6 + 0.5), -1).astype(np.int64)
    bad = (hour.values < 0) | (hour.values > 23) | (minute.values < 0) | (minute.values > 59)
    bad = no_day | bad | (micros < 0) | (micros > MINUTE_US)
    clock = (hour.values * 60 + minute.values) * MINUTE_US + micros
    local, beyond = instant_of(days, np.where(bad, 0, clock))
    failed = np.asarray(bad | beyond)
    if zone is None:
        return local, failed, None
    made, wrong, present = by_word(instants_in, zone, Column(ColumnType.TIMESTAMP, local))
    return made, either(failed, wrong), present


def _timestamp_seconds(column: Column) -> PartialOutcome:
    if column.type is ColumnType.BIGINT:
        made, failed = _scaled(column, SECOND_US)
        return made, failed, None
    with np.errstate(all="ignore"):
        us = np.trunc(column.values * SECOND_US)
        fits = np.abs(us) < 2.0**63
        known = np.asarray(np.isfinite(column.values))
        return np.where(fits, us, 0.0).astype(np.int64), np.asarray(~fits & known), known


def _scaled(column: Column, size: int) -> Outcome:
    by = Column(ColumnType.BIGINT, np.asarray(size))
    return arithmetic(ArithmeticOp.MULTIPLY, column, by)


KERNELS: dict[str, Kernel] = {
    "date_add": _date_add,
    "date_sub": _date_sub,
    "datediff": _datediff,
    "add_months": _add_months,
    "months_between": _months_between,
    "make_date": _make_date,
    "timestamp_millis": lambda column: _scaled(column, 1_000),
    "timestamp_micros": lambda column: (np.asarray(column.values), None),
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "next_day": _next_day,
    "timestampadd": _timestampadd,
    "timestampdiff": _timestampdiff,
    "make_timestamp": _make_timestamp,
    "timestamp_seconds": _timestamp_seconds,
}

NODES: dict[str, NodeMaker] = {}
