"""Times whose parts all have a fixed number of digits, such as `yyyy-MM-dd HH:mm:ss`, read over whole columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.times.time_patterns import Piece

_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_FIXED = re.compile(r"\\d\{(\d)\}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US
_BEFORE_MONTH = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365], np.int64)


class FixedLayout:
    """What each byte of a text must be: itself, or a digit of a field."""

    def __init__(self, expected: Sequence[int], fields: Sequence[int]) -> None:
        """`fields` has for each byte the number of its field, -1 for one that stands for itself."""
        self.expected = np.array(expected, np.uint8)
        self.fields = np.array(fields, np.int64)

    @staticmethod
    def of(pieces: Sequence[Piece]) -> FixedLayout | None:
        """The layout of a pattern; None where a part may be written with more or fewer characters, or in words."""
        expected: list[int] = []
        fields: list[int] = []
        for piece in pieces:
            if piece.name is None:
                if piece.regex in ("(?:", ")?"):
                    return None
                plain = _ESCAPE.sub(r"\1", piece.regex).encode()
                expected += plain
                fields += [-1] * len(plain)
                continue
            digits = _FIXED.fullmatch(piece.regex)
            if digits is None or piece.name not in _FIELDS:
                return None
            expected += [0] * int(digits[1])
            fields += [_FIELDS.index(piece.name)] * int(digits[1])
        return FixedLayout(expected, fields) if fields else None

    def read(self, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Microseconds since the epoch, as a clock counts them, and which texts are no time in this layout; anything at NULL."""
        data, starts = bytes_of(texts)
        us = np.zeros(len(texts), np.int64)
        fits = np.zeros(len(texts), np.bool_)
        _read(data, starts, self.expected, self.fields, _BEFORE_MONTH, us, fits)
        return us, fits


@njit(cache=True, nogil=True)
def _read(data, starts, expected, fields, before_month, us, fits):  # type: ignore[no-untyped-def]
    width = len(expected)
    parts = np.empty(6, np.int64)
    for row in range(len(us)):
        at = starts[row]
        if starts[row + 1] - at != width:
            continue
        parts[0] = parts[1] = parts[2] = -1
        parts[3] = parts[4] = parts[5] = 0
        right = True
        last = -1
        for place in range(width):
            byte = data[at + place]
            field = fields[place]
            if field < 0:
                if byte != expected[place]:
                    right = False
            else:
                digit = np.int64(byte) - 48
                if digit < 0 or digit > 9:
                    right = False
                parts[field] = parts[field] * 10 + digit if field == last else digit
            last = field
        if not right:
            continue
        year = 1970 if parts[0] == -1 else parts[0]
        month = 1 if parts[1] == -1 else parts[1]
        day = 1 if parts[2] == -1 else parts[2]
        if year < 1 or month < 1 or month > 12 or day < 1:
            continue
        if parts[3] > 23 or parts[4] > 59 or parts[5] > 59:
            continue
        leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
        most = before_month[month] - before_month[month - 1] + (1 if leap and month == 2 else 0)
        if day > most:
            continue
        past = year - 1
        days = past * 365 + past // 4 - past // 100 + past // 400 - 719_162
        days += before_month[month - 1] + (1 if leap and month > 2 else 0) + day - 1
        us[row] = days * _DAY_US + ((parts[3] * 60 + parts[4]) * 60 + parts[5]) * _SECOND_US
        fits[row] = True


def warm() -> None:
    """Compile this module's kernels."""
    texts = pa.nulls(1, pa.string()).fill_null("2024")
    FixedLayout([0] * 4, [0] * 4).read(texts)
