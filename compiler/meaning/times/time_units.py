"""The units of the calendar that functions on times name: what a word stands for.

    timestampadd(WEEK, 2, ts)      date_trunc('quarter', ts)      extract(DOW FROM ts)

Months, quarters and years have no fixed length; everything else is a number of microseconds, since days are days of UTC.
"""

from __future__ import annotations

from cqc.compiler.meaning.times.durations import DAY_US, HOUR_US, MINUTE_US, SECOND_US

FIXED_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND_US,
    "MINUTE": MINUTE_US,
    "HOUR": HOUR_US,
    "DAY": DAY_US,
    "DAYOFYEAR": DAY_US,
    "WEEK": 7 * DAY_US,
}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}

MOVED_BY = (*FIXED_US, *MONTHS)
"""Units of timestampadd and timestampdiff."""

_TRUNCATED = {
    "YEAR": ("YYYY", "YY"),
    "QUARTER": (),
    "MONTH": ("MM", "MON"),
    "WEEK": (),
    "DAY": ("DD",),
    "HOUR": (),
    "MINUTE": (),
    "SECOND": (),
    "MILLISECOND": (),
    "MICROSECOND": (),
}
TRUNCATED_TO = {word: unit for unit, words in _TRUNCATED.items() for word in (unit, *words)}
"""Units of date_trunc: any word for one in upper case, and the unit."""

_EXTRACTED = {
    "year": ("y", "years", "yr", "yrs"),
    "yearofweek": (),
    "quarter": ("qtr",),
    "month": ("mon", "mons", "months"),
    "weekofyear": ("week", "w", "weeks"),
    "day": ("d", "days"),
    "dayofweek": ("dow",),
    "dayofweek_iso": ("dow_iso",),
    "dayofyear": ("doy",),
    "hour": ("h", "hours", "hr", "hrs"),
    "minute": ("m", "min", "mins", "minutes"),
    "second_of_minute": ("second", "s", "sec", "seconds", "secs"),
}
EXTRACTED = {
    word: name
    for name, words in _EXTRACTED.items()
    for word in (
        (*words,) if name in ("weekofyear", "second_of_minute", "dayofyear") else (name, *words)
    )
}
"""Fields of extract and date_part in lower case, and the function that each is."""

_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
WEEKDAYS = {
    word: number for number, name in enumerate(_WEEKDAYS) for word in (name[:2], name[:3], name)
}
"""Days of the week as next_day names them, 0 is Monday."""
