"""Imported rules on the engine: which events each one finds."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sigma.collection import SigmaCollection

import cqc
from cqc.importers.sigma.backend import CqcBackend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

START = datetime(2024, 1, 1, tzinfo=UTC)
LOGSOURCE = {"product": "test", "category": "events"}


def as_column(value: Any) -> str | None:
    """A value as JSON rows give it to a text column."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def convert(rules: Sequence[Mapping[str, Any]], **options: Any) -> str:
    """The program of some rules, given as their YAML says."""
    collection = SigmaCollection.from_dicts([json.loads(json.dumps(rule)) for rule in rules])
    return "\n".join(CqcBackend(**options).convert(collection))


def found(
    program: str, events: Sequence[tuple[float, Mapping[str, Any]]], stream: str = "test_events"
) -> dict[str, list[tuple[float, dict[str, Any]]]]:
    """What each query delivers for events of one stream, as seconds and row."""
    results = defaultdict(list)
    with cqc.Engine(cqc.compile(program)) as engine:
        for at in range(0, len(events), 7):
            rows = [
                {"ts": START + timedelta(seconds=time)}
                | {name: as_column(value) for name, value in event.items()}
                for time, event in events[at : at + 7]
            ]
            engine.push(stream, rows)
        engine.finish()
        for result in engine.drain():
            assert isinstance(result.ts, datetime)
            results[result.query].append(((result.ts - START).total_seconds(), result.row))
    return results
