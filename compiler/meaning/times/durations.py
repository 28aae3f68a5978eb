"""The units of time that durations are written in: `6 SEC`, `5m`, `INTERVAL '2' DAYS`."""

from __future__ import annotations

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_WORDS = {
    1: ("US", "MICROSECOND", "MICROSECONDS"),
    1_000: ("MS", "MILLISECOND", "MILLISECONDS"),
    SECOND_US: ("S", "SEC", "SECS", "SECOND", "SECONDS"),
    MINUTE_US: ("M", "MIN", "MINS", "MINUTE", "MINUTES"),
    HOUR_US: ("H", "HOUR", "HOURS"),
    DAY_US: ("D", "DAY", "DAYS"),
    7 * DAY_US: ("WEEK", "WEEKS"),
}

UNITS = {word: unit_us for unit_us, words in _WORDS.items() for word in words}
"""Every unit word in upper case, with its microseconds."""

CALENDAR_UNITS = {"MONTH": 1, "MONTHS": 1, "YEAR": 12, "YEARS": 12}
"""Units of no fixed length, with their months: only times are moved by them."""
