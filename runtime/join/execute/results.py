"""What a join found: positions of tuples in the shared states, and the slots that want each combination.

Nothing is copied out of the states until a query asks for rows of its own: counting works on the lineage alone, and in a
family on the members' ranks, so a thousand queries that find the same combinations cost little more than one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit
from cqc.runtime.lineage.matches import Matches, RowSlots, SlotRows
from cqc.runtime.lineage.rank_lineage import WORD_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.slots import JoinSeat, Slot, SlotTable
    from cqc.runtime.lineage.matches import Seat


_FEW_ROWS, _DIGIT = 256, 11  # below so many rows sorting by digits does not pay; bits of a digit


@record
class MemberRanges:
    """For the rows of a family's slot, the members lower <= m < upper for which they hold (in the slot's order)."""

    rows: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    counts: NDArray[np.int64]  # by member


class JoinResults:
    """Combinations found by one packet. Columns can be read until the states are purged."""

    def __init__(
        self,
        part: HostAtNode,
        positions: NDArray[np.int64],  # [item, row]
        ts_us: NDArray[np.int64],
        lineage: NDArray[np.uint64],
        counts: NDArray[np.int64],  # by slot
        table: SlotTable,
        ranges: Mapping[int, MemberRanges],  # by slot number, for families
    ) -> None:
        self._part = part
        self._positions = positions
        self._ts_us = ts_us
        self._lineage = lineage
        self._counts = counts
        self._table = table
        self._ranges = ranges

    @staticmethod
    def together(results: Sequence[JoinResults]) -> list[JoinResults]:
        """Findings of one micro-batch, those of one host as one: many small ones cost more to deliver. Families stay apart."""
        alike: dict[tuple[int, int] | int, list[JoinResults]] = {}
        for each in results:
            key = id(each) if each._ranges else (id(each._part), id(each._table))
            alike.setdefault(key, []).append(each)
        return [each[0] if len(each) == 1 else _joined(each) for each in alike.values()]

    def __len__(self) -> int:
        return len(self._ts_us)

    @property
    def ts_us(self) -> NDArray[np.int64]:
        """Result time: the latest event time of the combination."""
        return self._ts_us

    @property
    def positions(self) -> Sequence[NDArray[np.int64]]:
        """For each item, in host order, where the tuple is in its shared state."""
        return list(self._positions)

    @property
    def lineage(self) -> NDArray[np.uint64]:
        """The slots of each row, as bitmaps."""
        return self._lineage

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each slot has."""
        return self._counts

    def uncount(self) -> None:
        """Take the rows off what was counted for seats and hosts: they will be found again, or never were."""
        self._table.totals.add(-self._counts)
        for number, ranges in self._ranges.items():
            self._table.slots[number].counts -= ranges.counts
        self._part.results -= len(self)

    def hits(self) -> Sequence[JoinSeat]:
        """The seats with at least one row."""
        found: list[JoinSeat] = []
        for number in np.flatnonzero(self._counts).tolist():
            slot = self._table.slots.get(number)
            if slot is None:
                continue
            ranges = self._ranges.get(number)
            if ranges is None:
                found += slot.members[0].seats
            else:
                for at in np.flatnonzero(ranges.counts).tolist():
                    found += slot.members[at].seats
        return found

    @property
    def source(self) -> JoinHost:
        return self._part.host

    def matches(self, keys: NDArray[np.int64]) -> Matches:
        """The rows of all seats whose member has one of these keys (ascending)."""
        single = self._counts > 0
        single[list(self._ranges)] = False
        numbers = np.flatnonzero(single)
        ends = np.cumsum(self._counts[numbers])
        rows = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
        cursors = np.full(64 * self._lineage.shape[1], -1, np.int64)
        cursors[numbers] = ends - self._counts[numbers]
        rows_by_slot(self._lineage, np.arange(len(self)), cursors, rows)
        found = [np.repeat(self._table.keys_by_slot()[numbers], self._counts[numbers])]
        parts = [rows]
        for number, ranges in self._ranges.items():
            members = self._table.slots[number].member_keys
            lengths = np.maximum(ranges.upper - ranges.lower, 0)
            within = np.arange(int(lengths.sum())) - np.repeat(
                np.cumsum(lengths) - lengths, lengths
            )
            found.append(members[np.repeat(ranges.lower, lengths) + within])
            parts.append(np.repeat(ranges.rows, lengths))
        return _in_order(np.concatenate(found), np.concatenate(parts), keys)

    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        """The rows of a seat's body."""
        slot, member = seat.slot, seat.member  # type: ignore[attr-defined]  # a JoinSeat
        ranges = self._ranges.get(slot.number)
        if ranges is None:
            return rows_with(self._lineage, slot.number)
        at: int = member.place
        rows: NDArray[np.int64] = ranges.rows[(ranges.lower <= at) & (at < ranges.upper)]
        return rows

    def by_slot(self) -> SlotRows:
        """The rows of all seats at once, those of each in result-time order."""
        slots, begins, ends, rows, times_us = rows_in_time(self._lineage, self._ts_us, self._counts)
        numbering = self._table.numbering
        if not self._ranges:
            return SlotRows(numbering, slots, begins, ends, rows, times_us=times_us)
        members: list[tuple[Seat, int, int]] = []
        parts = [rows]
        made = len(rows)
        for number, ranges in self._ranges.items():
            parts.append(_by_member(self._table.slots[number], ranges, made, members))
            made += len(parts[-1])
        single = ~np.isin(slots, list(self._ranges))
        rows = np.concatenate(parts)
        return SlotRows(numbering, slots[single], begins[single], ends[single], rows, members)

    def by_row(self) -> RowSlots | None:
        """The slots of all rows as bits, where no slot is a family."""
        if self._ranges:
            return None
        pairs = int(self._counts.sum())
        return RowSlots(self._table.numbering, pairs, lambda: self._lineage)

    def seats_at(self, slot: int) -> Sequence[JoinSeat]:
        """The seats at a slot that is not a family."""
        found = self._table.slots.get(slot)
        return [] if found is None else found.members[0].seats

    def column(self, item: int, column: int, rows: NDArray[np.int64] | None) -> Column:
        """Values of one item's column for the rows (None: all rows)."""
        positions = self._positions[item]
        return self._part.states[item].column(
            column, positions if rows is None else positions[rows]
        )


