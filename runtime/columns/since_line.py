"""A stream as somebody sees it who came later: the first and the latest event time since then."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.event_time import StreamClock
    from cqc.runtime.intake.stream_input import StreamInput


class SinceLine:
    """Follows the clock of a stream from now on; its watermark is that of the stream."""

    def __init__(self, line: StreamInput) -> None:
        self.relation: Relation = line.relation
        self.clock: StreamClock = line.clock
        self.first_us: int | None = None
        self.latest_us: int | None = None
        self.clock.followers.append(self)

    def observe(self, least_us: int, largest_us: int) -> None:
        """Tuples have come."""
        self.first_us = least_us if self.first_us is None else min(self.first_us, least_us)
        self.latest_us = largest_us if self.latest_us is None else max(self.latest_us, largest_us)

    def close(self) -> None:
        """Follow no longer."""
        self.clock.followers.remove(self)
