"""Days as dates and back, also beyond the years that Python knows."""

from __future__ import annotations

from datetime import date

import numpy as np

from cqc.runtime.expressions.times import calendar

EPOCH = date(1970, 1, 1).toordinal()


def test_every_day_of_two_cycles_is_what_python_says() -> None:
    days = np.arange(-719_162, 719_162, 7)
    year, month, day = calendar.civil(days)
    expected = [date.fromordinal(EPOCH + at) for at in days.tolist()]
    assert list(zip(year.tolist(), month.tolist(), day.tolist(), strict=True)) == [
        (each.year, each.month, each.day) for each in expected
    ]
    assert (calendar.days_of(year, month, day) == days).all()
    iso_year, week = calendar.iso_week(days)
    assert list(zip(iso_year.tolist(), week.tolist(), strict=True)) == [
        each.isocalendar()[:2] for each in expected
    ]
    assert calendar.weekday(days).tolist() == [each.weekday() for each in expected]


def test_the_calendar_has_no_end() -> None:
    far = np.array([-(10**8), 10**8])
    assert (calendar.days_of(*calendar.civil(far)) == far).all()


def test_a_day_beyond_its_month_is_the_last() -> None:
    january_31 = np.array([date(2024, 1, 31).toordinal() - EPOCH])
    moved = calendar.add_months(january_31, 1)
    assert date.fromordinal(int(moved[0]) + EPOCH) == date(2024, 2, 29)
