"""Kernels of the parts of dates and instants (the compiler's `functions/time_fields.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's. Dates are days, instants microseconds, both since the epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.times.time_units import FIXED_US, MONTHS, TRUNCATED_TO
from cqc.runtime.expressions.times import calendar
from cqc.runtime.expressions.times.by_word import by_word
from cqc.runtime.expressions.times.calendar import DAY_US, HOUR_US, MINUTE_US, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.arithmetic import Outcome
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_LEAST_DAY = -(2**63) // DAY_US + 1  # the first whole day that has an instant


def _of(field: Callable[[Any], Any]) -> Kernel:
    """The kernel of a field that every value has."""
    return lambda column: (np.asarray(field(np.asarray(column.values))), None)


def _within(size_us: int, unit_us: int) -> Callable[[Any], Any]:
    """How many whole units have passed since the larger unit began."""

    def field(us: Any) -> Any:
        return (us - us // size_us * size_us) // unit_us

    return field


def _seconds(us: Any) -> Any:
    return (us - us // MINUTE_US * MINUTE_US) / SECOND_US


def _day_of_year(days: Any) -> Any:
    year, _, _ = calendar.civil(days)
    return days - calendar.days_of(year, 1, 1) + 1


def _day_of_week(days: Any) -> Any:
    """1 is Sunday."""
    shifted = days + 4
    return shifted - shifted // 7 * 7 + 1


def _date_trunc(unit: Column, moment: Column) -> PartialOutcome:
    return by_word(_truncated, unit, moment)


def _truncated(word: str, moment: Column) -> PartialOutcome:
    """The start of the unit; no value for a word that names none, as in Spark."""
    us = np.asarray(moment.values)
    unit = TRUNCATED_TO.get(word.upper())
    if unit is None:
        return np.zeros_like(us), None, np.zeros(us.shape, np.bool_)
    if unit not in MONTHS and unit != "WEEK":
        size = FIXED_US[unit]
        start = us // size
        made = start * size
        return made, np.asarray(made > us), None  # before the first instant there is none
    days = us // DAY_US
    if unit == "WEEK":
        start = days - calendar.weekday(days)
    else:
        number, _ = calendar.month_number(days)
        size = MONTHS[unit]
        start = calendar.month_start(number // size * size)
    return start * DAY_US, np.asarray(start < _LEAST_DAY), None


def _last_day(column: Column) -> Outcome:
    number, _ = calendar.month_number(np.asarray(column.values))
    return np.asarray(calendar.month_start(number + 1) - 1), None


KERNELS: dict[str, Kernel] = {
    "year": _of(lambda days: calendar.civil(days)[0]),
    "quarter": _of(lambda days: (calendar.civil(days)[1] + 2) // 3),
    "month": _of(lambda days: calendar.civil(days)[1]),
    "day": _of(lambda days: calendar.civil(days)[2]),
    "dayofweek": _of(_day_of_week),
    "dayofweek_iso": _of(lambda days: calendar.weekday(days) + 1),
    "weekday": _of(calendar.weekday),
    "dayofyear": _of(_day_of_year),
    "weekofyear": _of(lambda days: calendar.iso_week(days)[1]),
    "yearofweek": _of(lambda days: calendar.iso_week(days)[0]),
    "hour": _of(_within(DAY_US, HOUR_US)),
    "minute": _of(_within(HOUR_US, MINUTE_US)),
    "second": _of(_within(MINUTE_US, SECOND_US)),
    "second_of_minute": _of(_seconds),
    "last_day": _last_day,
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {"date_trunc": _date_trunc}

NODES: dict[str, NodeMaker] = {}
