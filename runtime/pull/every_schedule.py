"""Which periodic queries are due, and for which instants.

A query with EVERY d is due at every multiple of d, from the first one at or after the first event time seen on its streams,
as soon as the watermark of its streams is greater. Queries over the same streams have one queue in the order of their next
instants, so thousands of queries that are not due cost nothing.

    EVERY 10, first event time 17: instants 20, 30, ...; a watermark of 31 makes 20 and 30 due, one of 30 only 20

A window that ends after its instant (END NOW + 5, or a fixed END) is asked for when the watermark has passed its end too:
before that its value would depend on how the input was cut into micro-batches. When the input has ended, the instants up to
the last event time are due. A query starts when the watermark has passed the first event time: only then no earlier one can
come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sortedcontainers import SortedList

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.event_time import NOTHING_SEEN, smallest_watermark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from cqc.runtime.pull.pull_query import AnyLine
    from cqc.runtime.pull.pull_window import Edge


@record
class Due:
    """A query, and its instants that are due: first, first + every, ... up to and including last."""

    name: str
    first_us: int
    last_us: int
    every_us: int


@dataclass(slots=True)
class Period:
    """When one query is asked for."""

    every_us: int
    last: Edge  # of its window
    kept_from_us: int | None  # for a query that came late: nothing older is left
    next_us: int | None = None  # None until it starts

    def ready_us(self, instant_us: int) -> int:
        """The watermark must be greater than this before an instant is asked for."""
        return max(instant_us, self.last.at(instant_us))

    def last_due_us(self, watermark_us: int, latest_us: int) -> int:
        """No later instant is due."""
        behind_us = max(self.last.offset_us, 0) if self.last.from_now else 0
        return min(watermark_us - 1 - behind_us, latest_us)


@dataclass(slots=True)
class Queue:
    """The periodic queries over one set of streams."""

    lines: Sequence[AnyLine]
    periods: dict[str, Period] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)  # not started
    # When ready, instant, query: one entry a query, so that one that leaves or goes on early leaves nothing behind.
    order: SortedList[tuple[int, int, str]] = field(default_factory=SortedList)
    _oldest_us: int | None = None

    def due(self, among: Callable[[str], bool] | None = None) -> Iterator[Due]:
        """The queries that are due (of those that are meant); they are considered delivered."""
        watermark_us = smallest_watermark(line.clock for line in self.lines)
        seen = [line.latest_us for line in self.lines if line.latest_us is not None]
        if not seen:
            return
        self._start(watermark_us)
        latest_us = max(seen)
        ready = list(self.order.irange(maximum=(watermark_us,), inclusive=(True, False)))
        for _, next_us, name in ready:
            if among is not None and not among(name):
                continue
            period = self.periods.get(name)
            if period is None or period.next_us != next_us:
                continue  # it left, or went on, while others were answered
            last_us = period.last_due_us(watermark_us, latest_us)
            if next_us > last_us:
                continue  # after the end of the input
            last_us -= (last_us - next_us) % period.every_us
            self.plan(name, last_us + period.every_us)
            yield Due(name, next_us, last_us, period.every_us)

    def plan(self, name: str, next_us: int) -> None:
        """Let a query go on with this instant."""
        period = self.periods[name]
        self._leave(name, period)
        period.next_us = next_us
        self._oldest_us = None
        self.order.add((period.ready_us(next_us), next_us, name))

    def forget(self, name: str) -> None:
        """A query leaves."""
        self._leave(name, self.periods.pop(name))
        self._oldest_us = None

    def _leave(self, name: str, period: Period) -> None:
        if period.next_us is not None:
            self.order.discard((period.ready_us(period.next_us), period.next_us, name))

    def oldest_us(self) -> int | None:
        """The earliest instant that is still to come."""
        if self._oldest_us is None:
            nexts = [period.next_us for period in self.periods.values()]
            self._oldest_us = min((each for each in nexts if each is not None), default=None)
        return self._oldest_us

    def _start(self, watermark_us: int) -> None:
        if not self.waiting:
            return
        first_us = min(line.first_us for line in self.lines if line.first_us is not None)
        if watermark_us <= first_us:
            return
        for name in self.waiting:
            period = self.periods.get(name)
            if period is not None and period.next_us is None:
                from_us = max(
                    first_us, first_us if period.kept_from_us is None else period.kept_from_us
                )
                self.plan(name, -(-from_us // period.every_us) * period.every_us)
        self.waiting.clear()


class Schedule:
    """All periodic queries, by the streams they are over."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, ...], Queue] = {}
        self._streams: dict[str, tuple[str, ...]] = {}  # by query name

    def __len__(self) -> int:
        return len(self._streams)

    def add(
        self, name: str, period: Period, lines: Mapping[str, AnyLine], *, alone: bool = False
    ) -> None:
        """A query over these streams (by folded name) comes; `alone`: it sees them as nobody else does."""
        key = (*sorted(lines), *([f"\0{name}"] if alone else []))
        self._streams[name] = key
        queue = self._queues.setdefault(key, Queue(list(lines.values())))
        queue.periods[name] = period
        queue.waiting.append(name)

    def remove(self, name: str) -> None:
        """A query leaves."""
        key = self._streams.pop(name)
        queue = self._queues[key]
        queue.forget(name)
        if not queue.periods:
            del self._queues[key]

    def due(self, among: Callable[[str], bool] | None = None) -> Iterator[Due]:
        """Every query that is due, with its instants; each instant is given once."""
        for queue in list(self._queues.values()):
            yield from queue.due(among)

    def next_instants(self) -> dict[str, int]:
        """The next instant of each query that has started: what a checkpoint must remember of a schedule."""
        return {
            name: period.next_us
            for queue in self._queues.values()
            for name, period in queue.periods.items()
            if period.next_us is not None
        }

    def resume(self, next_instants: Mapping[str, int]) -> None:
        """Go on from where a checkpoint was made."""
        for name, next_us in next_instants.items():
            if name in self._streams:
                self._queues[self._streams[name]].plan(name, next_us)

    def oldest_due_us(self, streams: Collection[str]) -> int | None:
        """The earliest instant for which some query over the streams is still to be asked; None when there is none.

        `NOTHING_SEEN` while some query has not started: then any instant may come.
        """
        if not self._queues:
            return None
        queues = [
            queue for key, queue in self._queues.items() if any(name in key for name in streams)
        ]
        if any(queue.waiting for queue in queues):
            return NOTHING_SEEN
        oldest = [queue.oldest_us() for queue in queues]
        return min((each for each in oldest if each is not None), default=None)