def _joined(results: Sequence[JoinResults]) -> JoinResults:
    first = results[0]
    counts = first._counts.copy()
    for each in results[1:]:
        counts += each._counts
    return JoinResults(
        first._part,
        np.concatenate([each._positions for each in results], axis=1),
        np.concatenate([each._ts_us for each in results]),
        np.concatenate([each._lineage for each in results]),
        counts,
        first._table,
        {},
    )


def _in_order(
    found: NDArray[np.int64], rows: NDArray[np.int64], keys: NDArray[np.int64]
) -> Matches:
    """Rows by the key beside each, of the keys that are wanted."""
    wanted = np.isin(found, keys)
    found, rows = found[wanted], rows[wanted]
    order = np.argsort(found, kind="stable")
    own, counts = np.unique(found, return_counts=True)
    return Matches(own, counts, rows[order])


def _by_member(
    slot: Slot, ranges: MemberRanges, made: int, members: list[tuple[Seat, int, int]]
) -> NDArray[np.int64]:
    """The rows of a family member by member, for its seats; `made` rows of others come before them."""
    ends = np.cumsum(ranges.counts)
    begins = ends - ranges.counts
    rows = np.empty(int(ends[-1]), np.int64)
    rows_by_member(ranges.rows, ranges.lower, ranges.upper, begins.copy(), rows)
    for at in np.flatnonzero(ranges.counts).tolist():
        begin, end = made + int(begins[at]), made + int(ends[at])
        members += [(seat, begin, end) for seat in slot.members[at].seats]
    return rows


