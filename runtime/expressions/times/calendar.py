"""The calendar over whole arrays: days since the epoch as years, months and days, and back.

The proleptic Gregorian calendar repeats itself every 400 years of 146,097 days. A year is counted from March here, so that the
leap day is its last one (Hinnant, "chrono-compatible low-level date algorithms"). There is no year in which this ends.

    civil(59) == (1970, 3, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Days = NDArray[np.int64]

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_EPOCH_DAY = 719_468  # days from 0000-03-01 to the epoch


def civil(days: Days) -> tuple[Any, Any, Any]:
    """Year, month and day of month."""
    year, day_of_year = _march_year(days)
    month = (5 * day_of_year + 2) // 153  # 0 is March
    day = day_of_year - (153 * month + 2) // 5 + 1
    is_next = month >= 10
    return year + is_next, month + np.where(is_next, -9, 3), day


def _march_year(days: Days) -> tuple[Any, Any]:
    """The year that began last March, and the day in it, from 0."""
    shifted = days + _EPOCH_DAY
    cycle = shifted // _CYCLE_DAYS
    in_cycle = shifted - cycle * _CYCLE_DAYS
    year = (in_cycle - in_cycle // 1460 + in_cycle // 36_524 - in_cycle // 146_096) // 365
    day = in_cycle - (365 * year + year // 4 - year // 100)
    return year + cycle * _CYCLE_YEARS, day


def days_of(year: Any, month: Any, day: Any) -> Any:
    """Days since the epoch of a date; a day beyond its month runs on into the next."""
    shifted = np.asarray(year) - (np.asarray(month) <= 2)
    cycle = shifted // _CYCLE_YEARS
    in_cycle = shifted - cycle * _CYCLE_YEARS
    day_of_year = (153 * ((np.asarray(month) + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = in_cycle * 365 + in_cycle // 4 - in_cycle // 100 + day_of_year
    return cycle * _CYCLE_DAYS + day_of_cycle - _EPOCH_DAY


def month_number(days: Days) -> tuple[Any, Any]:
    """Months since the year 0, and the day of month."""
    year, month, day = civil(days)
    return year * 12 + month - 1, day


def month_start(number: Any) -> Any:
    """The first day of a month by its number."""
    year = number // 12
    return days_of(year, number - year * 12 + 1, 1)


def add_months(days: Days, months: Any) -> Any:
    """The same day of another month, or the last one where that month is shorter."""
    number, day = month_number(days)
    moved = number + months
    start = month_start(moved)
    return start + np.minimum(day, month_start(moved + 1) - start) - 1


def weekday(days: Days) -> Any:
    """0 is Monday."""
    shifted = np.asarray(days) + 3
    return shifted - shifted // 7 * 7


def iso_week(days: Days) -> tuple[Any, Any]:
    """The year to which the week belongs, and its number: a week belongs to the year of its Thursday."""
    thursday = days - weekday(days) + 3
    year, _, _ = civil(thursday)
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def day_and_clock(us: Any) -> tuple[Any, Any]:
    """Days since the epoch, and microseconds since midnight."""
    days = np.asarray(us) // DAY_US
    return days, us - days * DAY_US
