"""Makes sequence rules, sixty-one of them over ten streams, and the stretch of time that they are sought in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.events import Column, Events
from cqc.benchmarks.engine.rules.workload.rules import Atom
from cqc.benchmarks.engine.rules.workload.sequence_rules import Sequence
from cqc.benchmarks.engine.rules.workload.streams import BY_NAME
from cqc.benchmarks.engine.rules.workload.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

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
