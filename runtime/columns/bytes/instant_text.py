"""Instants as text with a space between day and clock and only those digits of the second that are needed, over whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.bytes.byte_columns import texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_WIDTH = 26
_DAY_US = 86_400_000_000
_SHAPE = np.frombuffer(b"0000-00-00 00:00:00.000000", np.uint8).copy()


def instant_texts(us: NDArray[np.int64]) -> pa.StringArray:
    """`2024-01-31 10:20:30.5`, for instants of the years 1 to 9999."""
    offsets = np.zeros(len(us) + 1, np.int64)
    made = np.empty(_WIDTH * len(us), np.uint8)
    _write(np.ascontiguousarray(us, np.int64).copy(), _SHAPE, offsets, made)
    return texts_of(offsets, made[: offsets[-1]])


@njit(cache=True, nogil=True)
def _write(us, shape, offsets, made):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(us)):
        day = us[row] // _DAY_US
        clock = us[row] - day * _DAY_US
        # Years from March on, so that the odd day of leap years comes last; in cycles of 400 years.
        since = day + 719_468
        cycle = since // 146_097
        rest = since - cycle * 146_097
        year_of_cycle = (rest - rest // 1_460 + rest // 36_524 - rest // 146_096) // 365
        day_of_year = rest - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
        shifted = (5 * day_of_year + 2) // 153
        month = shifted + 3 if shifted < 10 else shifted - 9
        year = year_of_cycle + cycle * 400 + (1 if month <= 2 else 0)
        for at in range(_WIDTH):
            made[to + at] = shape[at]
        for at in range(4):
            made[to + 3 - at] = 48 + year % 10
            year //= 10
        second = clock // 1_000_000
        micros = clock - second * 1_000_000
        _two(made, to + 5, month)
        _two(made, to + 8, day_of_year - (153 * shifted + 2) // 5 + 1)
        _two(made, to + 11, second // 3_600)
        _two(made, to + 14, second // 60 % 60)
        _two(made, to + 17, second % 60)
        to += 19
        if micros:
            size = 6
            while micros % 10 == 0:
                micros //= 10
                size -= 1
            for at in range(size, 0, -1):
                made[to + at] = 48 + micros % 10
                micros //= 10
            to += 1 + size
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def _two(made, to, number):  # type: ignore[no-untyped-def]
    made[to] = 48 + number // 10
    made[to + 1] = 48 + number % 10


def warm() -> None:
    """Compile this module's kernels."""
    instant_texts(np.array([1]))
