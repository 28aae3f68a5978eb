"""Instants written by a pattern, over whole columns.

Neighbouring parts that always have the same number of characters become one table of bytes, written column by column; the others
are looked up among the texts of their values. Arrow joins both.

    yyyy-MM-dd HH:mm      one table of 16 bytes a row
    EEEE, d MMMM          four look-ups
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.times.date_formats import format_pieces
from cqc.compiler.meaning.times.time_patterns import DAYS, MONTHS
from cqc.runtime.expressions.times import calendar
from cqc.runtime.expressions.times.calendar import HOUR_US, MINUTE_US, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property

    from numpy.typing import NDArray

    from cqc.compiler.meaning.times.date_formats import FormatPiece
else:
    from functools import cached_property

_QUARTERS = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"]


@dataclass(slots=False, eq=False)
class Moments:
    """Instants, and the parts of them that a pattern asks for, each worked out once."""

    us: NDArray[np.int64]

    @cached_property
    def _days_and_clock(self) -> tuple[Any, Any]:
        return calendar.day_and_clock(self.us)

    @cached_property
    def civil(self) -> tuple[Any, Any, Any]:
        return calendar.civil(self._days_and_clock[0])

    @property
    def days(self) -> Any:
        return self._days_and_clock[0]

    @property
    def clock(self) -> Any:
        return self._days_and_clock[1]

    @cached_property
    def hour(self) -> Any:
        return self.clock // HOUR_US


def format_times(pattern: str, us: NDArray[np.int64]) -> pa.StringArray | None:
    """The text of each instant; None where the pattern is none."""
    pieces = format_pieces(pattern)
    if isinstance(pieces, str):
        return None
    moments = Moments(us)
    parts: list[Any] = []
    fixed: list[NDArray[np.uint8]] = []
    for piece in pieces:
        block = _fixed(piece, moments)
        if block is not None:
            fixed.append(block)
            continue
        if fixed:
            parts.append(_text_of(fixed, len(us)))
            fixed = []
        parts.append(_varied(piece, moments))
    if fixed:
        parts.append(_text_of(fixed, len(us)))
    if not parts:
        return pa.repeat(pa.scalar("", pa.string()), len(us))
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "")


def _text_of(blocks: list[NDArray[np.uint8]], rows: int) -> pa.StringArray:
    """Blocks of bytes side by side as texts."""
    width = sum(block.shape[-1] for block in blocks)
    table = np.empty((rows, width), np.uint8)
    at = 0
    for block in blocks:
        table[:, at : at + block.shape[-1]] = block
        at += block.shape[-1]
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(table))


def _fixed(piece: FormatPiece, moments: Moments) -> NDArray[np.uint8] | None:
    """The bytes of a part that has one width for all rows: (rows, width), or (width,) for text as it stands."""
    letter, count = piece.letter, piece.count
    if not letter:
        return np.frombuffer(piece.text.encode(), np.uint8)
    if letter == "y" and count == 4:
        year = moments.civil[0]
        return _digits(year, 4) if len(year) and _all_within(year, 0, 9999) else None
    if letter in "ML" and count == 3:
        return np.asarray(_SHORT_MONTHS[moments.civil[1] - 1])
    if letter == "E" and count < 4:
        return np.asarray(_SHORT_DAYS[calendar.weekday(moments.days)])
    if letter == "a":
        return np.asarray(_HALVES[(moments.hour >= 12).astype(np.int64)])
    if letter == "S":
        nanos = (moments.clock - moments.clock // SECOND_US * SECOND_US) * 1_000
        return _digits(nanos // 10 ** (9 - count), count)
    if letter == "D" and count == 3:
        return _digits(_NUMBERS["D"](moments), 3)
    if letter in _NUMBERS and letter != "D" and count == 2:
        return _digits(_NUMBERS[letter](moments), 2)
    return None


def _all_within(values: Any, least: int, most: int) -> bool:
    return bool(values.min() >= least and values.max() <= most)


def _digits(values: Any, width: int) -> NDArray[np.uint8]:
    block = np.empty((len(values), width), np.uint8)
    rest = values
    for at in range(width - 1, -1, -1):
        before = rest // 10
        block[:, at] = rest - before * 10 + 48
        rest = before
    return block


def _names(names: list[str]) -> NDArray[np.uint8]:
    return np.array([list(name.encode()) for name in names], np.uint8)


_SHORT_MONTHS = _names([name[:3] for name in MONTHS])
_SHORT_DAYS = _names([name[:3] for name in DAYS])
_HALVES = _names(["AM", "PM"])


def _day_of_year(moments: Moments) -> Any:
    return moments.days - calendar.days_of(moments.civil[0], 1, 1) + 1


_NUMBERS: dict[str, Callable[[Moments], Any]] = {
    "M": lambda moments: moments.civil[1],
    "L": lambda moments: moments.civil[1],
    "d": lambda moments: moments.civil[2],
    "D": _day_of_year,
    "Q": lambda moments: (moments.civil[1] + 2) // 3,
    "q": lambda moments: (moments.civil[1] + 2) // 3,
    "F": lambda moments: (moments.civil[2] - 1) % 7 + 1,
    "H": lambda moments: moments.hour,
    "k": lambda moments: np.where(moments.hour == 0, 24, moments.hour),
    "K": lambda moments: moments.hour % 12,
    "h": lambda moments: (moments.hour + 11) % 12 + 1,
    "m": lambda moments: moments.clock // MINUTE_US % 60,
    "s": lambda moments: moments.clock // SECOND_US % 60,
}


def _varied(piece: FormatPiece, moments: Moments) -> pa.StringArray:
    """The texts of a part whose width differs from row to row."""
    letter, count = piece.letter, piece.count
    if letter in "yY":
        return _looked_up(moments.civil[0], lambda year: _year_text(year, letter, count))
    if letter == "G":
        names = ("BC", "AD") if count < 4 else ("Before Christ", "Anno Domini")
        return _looked_up(moments.civil[0], lambda year: names[year >= 1])
    number = calendar.weekday(moments.days) + 1 if letter == "E" else _NUMBERS[letter](moments)
    return _looked_up(number, lambda value: _number_text(value, letter, count))


def _looked_up(numbers: Any, text: Callable[[int], str]) -> pa.StringArray:
    """The text of each number, made once for each distinct one."""
    least = int(numbers.min()) if len(numbers) else 0
    span = int(numbers.max()) - least + 1 if len(numbers) else 0
    if span <= 10_000:
        table = pa.array([text(least + at) for at in range(span)], pa.string())
        return table.take(pa.array(numbers - least))
    distinct, places = np.unique(numbers, return_inverse=True)
    table = pa.array([text(number) for number in distinct.tolist()], pa.string())
    return table.take(pa.array(places))


def _year_text(year: int, letter: str, count: int) -> str:
    """`Y` counts years within the era; a `y` with four letters or more shows a sign where the digits do not suffice."""
    shown = year if letter == "y" or year >= 1 else 1 - year
    size = f"{abs(shown):0{count}d}"
    if count == 2:
        return size[-2:]
    sign = "-" if shown < 0 else "+" if count >= 4 and len(str(shown)) > count else ""
    return sign + size


def _number_text(value: int, letter: str, count: int) -> str:
    if letter in "ML" and count >= 3:
        return MONTHS[value - 1][: None if count == 4 else 3]
    if letter == "E":
        return DAYS[value - 1][: None if count == 4 else 3]
    if letter in "Qq" and count >= 3:
        return _QUARTERS[value - 1] if count == 4 else f"Q{value}"
    return f"{value:0{count}d}"
