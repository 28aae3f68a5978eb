"""Which periodic queries are due, and for which instants.

A query with EVERY d is due at every multiple of d, from the first one at or after the first event time seen on its streams,
as soon as the watermark of its streams is greater. Queries over the same streams have one queue in the order of their next
instants, so thousands of queries that are not due cost nothing.

    EVERY 10, first event time 17: instants 20, 30, ...; a watermark of 31 makes 20 and 30 due, one of 30 only 20

When the input has ended, the instants up to the last event time are due. A query starts at the first instant when its
watermark has passed the first event time: only then no earlier one can come.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.runtime.event_time import NOTHING_SEEN, smallest_watermark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.runtime.stream_line import StreamLine


@dataclass(frozen=True, slots=True)
class Due:
    """A query, and its instants that are due: first, first + every, ... up to and including last."""

    name: str
    first_us: int
    last_us: int
    every_us: int


@dataclass(slots=True)
class Queue:
    """The periodic queries over one set of streams."""

    lines: Sequence[StreamLine]
    waiting: dict[str, tuple[int, int | None]] = field(default_factory=dict)  # not started: period, what is kept from
    started: dict[str, tuple[int, int]] = field(default_factory=dict)  # next instant and period of each query
    heap: list[tuple[int, str]] = field(default_factory=list)  # entries that `started` contradicts are stale

    def due(self) -> Iterator[Due]:
        """The queries that are due; they are considered delivered."""
        watermark_us = smallest_watermark(line.clock for line in self.lines)
        seen = [line.latest_us for line in self.lines if line.latest_us is not None]
        if not seen:
            return
        last_us = min(watermark_us - 1, max(seen))
        self._start(watermark_us)
        while self.heap and self.heap[0][0] <= last_us:
            next_us, name = heapq.heappop(self.heap)
            known = self.started.get(name)
            if known is None or known[0] != next_us:
                continue
            every_us = known[1]
            final_us = last_us - (last_us - next_us) % every_us
            self._plan(name, final_us + every_us, every_us)
            yield Due(name, next_us, final_us, every_us)

    def resume(self, name: str, next_us: int) -> None:
        """Let a query go on with this instant."""
        waiting = self.waiting.pop(name, None)
        self._plan(name, next_us, self.started[name][1] if waiting is None else waiting[0])

    def _start(self, watermark_us: int) -> None:
        first_us = min(line.first_us for line in self.lines if line.first_us is not None)
        if not self.waiting or watermark_us <= first_us:
            return
        for name, (every_us, kept_from_us) in self.waiting.items():
            from_us = first_us if kept_from_us is None else max(first_us, kept_from_us)
            self._plan(name, -(-from_us // every_us) * every_us, every_us)
        self.waiting.clear()

    def _plan(self, name: str, next_us: int, every_us: int) -> None:
        self.started[name] = (next_us, every_us)
        heapq.heappush(self.heap, (next_us, name))


class Schedule:
    """All periodic queries, by the streams they are over."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, ...], Queue] = {}
        self._streams: dict[str, tuple[str, ...]] = {}  # by query name

    def add(
        self, name: str, every_us: int, lines: dict[str, StreamLine], kept_from_us: int | None = None
    ) -> None:
        """A query over these streams (by folded name) comes.

        One that comes late begins with the first instant for which anything is left.
        """
        key = tuple(sorted(lines))
        self._streams[name] = key
        queue = self._queues.setdefault(key, Queue(list(lines.values())))
        queue.waiting[name] = (every_us, kept_from_us)

    def remove(self, name: str) -> None:
        """A query leaves."""
        key = self._streams.pop(name)
        queue = self._queues[key]
        queue.waiting.pop(name, None)
        queue.started.pop(name, None)
        if not queue.waiting and not queue.started:
            del self._queues[key]

    def due(self) -> Iterator[Due]:
        """Every query that is due, with its instants; each instant is given once."""
        for queue in list(self._queues.values()):
            yield from queue.due()

    def next_instants(self) -> dict[str, int]:
        """The next instant of each query that has started: what a checkpoint must remember of a schedule."""
        return {
            name: next_us
            for queue in self._queues.values()
            for name, (next_us, _) in queue.started.items()
        }

    def resume(self, next_instants: dict[str, int]) -> None:
        """Go on from where a checkpoint was made."""
        for name, next_us in next_instants.items():
            if name in self._streams:
                self._queues[self._streams[name]].resume(name, next_us)

    def oldest_due_us(self, stream: str) -> int | None:
        """The earliest instant for which some query over the stream is still to be asked; None when there is none.

        `NOTHING_SEEN` while some query has not started: then any instant may come.
        """
        queues = [queue for key, queue in self._queues.items() if stream in key]
        if any(queue.waiting for queue in queues):
            return NOTHING_SEEN
        return min((queue.heap[0][0] for queue in queues if queue.heap), default=None)
