"""Which windows a tuple is in: one of TUMBLE, several of HOP.

Windows are aligned to the epoch (0 for numbers), `[start, end)`: the last one that holds t starts at the last multiple of the
slide that is not after t, the others a slide earlier each.

    HOP(s, 2 s, 5 s)   t = 7 s   starts 6, 4     ends 11, 9
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import TableWindow


def window_ends(
    window: TableWindow, ts_us: NDArray[np.int64]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """The tuple of each row (None: each tuple once, in order), and the end of the row's window."""
    inside = ts_us - 1 if window.after_start else ts_us
    slide_us, size_us = window.slide_us, window.size_us
    last_start = inside - inside % slide_us
    if slide_us == size_us:
        return None, last_start + size_us
    counts = -(-(size_us - (inside - last_start)) // slide_us)
    counts = np.maximum(counts, 0)
    rows = np.repeat(np.arange(len(ts_us)), counts)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, last_start[rows] - number * slide_us + size_us
