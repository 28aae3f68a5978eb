"""Counters, clocks and the query set at one point in a service's life, as JSON.

What concerns the engine is in its snapshot, as in the checkpoints of runs; the tuples are not taken from it, because the journal
has them as they came. What a service adds is who registered which query, and under which number.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cqc.runtime.engine.snapshot import EngineState, QueryState, Snapshot
from cqc.runtime.errors import RunError
from cqc.runtime.intake.stream_input import StreamState
from cqc.runtime.serve.registry import NOWHERE, Entry, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.serve.registry import Registry

Marks = dict[str, Any]


def make_marks(engine: Engine, registry: Registry) -> Marks:
    """Describe where everything stands now, as JSON can hold it."""
    state = engine.snapshot(since=engine.heads()).state
    return {
        "declared": _declared(engine),
        "queries": [entry_json(entry) for entry in registry],
        "next_query": registry.next_number,
        "streams": {name: asdict(each) for name, each in state.lines.items()},
        "instants": state.next_instants,
        "decided": state.decided,
        "alerts": state.alerts,
    }


def check_declarations(engine: Engine, marks: Marks, folder: Path) -> None:
    """The tuples of a checkpoint fit only the streams and tables that they were made with.

    Raises:
        RunError: when one of those has gone or has other columns now.
    """
    declared = _declared(engine)
    for name, columns in marks["declared"].items():
        if declared.get(name) != columns:
            raise RunError(f"the checkpoint {folder} was made with another declaration of {name}")


def restore_marks(
    engine: Engine, registry: Registry, marks: Marks, wanted: Mapping[int, str]
) -> None:
    """Bring an engine that has only tables to where the marks say, with the wanted queries (and why they were stopped)."""
    entries = [entry_from_json(each) for each in marks["queries"] if each["number"] in wanted]
    state = EngineState(
        {name: StreamState(**each) for name, each in marks["streams"].items()},
        [QueryState(each.name, each.text, {}) for each in entries if not wanted[each.number]],
        next_instants=marks["instants"],
        decided=marks.get("decided", []),
        alerts=marks.get("alerts", []),
    )
    engine.restore(Snapshot(state))
    for entry in entries:
        _add_entry(engine, registry, entry, wanted[entry.number])
    registry.next_number = marks["next_query"]


def restore_query(
    engine: Engine, registry: Registry, entry: Entry, wanted: Mapping[int, str]
) -> None:
    """Start a query that was registered before; one that was stopped later is not started."""
    if not wanted[entry.number]:
        engine.register(entry.text, name=entry.name)
    _add_entry(engine, registry, entry, wanted[entry.number])


def _add_entry(engine: Engine, registry: Registry, entry: Entry, stopped: str) -> None:
    entry.stopped, entry.gone = stopped, bool(stopped)
    if stopped:
        engine.reserve(entry.name)
    registry.add(entry, NOWHERE if stopped else place_of(engine.node(entry.name)))


def entry_json(entry: Entry) -> dict[str, Any]:
    """A registered query as JSON."""
    return {
        "number": entry.number,
        "name": entry.name,
        "text": entry.text,
        "owner": entry.owner,
        "created": entry.created,
        "kind": entry.kind,
        "columns": entry.columns,
        "results": entry.results,
        "invocations": entry.invocations,
        "by_client": entry.by_client,
        "stopped": entry.stopped,
    }


def entry_from_json(given: dict[str, Any]) -> Entry:
    """The entry that `entry_json` wrote."""
    columns = tuple((name, type_) for name, type_ in given["columns"])
    return Entry(**{**given, "columns": columns})


def _declared(engine: Engine) -> dict[str, list[list[str]]]:
    return {
        name: [[column.name, column.type.value] for column in line.relation.columns]
        for name, line in engine.lines.items()
    }
