"""Rows in the order of OVER: partition by partition, each in the order of its keys.

Everything after the sort works on *places* in that order, so it is the same for one partition and for a million: for each place
where its partition begins and ends, and where its peers do (rows that ORDER BY does not tell apart).

    k:  b a b a a      t:  1 1 2 2 2      rows 1 3 4 | 0 2
    first              0 0 0 3 3          last   3 3 3 5 5
    peer_first         0 1 1 3 4          peer_last  1 3 3 4 5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import EndKind
from cqc.runtime.columns.event_time import instants
from cqc.runtime.kernel import njit
from cqc.runtime.pull.aggregate.grouping import number_rows
from cqc.runtime.pull.over.ordering import SortKey, sort_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Frame, FrameEnd
    from cqc.runtime.columns.columns import Column

    Places = NDArray[np.int64]


@record
class Partitions:
    """Rows in the order of OVER, by place."""

    rows: Places  # the row at each place
    first: Places
    last: Places
    peer_first: Places
    peer_last: Places
    values: (
        NDArray[np.int64] | NDArray[np.float64] | None
    )  # of the one order key, ascending in each partition
    present: NDArray[np.bool_] | None  # where it is not NULL; None: everywhere

    def __len__(self) -> int:
        return len(self.rows)

    def ends(self, frame: Frame) -> tuple[Places, Places]:
        """Where the frame of each place begins, and the place after its end."""
        if frame.by_rows:
            begins, stops = self._row_end(frame.start, 0), self._row_end(frame.end, 1)
        else:
            begins, stops = self._range_begin(frame.start), self._range_stop(frame.end)
        begins = np.clip(begins, self.first, self.last)
        return begins, np.maximum(np.clip(stops, self.first, self.last), begins)

    def _row_end(self, end: FrameEnd, after: int) -> Places:
        here, amount = np.arange(len(self), dtype=np.int64), int(end.amount)
        match end.kind:
            case EndKind.FIRST:
                return self.first
            case EndKind.LAST:
                return self.last
            case EndKind.BEFORE:
                return here - min(amount, len(self)) + after
            case EndKind.AFTER:
                return here + min(amount, len(self)) + after
            case EndKind.CURRENT:
                return here + after

    def _range_begin(self, end: FrameEnd) -> Places:
        match end.kind:
            case EndKind.FIRST:
                return self.first
            case EndKind.LAST:
                return self.last
            case EndKind.CURRENT:
                return self.peer_first
            case EndKind.BEFORE | EndKind.AFTER:
                return self._reached(self._limits(end), after=False)

    def _range_stop(self, end: FrameEnd) -> Places:
        match end.kind:
            case EndKind.FIRST:
                return self.first
            case EndKind.LAST:
                return self.last
            case EndKind.CURRENT:
                return self.peer_last
            case EndKind.BEFORE | EndKind.AFTER:
                return self._reached(self._limits(end), after=True)

    def _limits(self, end: FrameEnd) -> NDArray[np.int64] | NDArray[np.float64]:
        assert self.values is not None
        amount = -end.amount if end.kind is EndKind.BEFORE else end.amount
        if self.values.dtype == np.int64 and isinstance(amount, int):
            # What is beyond the largest number is beyond every value.
            least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
            wide = self.values.astype(np.float64) + amount
            moved = self.values + np.int64(min(max(amount, least), most))
            return np.where(wide < float(least), least, np.where(wide >= float(most), most, moved))
        return self.values.astype(np.float64) + float(amount)

    def _reached(self, limits: NDArray[np.int64] | NDArray[np.float64], *, after: bool) -> Places:
        """The first place of each partition whose value is not below (with `after`: is above) the limit; NULL has its peers."""
        assert self.values is not None
        values = (
            self.values if self.values.dtype == limits.dtype else self.values.astype(limits.dtype)
        )
        present = np.ones(len(self), np.bool_) if self.present is None else self.present
        kernel, peers = (
            (first_above, self.peer_last) if after else (first_not_below, self.peer_first)
        )
        found: Places = kernel(values, limits, present, self.first, self.last, peers)
        return found


def arrange(
    keys: Sequence[Column],
    orders: Sequence[SortKey],
    length: int,
    *,
    by_time: bool,
    idle_us: int | None = None,
) -> Partitions:
    """Sort rows. Equal ones stay in their order, which is that of arrival.

    Args:
        keys: what is partitioned by, the window included.
        orders: the ORDER BY keys.
        length: how many rows there are.
        by_time: the one order key is an event time.
        idle_us: rows of a partition that are further apart are in different ones.
    """
    numbers, _ = number_rows(keys, length)
    times: NDArray[np.int64] | None = None
    if by_time:
        times, _ = instants(orders[0].column)
        levels: list[NDArray[np.int64]] = [times]
    else:
        levels = [level for key in reversed(orders) for level in sort_levels(key)]
    rows = np.lexsort([*levels, numbers]) if levels else np.argsort(numbers, kind="stable")
    begins = _changes(numbers[rows])
    if idle_us is not None and times is not None and length:
        begins[1:] |= np.diff(times[rows]) > idle_us
    first, last = _spans(begins)
    peers = begins.copy()
    for level in levels:
        peers |= _changes(level[rows])
    peer_first, peer_last = _spans(peers)
    values, present = _order_values(orders, times, rows)
    return Partitions(rows, first, last, peer_first, peer_last, values, present)


def _order_values(
    orders: Sequence[SortKey], times: NDArray[np.int64] | None, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64] | NDArray[np.float64] | None, NDArray[np.bool_] | None]:
    """The values of a single order key that RANGE can measure, ascending: those of a descending one turned round."""
    if times is not None:
        return times[rows], None
    if len(orders) != 1 or orders[0].column.type.held_as_text:
        return None, None
    column = orders[0].column
    values = column.values[rows]
    if values.dtype == np.bool_:
        return None, None
    present = None if column.valid is None else column.valid[rows]
    return (-values if orders[0].descending else values), present


def _changes(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a value differs from the one before; the first does."""
    found = np.ones(len(values), np.bool_)
    if len(values):
        found[1:] = values[1:] != values[:-1]
    return found


