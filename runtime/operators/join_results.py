"""What a join found: positions of tuples in the shared states, and the slots that want each combination.

Nothing is copied out of the states until a query asks for rows of its own: counting works on the lineage alone, and in a
family on the members' ranks, so a thousand queries that find the same combinations cost little more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.operators.rank_lineage import WORD_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns import Column
    from cqc.runtime.found import Seat
    from cqc.runtime.operators.join_slots import JoinSeat, Slot
    from cqc.runtime.operators.shared_state import SharedState


@dataclass(frozen=True, slots=True)
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
        states: Sequence[SharedState],
        positions: NDArray[np.int64],  # [item, row]
        ts_us: NDArray[np.int64],
        lineage: NDArray[np.uint64],
        counts: NDArray[np.int64],  # by slot
        slots: Mapping[int, Slot],
        ranges: Mapping[int, MemberRanges],  # by slot number, for families
    ) -> None:
        self._states = states
        self._positions = positions
        self._ts_us = ts_us
        self._lineage = lineage
        self._counts = counts
        self._slots = slots
        self._ranges = ranges

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

    def hits(self) -> Sequence[JoinSeat]:
        """The seats with at least one row."""
        found: list[JoinSeat] = []
        for number in np.flatnonzero(self._counts).tolist():
            slot = self._slots.get(number)
            if slot is None:
                continue
            ranges = self._ranges.get(number)
            if ranges is None:
                found += slot.members[0].seats
            else:
                for at in np.flatnonzero(ranges.counts).tolist():
                    found += slot.members[at].seats
        return found

    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        """The rows of a seat's body."""
        slot, member = seat.slot, seat.member  # type: ignore[attr-defined]  # a JoinSeat
        ranges = self._ranges.get(slot.number)
        if ranges is None:
            return rows_with(self._lineage, slot.number)
        at: int = member.place
        rows: NDArray[np.int64] = ranges.rows[(ranges.lower <= at) & (at < ranges.upper)]
        return rows

    def column(self, item: int, column: int, rows: NDArray[np.int64] | None) -> Column:
        """Values of one item's column for the rows (None: all rows)."""
        positions = self._positions[item]
        return self._states[item].column(column, positions if rows is None else positions[rows])


def rows_with(lineage: NDArray[np.uint64], slot: int) -> NDArray[np.int64]:
    """The rows that have the slot's bit."""
    bit = np.uint64(1 << (slot % WORD_BITS))
    rows: NDArray[np.int64] = np.flatnonzero(lineage[:, slot // WORD_BITS] & bit)
    return rows
