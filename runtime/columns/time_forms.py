"""Times as data writes them: ISO 8601, numbers since the epoch, or by a pattern, in a zone (`WITH (timestamp = ..., zone = ...)`).

Without a form, text is ISO 8601 and the unit of a number is told by its size. A pattern becomes one regular expression, by which Arrow
takes all texts of a column apart at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.times.time_patterns import (
    DAYS,
    MONTHS,
    UNITS_US,
    Piece,
    pieces_of,
    zone_named,
)
from cqc.runtime.columns import number_text
from cqc.runtime.columns.bytes.fixed_times import FixedLayout
from cqc.runtime.columns.local_times import instants_of_local
from cqc.runtime.columns.timestamp_text import FIRST_US, LAST_US, parse_iso
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from numpy.typing import NDArray

Parsed = tuple["NDArray[np.int64]", "NDArray[np.bool_]"]

_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US


@record
class TimeForm:
    """How the times of one relation are written.

    Attributes:
        unit_us: what a number counts; None where its size tells.
        pieces: of the pattern that texts follow; None for ISO 8601.
        zone: of texts that name none; None is UTC.
    """

    unit_us: int | None = None
    pieces: tuple[Piece, ...] | None = None
    zone: tzinfo | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> TimeForm:
        """The form that WITH says."""
        written = options.get("timestamp", "")
        zone = zone_named(options.get("zone", ""))
        unit_us = UNITS_US.get(written.lower())
        if unit_us is not None or not written:
            return TimeForm(unit_us, None, zone)
        pieces = pieces_of(written)
        return TimeForm(None, None if isinstance(pieces, str) else tuple(pieces), zone)

    @property
    def is_usual(self) -> bool:
        return self == _USUAL

    @property
    def is_iso(self) -> bool:
        """Whether texts are ISO 8601; one that says its zone means the same instant everywhere."""
        return self.unit_us is None and self.pieces is None

    def of_text(self, texts: Any) -> Parsed:
        """Microseconds of texts (an Arrow array), and which are no time in this form."""
        if self.unit_us is not None:
            return self._of_number_text(texts)
        if self.pieces is not None:
            return _by_pattern(texts, self.pieces, self.zone)
        us, bad = parse_iso(texts)
        if self.zone is None:
            return us, bad
        naive = ~bad & texts.is_valid().to_numpy(zero_copy_only=False)
        naive &= ~has_zone_text(texts)
        return _in_zone(us, bad, naive, self.zone)

    def of_whole(self, numbers: NDArray[np.int64]) -> Parsed:
        """Microseconds of whole numbers, and which are no time in this form."""
        if self.pieces is not None:
            return np.zeros(len(numbers), np.int64), np.ones(len(numbers), np.bool_)
        if self.unit_us is None:
            us, fits = since_epoch(numbers)
            return us, ~fits
        fits = (numbers >= FIRST_US // self.unit_us) & (numbers <= LAST_US // self.unit_us)
        return np.where(fits, numbers, 0) * self.unit_us, ~fits

    def of_fraction(self, numbers: NDArray[np.float64]) -> Parsed:
        """Microseconds of numbers with a point: seconds, where no unit is said."""
        if self.pieces is not None:
            return np.zeros(len(numbers), np.int64), np.ones(len(numbers), np.bool_)
        with np.errstate(all="ignore"):
            exact = np.rint(numbers * (self.unit_us or _SECOND_US))
            fits = np.abs(exact) < 2.0**62  # then a whole number can tell exactly
            us = np.where(fits, exact, 0.0).astype(np.int64)
        return us, ~(fits & (us >= FIRST_US) & (us <= LAST_US))

    def _of_number_text(self, texts: Any) -> Parsed:
        whole, no_whole = number_text.parse_bigint(texts)
        us, bad = self.of_whole(whole)
        if no_whole.any():
            numbers, no_number = number_text.parse_double(texts)
            fraction_us, outside = self.of_fraction(numbers)
            us = np.where(no_whole, fraction_us, us)
            bad = np.where(no_whole, no_number | outside, bad)
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        return us, bad & valid


_USUAL = TimeForm()


def has_zone_text(texts: pa.StringArray) -> NDArray[np.bool_]:
    """Which ISO texts name a zone."""
    found = pc.match_substring_regex(texts, r"(?i)\d[T ]\d.*(?:Z|UTC|[+-]\d{2}(?::?\d{2})?)\s*$")
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False))


def since_epoch(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds of whole numbers since the epoch, their unit told by their size, and which the calendar has."""
    us = np.where(_smaller(numbers, 10**17), numbers, numbers // 1_000)
    for size, scale in ((10**14, 1_000), (10**11, _SECOND_US)):
        small = _smaller(numbers, size)
        us = np.where(small, np.where(small, numbers, 0) * scale, us)
    return us, (us >= FIRST_US) & (us <= LAST_US)


def _smaller(numbers: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    return (numbers < size) & (numbers > -size)


def _in_zone(
    us: NDArray[np.int64], bad: NDArray[np.bool_], naive: NDArray[np.bool_], zone: tzinfo
) -> Parsed:
    """The same times, where `naive` ones are of a zone."""
    made = us.copy()
    made[naive] = instants_of_local(us[naive], zone)
    outside = naive & ((made < FIRST_US) | (made > LAST_US))
    return np.where(outside, 0, made), bad | outside


def _by_pattern(texts: Any, pieces: tuple[Piece, ...], zone: tzinfo | None) -> Parsed:
    valid = texts.is_valid().to_numpy(zero_copy_only=False)
    layout = None if is_plain() else FixedLayout.of(pieces)
    if layout is not None:
        us, fits = layout.read(texts)
        fits &= valid
        us = np.where(fits, us, 0)
        return (us, valid & ~fits) if zone is None else _in_zone(us, valid & ~fits, fits, zone)
    regex = "".join(
        piece.regex if piece.name is None else f"(?P<{piece.name}>{piece.regex})"
        for piece in pieces
    )
    found = pc.extract_regex(texts, f"^(?:{regex})$")
    matched = found.is_valid().to_numpy(zero_copy_only=False) & valid
    fields = {name: found.field(at) for at, name in enumerate(found.type.names)}
    days, day_fits = _days(fields, len(texts))
    clock_us, clock_fits = _clock(fields, len(texts))
    fits = matched & day_fits & clock_fits
    us = np.where(fits, days * _DAY_US + clock_us, 0)
    bad = valid & ~fits
    if "offset" in fields:
        us = np.where(fits, us - _offsets_us(fields["offset"]), 0)
        outside = (us < FIRST_US) | (us > LAST_US)
        return np.where(outside, 0, us), bad | (fits & outside)
    return (us, bad) if zone is None else _in_zone(us, bad, fits, zone)


def _whole(texts: pa.StringArray, default: int = 0) -> NDArray[np.int64]:
    """Texts of digits as numbers; the default for NULL and for nothing."""
    nothing = pc.equal(pc.fill_null(texts, ""), "")
    filled = pc.if_else(nothing, str(default), pc.fill_null(texts, "0"))
    return np.asarray(pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False))


def _field(fields: dict[str, Any], name: str, count: int, default: int = 0) -> NDArray[np.int64]:
    if name not in fields:
        return np.full(count, default, np.int64)
    return _whole(fields[name], default)


def _days(fields: dict[str, Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Days since the epoch, and which dates the calendar has."""
    year = _field(fields, "year", count, 1970)
    if "year2" in fields:
        year = 2000 + _field(fields, "year2", count)
    month = _months(fields["month"]) if "month" in fields else np.ones(count, np.int64)
    day = _field(fields, "day", count, 1)
    fits = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    safe_year, safe_month = np.where(fits, year, 1970), np.where(fits, month, 1)
    first = (safe_year - 1970) * 12 + safe_month - 1
    starts = first.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    ends = (first + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    days = starts + day - 1
    fits &= days < ends
    if "day_of_year" in fields:
        number = _field(fields, "day_of_year", count, 1)
        days = starts + number - 1
        fits &= (number >= 1) & (
            days.astype("datetime64[D]").astype("datetime64[Y]")
            == starts.astype("datetime64[D]").astype("datetime64[Y]")
        )
    if "weekday" in fields:
        fits &= _numbered(fields["weekday"], DAYS) == (days + 3) % 7 + 1
    return days, fits


def _months(texts: pa.StringArray) -> NDArray[np.int64]:
    """Months by number or by name."""
    digits = pc.fill_null(pc.match_substring_regex(texts, r"^\d|^$"), True)
    if pc.all(digits).as_py():
        return _whole(texts, 1)
    return _numbered(texts, MONTHS)


def _numbered(texts: pa.StringArray, names: list[str]) -> NDArray[np.int64]:
    """The number, from 1, of each name, told by its first three letters; 0 for none."""
    begins = pc.utf8_lower(pc.utf8_slice_codeunits(pc.fill_null(texts, ""), 0, 3))
    known = pa.array([name[:3].lower() for name in names])
    return np.asarray(pc.fill_null(pc.index_in(begins, known), -1)).astype(np.int64) + 1


def _clock(fields: dict[str, Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds since midnight, and which times a clock shows."""
    hour = _field(fields, "hour", count)
    fits = hour <= 23
    if "hour12" in fields:
        twelve = _field(fields, "hour12", count)
        half = pc.equal(pc.utf8_upper(fields["half"]), "PM")
        afternoon = pc.fill_null(half, False).to_numpy(zero_copy_only=False)
        fits &= (twelve >= 1) & (twelve <= 12)
        hour = twelve % 12 + np.where(afternoon, 12, 0)
    minute, second = _field(fields, "minute", count), _field(fields, "second", count)
    fits &= (minute <= 59) & (second <= 59)
    us = ((hour * 60 + minute) * 60 + second) * _SECOND_US
    if "fraction" in fields:
        padded = pc.utf8_rpad(pc.fill_null(fields["fraction"], ""), 6, "0")
        us = us + _whole(pc.utf8_slice_codeunits(padded, 0, 6))
    return us, fits


def _offsets_us(texts: pa.StringArray) -> NDArray[np.int64]:
    digits = pc.replace_substring_regex(pc.fill_null(texts, ""), r"\D", "")
    padded = pc.utf8_rpad(digits, 4, "0")
    hours = _whole(pc.utf8_slice_codeunits(padded, 0, 2))
    minutes = _whole(pc.utf8_slice_codeunits(padded, 2, 4))
    minus = pc.fill_null(pc.starts_with(texts, "-"), False).to_numpy(zero_copy_only=False)
    return np.asarray(np.where(minus, -1, 1) * (hours * 60 + minutes) * 60 * _SECOND_US)
