"""A packet: a block of tuples of one stream that share one history (Teddies).

Everything in the engine works on packets; how many tuples one holds is nobody's business but the router's. Tuples are by
column, in arrival order, and each knows its event time and its arrival number within its stream, the number that tells
duplicates apart and orders ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.columns import Column, concatenate, cut, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(
    slots=True, eq=False
)  # not frozen: making a frozen one costs three times as much, and one is made a packet
class Packet:
    """Tuples of one stream (or rows of one table, whose `ts_us` are all 0). It is not changed once it is made."""

    columns: Sequence[Column]
    ts_us: NDArray[np.int64]
    arrival: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ts_us)

    def take(self, positions: NDArray[np.int64]) -> Packet:
        """The tuples at the positions, in their order."""
        return Packet(
            tuple(take(column, positions) for column in self.columns),
            self.ts_us[positions],
            self.arrival[positions],
        )

    def cut(self, start: int, stop: int) -> Packet:
        """The tuples from `start` up to but not including `stop`, without copying."""
        return Packet(
            tuple(cut(column, start, stop) for column in self.columns),
            self.ts_us[start:stop],
            self.arrival[start:stop],
        )

    def joined(self, others: Sequence[Packet]) -> Packet:
        """The tuples of this packet, then those of the others."""
        if not others:
            return self
        every = [self, *others]
        return Packet(
            tuple(
                concatenate([packet.columns[at] for packet in every])
                for at in range(len(self.columns))
            ),
            np.concatenate([packet.ts_us for packet in every]),
            np.concatenate([packet.arrival for packet in every]),
        )
