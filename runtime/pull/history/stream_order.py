"""The kept tuples of one stream in event-time order, made when the first pull query needs them so.

Lazy bodies find a window's base tuples through it, and ROWS the last tuples inside an end. It is a history of the stream
itself: every tuple is a row, merged into the order when somebody asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.packet import Packet
from cqc.runtime.pull.history.result_history import History

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.state.shared_state import SharedState


class StreamOrder:
    """Positions of a shared state by event time, equal times as they came."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._history = History([state])
        self._head = 0

    def purge(self, before_us: int) -> None:
        """Forget tuples older than `before_us`."""
        self._history.purge(before_us)

    def between(self, begin_us: int, end_us: int) -> NDArray[np.int64]:
        """The positions of the tuples in a window, both ends inside."""
        self._catch_up()
        return self._history.window(begin_us, end_us)[0]

    def packet(self, begin_us: int, end_us: int) -> tuple[NDArray[np.int64], Packet]:
        """The same with the tuples; of a stream that came in order nothing is copied."""
        positions = self.between(begin_us, end_us)
        if not self._history.is_as_noted or not len(positions):
            columns = self._state.rows_when_read(positions)
            return positions, Packet(columns, self._state.ts_at(positions), positions)
        first, last = int(positions[0]), int(positions[-1])
        columns = self._state.rows_when_read(range(first, last + 1))
        base = self._state.base
        return positions, Packet(columns, self._state.ts[first - base : last + 1 - base], positions)

    def count(self, begin_us: int, end_us: int) -> int:
        """How many tuples a window has."""
        return len(self.between(begin_us, end_us))

    def times(self) -> NDArray[np.int64]:
        """The event times of all tuples, ascending."""
        self._catch_up()
        return self._history.oldest

    def last(self, rows: int, end_us: int) -> tuple[int, int] | None:
        """Event time and position of the first of the last `rows` tuples up to the end; None: all tuples are among them."""
        self._catch_up()
        kept = self._history.everything()
        at = int(kept.oldest.searchsorted(end_us, side="right")) - rows
        return (int(kept.oldest[at]), int(kept.positions[0][at])) if at > 0 else None

    def _catch_up(self) -> None:
        head = self._state.head
        if head > self._head:
            first = max(self._head, self._state.first)
            self._history.append((np.arange(first, head, dtype=np.int64),))
            self._history.settle()
            self._head = head