def rows_with(lineage: NDArray[np.uint64], slot: int) -> NDArray[np.int64]:
    """The rows that have the slot's bit."""
    bit = np.uint64(1 << (slot % WORD_BITS))
    rows: NDArray[np.int64] = np.flatnonzero(lineage[:, slot // WORD_BITS] & bit)
    return rows


@njit(cache=True, nogil=True)
def rows_by_slot(lineage, order, cursors, rows):  # type: ignore[no-untyped-def]
    """Write the rows of each slot, in a given order, from its cursor on; slots beyond or with cursor -1 are left out."""
    for row in order:
        for word in range(lineage.shape[1]):
            left = lineage[row, word]
            while left:
                slot = word * WORD_BITS + lowest_bit(left)
                left &= left - np.uint64(1)
                if slot < len(cursors) and cursors[slot] >= 0:
                    rows[cursors[slot]] = row
                    cursors[slot] += 1


@njit(cache=True, nogil=True)
def time_order(times):  # type: ignore[no-untyped-def]
    """The rows in the order of their times, those of one time as they come.

    Sorted digit by digit: the times of one micro-batch are near to each other, and have few digits that differ.
    """
    count = len(times)
    order = np.arange(count)
    if count == 0:
        return order
    least, most, ordered = times[0], times[0], True
    for row in range(1, count):
        ordered &= times[row - 1] <= times[row]
        least, most = min(least, times[row]), max(most, times[row])
    if ordered:
        return order
    span = np.uint64(most) - np.uint64(least)
    if count < _FEW_ROWS or span >> np.uint64(4 * _DIGIT):
        return np.argsort(times, kind="mergesort")
    digit, mask = np.uint64(_DIGIT), np.uint64((1 << _DIGIT) - 1)
    keys, sorted_keys, sorted_order = (
        np.empty(count, np.uint64),
        np.empty(count, np.uint64),
        np.empty(count, np.int64),
    )
    for row in range(count):
        keys[row] = np.uint64(times[row]) - np.uint64(least)
    starts = np.empty(1 << _DIGIT, np.int64)
    while span:
        starts[:] = 0
        for row in range(count):
            starts[keys[row] & mask] += 1
        before = 0
        for value in range(len(starts)):
            starts[value], before = before, before + starts[value]
        for row in range(count):
            value = keys[row] & mask
            place = starts[value]
            starts[value] += 1
            sorted_keys[place] = keys[row] >> digit
            sorted_order[place] = order[row]
        keys, sorted_keys = sorted_keys, keys
        order, sorted_order = sorted_order, order
        span >>= digit
    return order


@njit(cache=True, nogil=True)
def rows_in_time(lineage, times, counts):  # type: ignore[no-untyped-def]
    """The slots with rows, where those of each begin and end, the rows in result-time order, and their times."""
    cursors = np.empty(len(counts), np.int64)
    slots, total, used = np.empty(len(counts), np.int64), 0, 0
    for slot in range(len(counts)):
        cursors[slot] = total
        total += counts[slot]
        slots[used] = slot
        used += counts[slot] > 0
    slots = slots[:used].copy()
    begins = cursors[slots]
    rows, row_times = np.empty(total, np.int64), np.empty(total, np.int64)
    for row in time_order(times):
        for word in range(lineage.shape[1]):
            left = lineage[row, word]
            while left:
                slot = word * WORD_BITS + lowest_bit(left)
                left &= left - np.uint64(1)
                if slot < len(cursors):
                    rows[cursors[slot]] = row
                    row_times[cursors[slot]] = times[row]
                    cursors[slot] += 1
    return slots, begins, begins + counts[slots], rows, row_times


@njit(cache=True, nogil=True)
def rows_by_member(rows, lower, upper, starts, out):  # type: ignore[no-untyped-def]
    """The rows of each member of a family, from `starts[member]` on. Uses `starts` up."""
    for at in range(len(rows)):
        for member in range(lower[at], upper[at]):
            out[starts[member]] = rows[at]
            starts[member] += 1


def warm() -> None:
    """Compile this module's kernels."""
    numbers = np.zeros(1, np.int64)
    rows_in_time(np.ones((1, 1), np.uint64), numbers, numbers + 1)
    rows_by_slot(np.ones((1, 1), np.uint64), numbers, numbers.copy(), numbers.copy())
    rows_by_member(numbers, numbers, numbers + 1, numbers.copy(), numbers.copy())