def _spans(begins: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each place where its stretch begins, and where it ends."""
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, len(begins)))
    return np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)


@njit(cache=True, nogil=True)
def first_not_below(values, limits, present, first, last, peer_first):  # type: ignore[no-untyped-def]
    """For each place the first one of its partition whose value is not below the limit."""
    found = np.empty(len(values), np.int64)
    for place in range(len(values)):
        if not present[place]:
            found[place] = peer_first[place]
            continue
        low, high, limit = first[place], last[place], limits[place]
        while low < high:
            middle = (low + high) // 2
            if present[middle]:
                goes_on = values[middle] < limit
            else:
                goes_on = middle < place  # NULLs stand at one end
            if goes_on:
                low = middle + 1
            else:
                high = middle
        found[place] = low
    return found


@njit(cache=True, nogil=True)
def first_above(values, limits, present, first, last, peer_last):  # type: ignore[no-untyped-def]
    """For each place the first one of its partition whose value is above the limit."""
    found = np.empty(len(values), np.int64)
    for place in range(len(values)):
        if not present[place]:
            found[place] = peer_last[place]
            continue
        low, high, limit = first[place], last[place], limits[place]
        while low < high:
            middle = (low + high) // 2
            if present[middle]:
                goes_on = values[middle] <= limit
            else:
                goes_on = middle < place
            if goes_on:
                low = middle + 1
            else:
                high = middle
        found[place] = low
    return found


def warm() -> None:
    """Compile this module's kernels."""
    places, present = np.zeros(1, np.int64), np.ones(1, np.bool_)
    for dtype in (np.int64, np.float64):
        values = np.zeros(1, dtype)
        first_not_below(values, values, present, places, places + 1, places)
        first_above(values, values, present, places, places + 1, places)
