"""What must be remembered of an engine so that another one can go on: the retained base tuples, counters and clocks.

Indexes, join results and histories are derived from the tuples, and are made again by giving the tuples to a new engine: each
query is registered at the same place among them, and what they find is thrown away, because it was delivered before.

This is the one file beside the engine's own that knows its insides.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN, watermarks_after_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.state.shared_state import SharedState


@dataclass(frozen=True, slots=True)
class LineState:
    """How far one stream has come."""

    read: int
    late: int
    rejected: int
    reasons: dict[str, int]
    arrivals: int
    first_us: int | None
    largest_us: int | None
    watermark_us: int
    aside: str = ""  # rows that wait because they are far ahead (`ahead.py`)
    company: list[int] = field(default_factory=list)  # that each of them had


@dataclass(frozen=True, slots=True)
class QueryState:
    """A query that runs: its text, how many tuples of each stream had come when it was registered, what it found."""

    name: str
    text: str
    since: dict[str, int]
    results: int = 0


@dataclass(frozen=True, slots=True)
class EngineState:
    """Everything but the tuples; `queries` in the order of their registration."""

    lines: dict[str, LineState]
    queries: list[QueryState]
    results_of_gone: dict[str, int] = field(default_factory=dict)
    next_instants: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> EngineState:
        return EngineState(
            {name: LineState(**line) for name, line in data["lines"].items()},
            [QueryState(**query) for query in data["queries"]],
            data["results_of_gone"],
            data["next_instants"],
        )


def save(engine: Engine, queries: Sequence[QueryState]) -> EngineState:
    """The state of an engine, except for its tuples.

    Args:
        engine: between two micro-batches.
        queries: the queries that run, with the places of their registration.
    """
    return EngineState(
        line_states(engine),
        [
            QueryState(each.name, each.text, each.since, engine._results(each.name))
            for each in queries
        ],
        dict(engine._results_of_gone),
        engine._pulls.next_instants(),
    )


def without_gone(state: EngineState, wanted: Mapping[str, str]) -> EngineState:
    """A state without the queries that are not wanted under their name and with their text."""
    kept = [query for query in state.queries if same_text(wanted.get(query.name, ""), query.text)]
    left = {query.name for query in kept}
    gone = Counter(state.results_of_gone)
    gone.update({query.name: query.results for query in state.queries if query.name not in left})
    return replace(state, queries=kept, results_of_gone=dict(gone))


def line_states(engine: Engine) -> dict[str, LineState]:
    """How far every stream has come, by folded name."""
    lines = {name: line for name, line in engine._lines.items() if _is_stream(line)}
    after_end = watermarks_after_end(
        {name: (line.latest_us, line.relation.delay_us) for name, line in lines.items()},
        settled=bool(engine._circuit.row_joins),
    )
    return {name: _line_state(line, after_end[name]) for name, line in lines.items()}


def set_lines(engine: Engine, states: Mapping[str, LineState]) -> None:
    """Let the streams that an engine knows stand where others stood."""
    for name, state in states.items():
        if name in engine._lines:
            _set_line(engine._lines[name], state)


def stream_states(engine: Engine) -> dict[str, SharedState]:
    """The base tuples of every stream, by folded name."""
    return {
        name: state for name, state in engine._states.items() if _is_stream(engine._lines[name])
    }


def arrivals(engine: Engine) -> dict[str, int]:
    """How many tuples of each stream have come, by folded name: the place at which a query is registered."""
    return {name: line.arrivals for name, line in engine._lines.items() if _is_stream(line)}


def restore(engine: Engine, state: EngineState, tuples: Mapping[str, Packet]) -> None:
    """Bring a new engine, whose tables are filled, to a state.

    Args:
        engine: with any queries; those of the state take their place.
        state: what `save` gave.
        tuples: the retained tuples of each stream, in the order of their positions.

    Raises:
        CompileError: when a query of the state does not fit the program.
    """
    for name in engine.queries:
        engine.unregister(name)
    engine._results_of_gone.clear()
    left = dict(tuples)
    for query in state.queries:
        give(engine, left, query.since)
        engine.register(query.text, query.name)
    give(engine, left, None)
    set_lines(engine, state.lines)
    engine._started = True
    if engine._circuit.row_joins:
        engine._late_findings()  # what the watermark had completed was delivered
    engine._pulls.resume(state.next_instants)
    engine._waiting.clear()
    _set_counts(engine, state)


def give(engine: Engine, left: dict[str, Packet], until: Mapping[str, int] | None) -> None:
    """Push the tuples that had arrived before some numbers (None: all), and forget what they find."""
    for name, packet in left.items():
        count = len(packet)
        if until is not None:
            count = int(np.searchsorted(packet.arrival, until.get(name, 0)))
        if count:
            engine._process(name, packet.take(np.arange(count)))
            left[name] = packet.take(np.arange(count, len(packet)))


def _set_line(line: StreamInput, state: LineState) -> None:
    line.count.read, line.count.late = state.read, state.late
    line.count.rejected, line.count.reasons = state.rejected, Counter(state.reasons)
    line._arrivals = state.arrivals
    line.clock.first_us, line.clock.largest_us = state.first_us, state.largest_us
    line.clock.watermark_us = state.watermark_us
    line.restore_aside(state.aside, state.company)


def _set_counts(engine: Engine, state: EngineState) -> None:
    engine._results_of_gone.update(state.results_of_gone)
    for query in state.queries:
        pull = engine._pulls._queries.get(query.name)
        if pull is not None:
            pull.results = query.results
        else:
            engine._counted_from[query.name] += engine._results(query.name) - query.results


def _line_state(line: StreamInput, after_end_us: int) -> LineState:
    """How far a stream has come; the end of its input is a watermark only until more of it is found."""
    count, clock = line.count, line.clock
    return LineState(
        count.read,
        count.late,
        count.rejected,
        dict(count.reasons),
        line.arrivals,
        clock.first_us,
        clock.largest_us,
        after_end_us if clock.watermark_us == ALL_SEEN else clock.watermark_us,
        *line.saved_aside(),
    )


def _is_stream(line: StreamInput) -> bool:
    return line.relation.is_stream


def same_text(left: str, right: str) -> bool:
    """Whether two query texts say the same, white space aside."""
    return left.split() == right.split()
