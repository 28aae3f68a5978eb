"""Sequence rules: A, then B, then C on the same host and in the same process, within seconds or minutes.

Sixty-one of them over ten streams. Each step is a condition on one column; the steps are joined by host and process number, or
by the process's GUID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.events import Column, Events
from cqc.benchmarks.engine.rules.workload.rules import Atom, like_of, quoted
from cqc.benchmarks.engine.rules.workload.streams import BY_NAME
from cqc.benchmarks.engine.rules.workload.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cqc.benchmarks.engine.rules.workload.rules import Kind

RULES, TUPLES = 61, 457_404
_WINDOWS_S = (1, 5, 10, 30, 60, 120, 300, 600)
# Where steps look: stream, column, kind. The first value that fits is drawn from the column's frequent ones.
_STEPS: tuple[tuple[str, str, Kind], ...] = (
    ("process_access", "source_image", "ends"),
    ("process_access", "target_image", "ends"),
    ("process_access", "call_trace", "contains"),
    ("registry", "target_object", "contains"),
    ("registry", "image", "ends"),
    ("security", "process_name", "ends"),
    ("security", "event_id", "equal"),
    ("image_load", "image_loaded", "ends"),
    ("image_load", "image", "ends"),
    ("powershell", "payload", "contains"),
    ("file", "target_filename", "contains"),
    ("network", "destination_port", "equal"),
    ("sysmon", "query_name", "contains"),
    ("process_creation", "command_line", "contains"),
    ("process_creation", "image", "ends"),
)  # fmt: skip
_GUID = {
    "process_access",
    "registry",
    "image_load",
    "file",
    "network",
    "sysmon",
    "process_creation",
}
STREAMS = tuple(dict.fromkeys(stream for stream, _, _ in _STEPS))


@dataclass(frozen=True)
class Sequence:
    """Steps in the order of time, each after the one before, all within the window."""

    name: str
    steps: tuple[tuple[str, Atom], ...]
    window_s: int
    by_guid: bool


def make_sequences(seed: int, events: Mapping[str, Events], count: int = RULES) -> list[Sequence]:
    """So many sequence rules, of two to four steps."""
    words = Words(seed + 3)
    found = []
    for number in range(count):
        length = words.chance.choices((2, 3, 4), (0.72, 0.22, 0.06))[0]
        steps = tuple(_step(words, events, first=at == 0) for at in range(length))
        shared = all(stream in _GUID for stream, _ in steps)
        by_guid = shared and words.chance.random() < 0.4
        window = words.chance.choice(_WINDOWS_S if length == 2 else _WINDOWS_S[:5])
        found.append(Sequence(f"sequence_{number:02d}", steps, window, by_guid))
    return found


def _step(words: Words, events: Mapping[str, Events], *, first: bool) -> tuple[str, Atom]:
    stream, column, kind = words.chance.choice(_STEPS)
    values = events[stream].columns[column].values
    value = values[int(min(len(values), 60) * words.chance.random() ** (1.0 if first else 1.5))]
    if kind == "contains":
        middle = len(value) // 2
        value = value[middle : middle + 6 + words.number(9)]
    elif kind == "ends":
        value = value[value.rfind("\\") :]
    return stream, Atom(column, kind, value)


def beginning(events: Mapping[str, Events]) -> dict[str, Events]:
    """The part of the ten streams that sequences are sought in: the same stretch of time of each."""
    share = TUPLES / sum(BY_NAME[name].events for name in STREAMS)
    return {name: _part(events[name], round(share * len(events[name]))) for name in STREAMS}


def _part(events: Events, rows: int) -> Events:
    columns = {
        name: Column(each.codes[:rows], each.values) for name, each in events.columns.items()
    }
    return Events(events.name, np.asarray(events.ts_us[:rows]), columns)


def cq_program(sequences: Iterable[Sequence]) -> str:
    """The sequence rules as queries."""
    return "\n".join(f"CREATE QUERY {each.name} AS {_cq(each)};" for each in sequences) + "\n"


def _cq(sequence: Sequence) -> str:
    aliases = "abcd"[: len(sequence.steps)]
    items = ", ".join(f"{stream} {alias}" for alias, (stream, _) in zip(aliases, sequence.steps, strict=True))  # fmt: skip
    conditions = [_condition(alias, atom) for alias, (_, atom) in zip(aliases, sequence.steps, strict=True)]  # fmt: skip
    later = list(zip(aliases, aliases[1:], strict=False))
    for one, two in later:
        conditions += [f"{one}.{key} = {two}.{key}" for key in keys(sequence)]
    order = " AND ".join(f"{two}.ts > {one}.ts" for one, two in later)
    outputs = ", ".join(f"{alias}.record_id AS {alias}_id" for alias in aliases)
    return (
        f"SELECT a.host, {outputs} FROM {items} WHERE {' AND '.join(conditions)} "
        f"WINDOW {order} MAXWINDOW {sequence.window_s} SEC"
    )


def keys(sequence: Sequence) -> tuple[str, ...]:
    """The columns that all steps have in common."""
    return ("process_guid",) if sequence.by_guid else ("host", "process_id")


def _condition(alias: str, atom: Atom) -> str:
    if atom.kind == "equal":
        return f"{alias}.{atom.column} = {quoted(atom.text)}"
    return f"{alias}.{atom.column} ILIKE {quoted(like_of(atom))}"
