"""What another engine needs to go on: one value, of plain data and columns.

`Engine.snapshot` makes it, `Engine.restore` takes it; checkpoints, executors and the service hold nothing else of an engine.
Indexes, join results and histories are not in it: they are made again by giving the tuples to a new engine. Each query is
registered at the same place among them, and what they find is thrown away, because it was delivered before.

A run that takes a snapshot after every micro-batch says which tuples it has, and is given the rest:

    first = engine.snapshot()                                    # everything
    engine.push(...)
    second = engine.snapshot(since=first.ends)                   # the tuples that have come since
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.runtime.intake.stream_input import StreamState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.state.shared_state import SharedState


@record
class QueryState:
    """A query that runs: its text, how many tuples of each stream had come when it was registered, what it found."""

    name: str
    text: str
    since: Mapping[str, int]
    results: int = 0


@record
class EngineState:
    """Everything but the tuples; `lines` by folded stream name, `queries` in the order of their registration."""

    lines: dict[str, StreamState] = field(default_factory=dict)
    queries: list[QueryState] = field(default_factory=list)
    results_of_gone: dict[str, int] = field(default_factory=dict)
    next_instants: dict[str, int] = field(default_factory=dict)
    decided: list[dict[str, Any]] = field(default_factory=list)  # what queries hold whose rows wait
    # How many tuples of each stream had come when an input ended: what was missing then was delivered, and gets no partner.
    ends: list[dict[str, int]] = field(default_factory=list)
    key_times: dict[str, list[str]] = field(default_factory=dict)  # of EXISTS over a whole past
    alerts: list[dict[str, Any]] = field(default_factory=list)  # what is known of their keys

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> EngineState:
        return EngineState(
            {name: StreamState(**line) for name, line in data["lines"].items()},
            [QueryState(**query) for query in data["queries"]],
            data["results_of_gone"],
            data["next_instants"],
            data.get("decided", []),
            data.get("ends", []),
            data.get("key_times", {}),
            data.get("alerts", []),
        )

    def without_gone(self, wanted: Mapping[str, str]) -> EngineState:
        """The same without the queries that are not wanted under their name and with their text."""
        kept = [each for each in self.queries if same_text(wanted.get(each.name, ""), each.text)]
        left = {query.name for query in kept}
        gone = Counter(self.results_of_gone)
        gone.update({each.name: each.results for each in self.queries if each.name not in left})
        return replace(self, queries=kept, results_of_gone=dict(gone))


@record
class StreamTuples:
    """Tuples of one stream that are kept, from position `start` on; `first` is the oldest position that is kept."""

    first: int
    start: int
    packet: Packet

    @staticmethod
    def of(state: SharedState, since: int) -> StreamTuples:
        """Those of a state from a position on."""
        start = max(state.first, since)
        return StreamTuples(state.first, start, state.packet(start))

    @property
    def end(self) -> int:
        """The position of the next tuple."""
        return self.start + len(self.packet)


@record
class Snapshot:
    """An engine between two micro-batches."""

    state: EngineState
    tuples: dict[str, StreamTuples] = field(default_factory=dict)  # by folded stream name

    @property
    def ends(self) -> dict[str, int]:
        """Where the tuples of each stream end: what to ask for the changes since."""
        return {name: each.end for name, each in self.tuples.items()}


def same_text(left: str, right: str) -> bool:
    """Whether two query texts say the same, white space aside."""
    return left.split() == right.split()
