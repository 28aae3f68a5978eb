"""Everything that an engine counts, taken at one moment: what came in, what is kept, what operators did, what went out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.intake.stream_input import StreamCount
    from cqc.runtime.metrics.operators import OperatorMetrics


@record
class StateMetrics:
    """The tuples of a stream or table that are kept."""

    name: str
    tuples: int
    bytes: int  # of them and of everything derived from them
    taken: int  # tuples that were ever stored


@record
class PacketMetrics:
    """How the micro-batches of a stream were cut."""

    name: str
    packets: int
    tuples: int
    threshold: int  # how many tuples make a packet now
    decision: Decision | None = None


@record
class DeliveryMetrics:
    """What one query got, and what it took."""

    query: str
    results: int
    seconds: float  # of work that was measured for it alone
    kept_bytes: int  # beside the tuples of its streams


@record
class EngineMetrics:
    """All of it."""

    streams: Mapping[str, StreamCount]
    states: tuple[StateMetrics, ...]
    packets: tuple[PacketMetrics, ...]
    operators: tuple[OperatorMetrics, ...]
    failed_evaluations: int

    @property
    def decisions(self) -> Iterator[Decision]:
        """What was decided while it ran, from the way in to the kept results."""
        for packets in self.packets:
            if packets.decision is not None:
                yield packets.decision
        for operator in self.operators:
            yield from operator.decisions
