"""Units of time, and how many microseconds a written duration has.

Numbers are taken exactly as written: `0.1 SEC` is 100000 microseconds, not the nearest double's worth of them. Parts of
a microsecond are rounded half to even.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.compiler.syntax import Duration

MICROSECOND_US = 1
MILLISECOND_US = 1_000
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_LARGEST_US = 2**63 - 1

_WORDS = {
    MICROSECOND_US: ("US", "MICROSECOND", "MICROSECONDS"),
    MILLISECOND_US: ("MS", "MILLISECOND", "MILLISECONDS"),
    SECOND_US: ("S", "SEC", "SECS", "SECOND", "SECONDS"),
    MINUTE_US: ("M", "MIN", "MINS", "MINUTE", "MINUTES"),
    HOUR_US: ("H", "HOUR", "HOURS"),
    DAY_US: ("D", "DAY", "DAYS"),
}

UNITS = {word: unit_us for unit_us, words in _WORDS.items() for word in words}
"""Every unit word in upper case, with its microseconds."""


def duration_us(duration: Duration) -> int | None:
    """The microseconds of a duration, or None when it is no number or does not fit 64 bits.

    Example:
        `1.5 SEC` has 1500000, `INTERVAL 'five' MINUTE` has None.
    """
    return number_us(duration.number, duration.unit_us)


def number_us(number: str, unit_us: int = SECOND_US) -> int | None:
    """The microseconds of so many units, or None when the text is no number or does not fit 64 bits.

    Example:
        >>> number_us("1.5")
        1500000
    """
    try:
        value = Decimal(number.strip())
    except InvalidOperation:
        return None
    # The exponent is looked at before anything is computed: 1e999999999 would fill the memory.
    if not value.is_finite() or value.adjusted() > 19:
        return None
    microseconds = int((value * unit_us).to_integral_value(rounding=ROUND_HALF_EVEN))
    return microseconds if abs(microseconds) <= _LARGEST_US else None
