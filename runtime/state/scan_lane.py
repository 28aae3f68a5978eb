"""The tuples of one join item in event-time order, laid out for scanning.

A join without an equality looks at every tuple of a stretch of time. So each item that is scanned has what the scan reads in
contiguous arrays: event times, lineage by word, and the columns of theta conditions, only of tuples that some slot wants.
Tuples arrive nearly in order: a packet is appended, and merged as far back as it reaches when it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROOM = 1024


class ScanLane:
    """Entries start..end-1 by event time: `ts[i]`, `positions[i]`, `lineage[word, i]`, `values[column, i]`."""

    def __init__(self, words: int, columns: tuple[int, ...]) -> None:
        self.columns = columns  # of the state's value columns, in the order of `values`
        self._columns = np.array(columns, np.int64)
        self.start = 0
        self.end = 0
        self.ts = np.zeros(_ROOM, np.int64)
        self.positions = np.zeros(_ROOM, np.int64)
        self.lineage = np.zeros((words, _ROOM), np.uint64)
        self.values = np.zeros((len(columns), _ROOM), np.float64)

    def insert(
        self,
        ts_us: NDArray[np.int64],
        first: int,
        lineage: NDArray[np.uint64],  # [row, word]
        values: NDArray[np.float64],  # the state's, [index, column]
        base: int,
    ) -> None:
        """Add those of the tuples at positions first, first + 1, .. that some slot wants.

        `base` is the position of the first entry of the state's values.
        """
        if self.end + len(ts_us) > len(self.ts):
            self._make_room(len(ts_us))
        self.end += merge(
            self.ts, self.positions, self.lineage, self.values, self.start, self.end,
            ts_us, first, lineage, values, self._columns, base,
        )  # fmt: skip

    def drop_before(self, first: int) -> None:
        """Forget the oldest entries as long as their tuples are gone from the state."""
        self.start = first_kept(self.positions, self.start, self.end, first)

    def _make_room(self, count: int) -> None:
        live = self.end - self.start
        capacity = len(self.ts)
        while 3 * (live + count) > 2 * capacity:
            capacity *= 2
        self.ts = self._moved(self.ts, capacity)
        self.positions = self._moved(self.positions, capacity)
        self.lineage = self._moved(self.lineage, capacity)
        self.values = self._moved(self.values, capacity)
        self.start, self.end = 0, live

    def _moved(self, array: NDArray[Any], capacity: int) -> NDArray[Any]:
        kept = array[..., self.start : self.end]
        moved = array
        if capacity != array.shape[-1]:
            moved = np.zeros((*array.shape[:-1], capacity), array.dtype)
        moved[..., : self.end - self.start] = kept
        return moved

    @property
    def nbytes(self) -> int:
        return int(
            self.ts.nbytes + self.positions.nbytes + self.lineage.nbytes + self.values.nbytes
        )


@njit(cache=True, nogil=True)
def first_kept(positions, start, end, first):  # type: ignore[no-untyped-def]
    """The first entry whose tuple is still in the state."""
    while start < end and positions[start] < first:
        start += 1
    return start


@njit(cache=True, nogil=True)
def merge(  # type: ignore[no-untyped-def]
    ts, positions, lineage, values, start, end,
    new_ts, first, new_lineage, state_values, columns, base,
):  # fmt: skip
    """Put the new entries that have any lineage in their places, moving up what is newer; how many there were."""
    words = min(len(lineage), new_lineage.shape[1])
    order = np.empty(len(new_ts), np.int64)
    count = 0
    ordered = True
    for row in range(len(new_ts)):
        left = np.uint64(0)
        for word in range(words):
            left |= new_lineage[row, word]
        if left:
            order[count] = row
            if count and new_ts[row] < new_ts[order[count - 1]]:
                ordered = False
            count += 1
    order = order[:count]
    if not ordered:
        order = order[np.argsort(new_ts[order], kind="mergesort")]
    old = end - 1
    at = end + count - 1
    for turn in range(count - 1, -1, -1):
        row = order[turn]
        while old >= start and ts[old] > new_ts[row]:
            ts[at] = ts[old]
            positions[at] = positions[old]
            for word in range(len(lineage)):
                lineage[word, at] = lineage[word, old]
            for number in range(len(columns)):
                values[number, at] = values[number, old]
            old -= 1
            at -= 1
        ts[at] = new_ts[row]
        positions[at] = first + row
        for word in range(len(lineage)):
            lineage[word, at] = new_lineage[row, word] if word < words else np.uint64(0)
        for number in range(len(columns)):
            values[number, at] = state_values[first + row - base, columns[number]]
        at -= 1
    return count


def warm() -> None:
    """Compile this module's kernels."""
    lane = ScanLane(1, ())
    numbers = np.zeros(1, np.int64)
    lane.insert(numbers, 0, np.zeros((1, 1), np.uint64), np.zeros((1, 0)), 0)
    lane.drop_before(0)
