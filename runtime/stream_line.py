"""One stream or table on its way into the engine: typed, numbered, late rows taken out, everything counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.event_time import StreamClock
from cqc.runtime.intake import Intake

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.catalog import Relation
    from cqc.runtime.intake import Reject, Taken
    from cqc.runtime.packet import Packet


@dataclass(slots=True)
class StreamCount:
    """Rows of one stream so far; `read` counts every row, `reasons` why rows were rejected."""

    read: int = 0
    late: int = 0
    rejected: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


class StreamLine:
    """The intake, clock and counters of one stream or table.

    `on_reject` and `on_late` are told of rows that are left out, for those who want to keep them.
    """

    def __init__(self, relation: Relation, idle_us: int | None, clock: Callable[[], float]) -> None:
        self.relation = relation
        self.is_stream = relation.is_stream
        self.count = StreamCount()
        self.on_reject: Callable[[Relation, list[Reject]], None] | None = None
        self.on_late: Callable[[Relation, Packet], None] | None = None
        self._intake = Intake(relation)
        self.clock = StreamClock(relation, idle_us, clock)
        self._arrivals = 0
        self.ended = False

    @property
    def watermark_us(self) -> int:
        """No tuple older than this is taken any more."""
        return self.clock.watermark_us

    @property
    def first_us(self) -> int | None:
        """The smallest event time seen."""
        return self.clock.first_us

    @property
    def latest_us(self) -> int | None:
        """The largest event time seen."""
        return self.clock.largest_us

    @property
    def arrivals(self) -> int:
        """How many tuples were taken so far: the arrival number of the next one."""
        return self._arrivals

    def take(self, rows: Any) -> Taken:
        """Type rows as a user pushes them; nothing is counted yet, and several threads may do it at once."""
        return self._intake.take(rows)

    def accept(self, taken: Taken) -> Packet:
        """The packet of one micro-batch, from rows that were typed already."""
        self.count.read += taken.read
        if taken.rejects:
            self.count.rejected += len(taken.rejects)
            self.count.reasons.update(reject.reason for reject in taken.rejects)
            if self.on_reject is not None:
                self.on_reject(self.relation, taken.rejects)
        packet = taken.packet(self._arrivals)
        self._arrivals += len(taken.ts_us)
        return self._on_time(packet, taken.span_us) if self.is_stream else packet

    def end_input(self) -> None:
        """No row will follow."""
        self.ended = True
        self.clock.end_input()

    def _on_time(self, packet: Packet, span_us: tuple[int, int] | None) -> Packet:
        on_time = self.clock.admit(packet.ts_us, span_us)
        if on_time is None:
            return packet
        late = packet.take(np.flatnonzero(~on_time))
        self.count.late += len(late)
        if self.on_late is not None:
            self.on_late(self.relation, late)
        return packet.take(np.flatnonzero(on_time))
