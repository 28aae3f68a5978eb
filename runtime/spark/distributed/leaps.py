"""A leap over more EVERY instants than a run may answer without a row, found where no single process has seen all rows.

Tasks tell in which spans of time their rows lie (`row_spans`). The driver puts them together, works out which instants the next
micro-batch would make due, as every cell does, and ends the run before anybody answers them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.pull.instant_leaps import leap_error
from cqc.runtime.spark.distributed.stages.cell import set_clocks
from cqc.runtime.spark.rows.row_spans import put_together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.spark.distributed.messages.spec import Header
    from cqc.runtime.spark.rows.row_spans import Span


@dataclass(slots=True)
class LeapState:
    """What is known between two micro-batches."""

    spans: dict[str, list[Span]] = field(default_factory=dict)
    next_instants: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def from_json(data: dict[str, Any]) -> LeapState:
        spans = {name: [(*each,) for each in some] for name, some in data["spans"].items()}
        return LeapState(spans, dict(data["next_instants"]))


class Leaps:
    """The driver's part.

    Args:
        engine: which has all queries and no tuples.
        most: instants of a query, one after the other without a row.
    """

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._most = most
        self.state = LeapState()

    def resume(self, state: LeapState) -> None:
        """Go on from a state."""
        self.state = state
        self._engine.resume_instants(state.next_instants)

    def note(self, stream: str, spans: list[Span], gap_us: int) -> None:
        """Rows of a stream were read."""
        before = self.state.spans.get(stream, [])
        self.state.spans[stream] = put_together([*before, *spans], gap_us)

    def check(self, header: Header) -> None:
        """See what cells will answer when they have seen a header.

        Raises:
            RunError: when a query would answer about too long a time without a row.
        """
        set_clocks(self._engine, header)
        if header.ended:
            for name in header.clocks:
                self._engine.lines[name].clock.watermark_us = ALL_SEEN
        for due in self._engine.take_due():
            self._check(due)
        self.state.next_instants = self._engine.next_instants()

    def _check(self, due: Due) -> None:
        if (due.last_us - due.first_us) // due.every_us + 1 <= self._most:
            return
        query = self._engine.pull_query(due.name)
        spans = [span for name in query.lines for span in self.state.spans.get(name, [])]
        from_us, until_us, row = _longest_gap(due, spans)
        if (until_us - from_us - 1) // due.every_us > self._most:
            raise leap_error(due, (from_us, until_us), row, query.time_type, self._most)


def _longest_gap(due: Due, spans: list[Span]) -> tuple[int, int, str]:
    """The longest time without a row among the instants that are due, and the row that came after it."""
    reached_us, end_us = due.first_us - due.every_us, due.last_us + due.every_us
    gaps = []
    for first_us, last_us, words in put_together(spans, 0):
        if first_us > reached_us and reached_us < due.last_us:
            gaps.append((reached_us, min(first_us, end_us), words))
        reached_us = max(reached_us, last_us)
    if reached_us < due.last_us:
        gaps.append((reached_us, end_us, "a row that is no longer kept"))
    none = (reached_us, reached_us, "")
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=none)


def known_before(clocks: Mapping[str, tuple[int | None, int | None]]) -> LeapState:
    """For a checkpoint that tells nothing of this: time is taken to be full of rows as far as the streams have come."""
    return LeapState(
        {
            name: [(first_us, last_us, "")]
            for name, (first_us, last_us) in clocks.items()
            if first_us is not None and last_us is not None
        }
    )
