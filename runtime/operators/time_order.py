"""The tuples of a shared state in event-time order, for joins that scan a stretch of time.

Tuples arrive nearly in order, so the order is an array to whose end a packet is appended; a packet that reaches back
before the newest time is merged with the end of the array only, as far back as it reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TimeOrder:
    """`ts[start:end]` ascending, `positions[start:end]` beside it (ties by position)."""

    __slots__ = ("end", "positions", "start", "ts")

    def __init__(self) -> None:
        self.ts = np.zeros(1024, np.int64)
        self.positions = np.zeros(1024, np.int64)
        self.start = 0
        self.end = 0

    def insert(self, ts_us: NDArray[np.int64], first: int) -> None:
        """Add the tuples of positions first, first + 1, ... with these event times."""
        count = len(ts_us)
        if not count:
            return
        self._reserve(count)
        add_in_order(self.ts, self.positions, self.start, self.end, ts_us, first)
        self.end += count

    def purge(self, first: int, before_us: int) -> None:
        """Forget tuples older than `before_us`, all of which are at positions below `first`."""
        live = self.ts[self.start : self.end]
        stop = self.start + int(np.searchsorted(live, before_us))
        kept = self.positions[self.start : stop] >= first
        keep = int(np.count_nonzero(kept))
        if keep:  # purged tuples form a prefix of the positions, not quite of the times
            old = slice(self.start, stop)
            self.ts[stop - keep : stop] = self.ts[old][kept]
            self.positions[stop - keep : stop] = self.positions[old][kept]
        self.start = stop - keep

    def _reserve(self, count: int) -> None:
        live = self.end - self.start
        if self.end + count <= len(self.ts):
            return
        capacity = len(self.ts)
        while 3 * (live + count) > 2 * capacity:
            capacity *= 2
        for name in ("ts", "positions"):
            old = getattr(self, name)
            kept = old[self.start : self.end]
            new = old if capacity == len(old) else np.zeros(capacity, np.int64)
            new[:live] = kept
            setattr(self, name, new)
        self.start, self.end = 0, live

    @property
    def nbytes(self) -> int:
        return int(self.ts.nbytes + self.positions.nbytes)


@njit(cache=True, nogil=True)
def add_in_order(ts, positions, start, end, new_ts, first):  # type: ignore[no-untyped-def]
    """Insertion from the back: each new tuple moves the newer ones up; cheap for input that is nearly in order."""
    count = len(new_ts)
    ordered = end == start or new_ts[0] >= ts[end - 1]
    for row in range(1, count):
        if new_ts[row] < new_ts[row - 1]:
            ordered = False
            break
    if ordered:
        for row in range(count):
            ts[end + row] = new_ts[row]
            positions[end + row] = first + row
        return
    order = np.argsort(new_ts, kind="mergesort")
    old = end - 1
    row = count - 1
    at = end + count - 1
    while row >= 0:
        if old >= start and ts[old] > new_ts[order[row]]:
            ts[at] = ts[old]
            positions[at] = positions[old]
            old -= 1
        else:
            ts[at] = new_ts[order[row]]
            positions[at] = first + order[row]
            row -= 1
        at -= 1


def warm() -> None:
    """Compile this module's kernel."""
    order = TimeOrder()
    order.insert(np.array([2, 1], np.int64), 0)
