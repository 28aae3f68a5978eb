"""Which slot holds which row, when every group keeps its rows side by side in time order.

Each group has a segment of one common row of slots. A row goes behind the rows of its group that are not newer; a row that
comes out of order moves the newer rows of its group up by one, and nothing else. A full segment moves to the free end with
twice the room, and when that end is reached all segments are laid out anew.

    group 0: 10 12 15 . | group 1: 11 . | group 0 gets 14:   10 12 14 15 | 11 .

Values that lie beside the rows (aggregate trees) follow the `Movement` that an insertion returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.kernel import njit
from cqc.runtime.pull.aggregate.aggregate_tree import FAN, move_entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_CAPACITY = 1024
_NONE = np.zeros(0, np.int64)


@record
class Movement:
    """What an insertion did to the slots, in the order in which whoever follows must do it.

    `laid_out` is (sources, targets, capacity) when all slots were laid out anew; then `sources` go to `targets`, one by one;
    the new rows are in `slots`; and `blocks` (of sixteen slots) hold something new.
    """

    laid_out: tuple[NDArray[np.int64], NDArray[np.int64], int] | None
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    slots: NDArray[np.int64]
    blocks: NDArray[np.int64]


class GroupSlots:
    """Segments of slots: the rows of group g are at slots first[g] .. stop[g] - 1, in the order of `oldest`."""

    def __init__(self) -> None:
        self.capacity = _LEAST_CAPACITY
        self.oldest = np.zeros(self.capacity, np.int64)
        self.groups = 0
        self._first = np.zeros(16, np.int64)
        self._stop = np.zeros(16, np.int64)
        self._limit = np.zeros(16, np.int64)  # where each segment ends
        self._free = 0  # where no segment is

    @property
    def first(self) -> NDArray[np.int64]:
        return self._first[: self.groups]

    @property
    def stop(self) -> NDArray[np.int64]:
        return self._stop[: self.groups]

    def live_groups(self) -> int:
        """How many groups have rows."""
        return int(np.count_nonzero(self.stop > self.first))

    def insert(self, groups: NDArray[np.int64], oldest: NDArray[np.int64], count: int) -> Movement:
        """Add rows, ascending by time, of groups below `count`."""
        self._add_groups(count)
        added = np.bincount(groups, minlength=self.groups)
        dirty = np.zeros(-(-self.capacity // FAN), np.bool_)
        laid_out, grown = self._make_room(added)
        if laid_out is not None:
            dirty = np.ones(-(-self.capacity // FAN), np.bool_)
        order = np.argsort(groups, kind="stable") if self.groups > 1 else np.arange(len(groups))
        size = count_moves(self.oldest, self._first, self._stop, groups, oldest, order)
        sources, targets = np.empty(size, np.int64), np.empty(size, np.int64)
        slots = np.empty(len(groups), np.int64)
        place_rows(
            self.oldest, self._first, self._stop, groups, oldest, order, sources, targets, slots
        )
        sources = np.concatenate((grown[0], sources))
        targets = np.concatenate((grown[1], targets))
        dirty[targets // FAN] = True
        dirty[slots // FAN] = True
        return Movement(laid_out, sources, targets, slots, np.flatnonzero(dirty))

    def purge(self, before_us: int) -> None:
        """Forget rows older than `before_us`."""
        advance(self.oldest, self.first, self.stop, before_us)

    def stretches(
        self, begin_us: NDArray[np.int64], end_us: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each window and each group with rows in it: the window, the group, and the rows' slots (from, to)."""
        size = count_stretches(self.oldest, self.first, self.stop, begin_us, end_us)
        window, group = np.empty(size, np.int64), np.empty(size, np.int64)
        starts, stops = np.empty(size, np.int64), np.empty(size, np.int64)
        find_stretches(
            self.oldest, self.first, self.stop, begin_us, end_us, window, group, starts, stops
        )
        return window, group, starts, stops

    def _add_groups(self, count: int) -> None:
        if count > len(self._first):
            for name in ("_first", "_stop", "_limit"):
                old = getattr(self, name)
                grown = np.zeros(max(count, 2 * len(old)), np.int64)
                grown[: self.groups] = old[: self.groups]
                setattr(self, name, grown)
        for edges in (self._first, self._stop, self._limit):
            edges[self.groups : count] = self._free
        self.groups = max(self.groups, count)

    def _make_room(
        self, added: NDArray[np.int64]
    ) -> tuple[
        tuple[NDArray[np.int64], NDArray[np.int64], int] | None,
        tuple[NDArray[np.int64], NDArray[np.int64]],
    ]:
        """Room for so many more rows in each group: segments move to the free end, or all are laid out anew."""
        full = np.flatnonzero(self.stop + added > self._limit[: self.groups])
        if not len(full):
            return None, (_NONE, _NONE)
        lengths = self.stop[full] - self.first[full]
        room = 2 * (lengths + added[full])
        if self._free + int(room.sum()) > self.capacity:
            return self._lay_out(added), (_NONE, _NONE)
        starts = self._free + np.cumsum(room) - room
        moves = _segments(self.first[full], starts, lengths)
        move_entries(self.oldest, *moves)
        self._first[full], self._stop[full] = starts, starts + lengths
        self._limit[full] = starts + room
        self._free += int(room.sum())
        return None, moves

    def _lay_out(
        self, added: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        lengths = self.stop - self.first
        room = np.where(lengths + added > 0, 2 * (lengths + added), 0)
        needed = int(room.sum())
        capacity = _LEAST_CAPACITY
        while capacity < needed + needed // 2:
            capacity *= 2
        starts = np.cumsum(room) - room
        sources, targets = _segments(self.first, starts, lengths)
        laid_out = np.zeros(capacity, np.int64)
        laid_out[targets] = self.oldest[sources]
        self.oldest, self.capacity, self._free = laid_out, capacity, needed
        self._first[: self.groups], self._stop[: self.groups] = starts, starts + lengths
        self._limit[: self.groups] = starts + room
        return sources, targets, capacity


def _segments(
    sources: NDArray[np.int64], targets: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every slot of segments that begin at `sources`, and where it goes when they begin at `targets`."""
    total = int(lengths.sum())
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(sources, lengths) + within, np.repeat(targets, lengths) + within


@njit(cache=True, nogil=True)
def lower_bound(ordered, start, stop, value):  # type: ignore[no-untyped-def]
    """The first place in ordered[start:stop] that is not below the value."""
    while start < stop:
        middle = (start + stop) >> 1
        if ordered[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True, nogil=True)
def count_moves(oldest, first, stop, groups, times, order):  # type: ignore[no-untyped-def]
    """How many rows must make way for the new ones."""
    moves = 0
    for at in range(len(order)):
        group = groups[order[at]]
        if at == 0 or groups[order[at - 1]] != group:  # the oldest new row of the group
            place = lower_bound(oldest, first[group], stop[group], times[order[at]] + 1)
            moves += stop[group] - place
    return moves


@njit(cache=True, nogil=True)
def place_rows(oldest, first, stop, groups, times, order, sources, targets, slots):  # type: ignore[no-untyped-def]
    """Merge from the back, group by group; old rows stay before new ones of the same time."""
    moved = 0
    at = len(order) - 1
    while at >= 0:
        group = groups[order[at]]
        begin = at
        while begin > 0 and groups[order[begin - 1]] == group:
            begin -= 1
        old = stop[group] - 1
        free = old + (at - begin + 1)
        stop[group] = free + 1
        while at >= begin:
            row = order[at]
            if old >= first[group] and oldest[old] > times[row]:
                oldest[free] = oldest[old]
                sources[moved], targets[moved] = old, free
                moved += 1
                old -= 1
            else:
                oldest[free] = times[row]
                slots[row] = free
                at -= 1
            free -= 1


@njit(cache=True, nogil=True)
def advance(oldest, first, stop, before_us):  # type: ignore[no-untyped-def]
    """Begin each group at its first row that is not older."""
    for group in range(len(first)):
        first[group] = lower_bound(oldest, first[group], stop[group], before_us)


@njit(cache=True, nogil=True)
def count_stretches(oldest, first, stop, begin_us, end_us):  # type: ignore[no-untyped-def]
    """At most how many groups have rows in the windows."""
    size = 0
    for window in range(len(begin_us)):
        for group in range(len(first)):
            start, end = first[group], stop[group]
            if (
                start < end
                and oldest[start] <= end_us[window]
                and oldest[end - 1] >= begin_us[window]
            ):
                size += lower_bound(oldest, start, end, begin_us[window]) < lower_bound(
                    oldest, start, end, end_us[window] + 1
                )
    return size


@njit(cache=True, nogil=True)
def find_stretches(oldest, first, stop, begin_us, end_us, window_of, group_of, starts, stops):  # type: ignore[no-untyped-def]
    """The slots of each window and group that has any."""
    size = 0
    for window in range(len(begin_us)):
        for group in range(len(first)):
            start, end = first[group], stop[group]
            if start >= end or oldest[start] > end_us[window] or oldest[end - 1] < begin_us[window]:
                continue
            begin = lower_bound(oldest, start, end, begin_us[window])
            finish = lower_bound(oldest, start, end, end_us[window] + 1)
            if begin < finish:
                window_of[size], group_of[size] = window, group
                starts[size], stops[size] = begin, finish
                size += 1


def warm() -> None:
    """Compile this module's kernels."""
    slots = GroupSlots()
    times = np.zeros(1, np.int64)
    slots.insert(times, times, 1)
    slots.stretches(times, times)
    slots.purge(0)
