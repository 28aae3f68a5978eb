"""The shape of rules and events in numbers: what was published about real ones, and what ours have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.rules import FOLDED, listed
from cqc.benchmarks.engine.rules.workload.streams import PACKET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cqc.benchmarks.engine.rules.workload.events import Column, Events
    from cqc.benchmarks.engine.rules.workload.rules import Rule

WITHIN = 0.2
_RULES, _COMPARISONS = 2_822, 41_519


@dataclass(frozen=True)
class Figure:
    """One number of a shape, beside the published one. `room` is what rounding may add at small sizes."""

    name: str
    real: float
    ours: float
    room: float = 0.0

    @property
    def fits(self) -> bool:
        """Within a fifth of the published one."""
        return abs(self.ours - self.real) <= WITHIN * abs(self.real) + self.room


def rule_figures(rules: Sequence[Rule]) -> list[Figure]:
    """Sizes, kinds, columns, NOT groups and lists."""
    return [*_size_figures(rules), *_kind_figures(rules), *_share_figures(rules)]


def _size_figures(rules: Sequence[Rule]) -> Iterator[Figure]:
    counts = np.array([len(rule.atoms()) for rule in rules])
    yield Figure("comparisons a rule", _COMPARISONS / _RULES, float(counts.mean()))
    for share, real in ((50, 5), (90, 22), (99, 108)):
        yield Figure(
            f"comparisons, {share}th percentile", real, float(np.percentile(counts, share))
        )
    yield Figure("comparisons, the largest rule", 4_432 * len(rules) / _RULES if len(rules) < 2_000 else 4_432, float(counts.max()))  # fmt: skip
    lengths = [len(atom.text) for rule in rules for atom in rule.atoms() if atom.text]
    yield Figure("letters of a literal, median", 11, float(np.median(lengths)))
    yield Figure("letters of a literal, 90th percentile", 44, float(np.percentile(lengths, 90)))
    known = {(rule.stream, atom) for rule in rules for atom in rule.atoms()}
    yield Figure("distinct comparisons", 30_392 / _COMPARISONS, len(known) / float(counts.sum()))


def _kind_figures(rules: Sequence[Rule]) -> Iterator[Figure]:
    kinds: dict[str, int] = {}
    for rule in rules:
        for atom in rule.atoms():
            kinds[atom.kind] = kinds.get(atom.kind, 0) + 1
    total = sum(kinds.values())
    text = sum(kinds.get(kind, 0) for kind in FOLDED)
    yield Figure("text patterns without case", 0.98, text / total)
    real = {"contains": 0.62, "ends": 0.20, "whole": 0.08, "starts": 0.07, "pattern": 0.03}
    for kind, share in real.items():
        yield Figure(f"of them {kind}", share, kinds.get(kind, 0) / text)
    small = 1.5 / total  # one comparison more or less
    yield Figure("numbers", 664 / _COMPARISONS, kinds.get("equal", 0) / total, small)
    yield Figure("regular expressions", 188 / _COMPARISONS, kinds.get("regex", 0) / total, small)
    yield Figure("NULL tests", 85 / _COMPARISONS, kinds.get("null", 0) / total, small)


def _share_figures(rules: Sequence[Rule]) -> Iterator[Figure]:
    count = len(rules)
    small = 1.5 / count
    yield Figure("rules with NOT groups", 708 / _RULES, _share(rules, lambda rule: any(group.negated for group in rule.groups)))  # fmt: skip
    yield Figure("rules with IN lists", 448 / _RULES, _share(rules, lambda rule: any(map(listed, rule.groups))))  # fmt: skip
    beyond = _share(rules, lambda rule: not all(atom.text.isascii() for atom in rule.atoms()))
    yield Figure("rules with letters beyond ASCII", 117 / _RULES, beyond, small)
    for stream, real in (("process_creation", 1_414), ("registry", 278), ("file", 246), ("powershell", 212)):  # fmt: skip
        ours = sum(rule.stream == stream for rule in rules) / count
        yield Figure(f"rules over {stream}", real / _RULES, ours, small)
    columns: dict[str, int] = {}
    for rule in rules:
        for atom in rule.atoms():
            columns[atom.column] = columns.get(atom.column, 0) + 1
    total = sum(columns.values())
    for column, real in _BY_COLUMN.items():
        yield Figure(
            f"comparisons of {column}", real / _COMPARISONS, columns.get(column, 0) / total
        )


def _share(rules: Sequence[Rule], holds: object) -> float:
    assert callable(holds)
    return sum(bool(holds(rule)) for rule in rules) / len(rules)


_BY_COLUMN = {
    "command_line": 14_093, "hashes": 5_779, "image": 4_941, "destination_ip": 2_027, "target_filename": 1_623,
    "script_text": 1_322, "image_loaded": 1_222, "target_object": 1_125, "parent_image": 868,
}  # fmt: skip
_EVENTS = {
    "process_access": 223_340, "registry": 162_210, "security": 104_952, "image_load": 57_274, "powershell_classic": 40_784,
    "powershell": 37_935, "file": 8_393, "sysmon, network, winlog": 11_095, "process_creation": 2_377,
}  # fmt: skip
_MEGABYTES = {
    "process_access": 203, "registry": 55, "security": 41, "image_load": 42, "powershell_classic": 5, "powershell": 212,
    "file": 3, "sysmon, network, winlog": 3, "process_creation": 2,
}  # fmt: skip
_WIDTHS = {
    "process_access": 12, "registry": 11, "security": 89, "image_load": 17, "powershell_classic": 6, "powershell": 9,
    "file": 16, "process_creation": 22,
}  # fmt: skip
# By stream and column: distinct overall, in a packet, length median and 99th percentile, share present; 0 where not told.
_TEXT = {
    ("process_access", "call_trace"): (0.012, 0.036, 572, 1047, 0),
    ("process_access", "source_image"): (0.0006, 0.003, 35, 0, 0),
    ("process_access", "target_image"): (0.0016, 0.008, 31, 0, 0),
    ("registry", "target_object"): (0.22, 0.29, 76, 332, 0),
    ("registry", "image"): (0.0014, 0.004, 31, 0, 0),
    ("security", "object_name"): (0.015, 0, 0, 0, 0.23),
    ("image_load", "hashes"): (0.06, 0.11, 195, 0, 0),
    ("powershell", "context"): (0.99, 0.91, 5674, 5772, 0),
    ("powershell", "payload"): (0.056, 0.08, 122, 17_284, 0),
    ("powershell", "script_text"): (0, 0, 1031, 19_473, 0.02),
    ("file", "target_filename"): (0.5, 0.5, 93, 202, 0),
    ("winlog", "message"): (0.57, 0, 135, 714, 0),
    ("process_creation", "command_line"): (0.31, 0.3, 55, 5144, 0),
}


def event_figures(
    events: Mapping[str, Events], json_bytes: Mapping[str, int], scale: float
) -> list[Figure]:
    """Events, bytes and columns by stream; how text repeats and how long it is."""
    found = []
    for stream, real in _EVENTS.items():
        ours = sum(len(events[name]) for name in stream.split(", "))
        found.append(Figure(f"{stream}: events", real * scale, ours, 1))
        size = sum(json_bytes[name] for name in stream.split(", ")) / 1e6
        found.append(Figure(f"{stream}: MB of JSON", _MEGABYTES[stream] * scale, size))
    for stream, width in _WIDTHS.items():
        found.append(Figure(f"{stream}: columns", width, len(events[stream].columns) + 1))
    for (stream, column), told in _TEXT.items():
        found += _text_figures(f"{stream}.{column}", events[stream].columns[column], told, scale)
    return found


def _text_figures(
    name: str, column: Column, told: tuple[float, float, int, int, float], scale: float
) -> Iterator[Figure]:
    overall, packet, median, last, present = told
    there = column.codes[column.codes >= 0]
    one = 1 / max(1, len(there))
    if overall:
        yield Figure(f"{name}: distinct", overall, len(np.unique(there)) * one, one)
    if packet:
        size = max(20, round(PACKET * min(1.0, scale)))
        yield Figure(f"{name}: distinct in a packet", packet, _in_packets(column, size), 0.6 / size)
    lengths = np.array([len(value) for value in column.values])[there]
    if median:
        yield Figure(f"{name}: length, median", median, float(np.median(lengths)))
    if last:
        yield Figure(f"{name}: length, 99th percentile", last, float(np.percentile(lengths, 99)))
    if present:
        yield Figure(f"{name}: present", present, len(there) / len(column.codes))


def _in_packets(column: Column, size: int) -> float:
    """Distinct values by rows, in full packets, or in the one there is."""
    size = min(size, len(column.codes))
    parts = [column.codes[at : at + size] for at in range(0, len(column.codes) - size + 1, size)]
    return float(np.mean([len(np.unique(part[part >= 0])) / size for part in parts]))


def hit_figures(hits: Mapping[str, int], rules: int, scale: float) -> list[Figure]:
    """How many rules fire, and how often."""
    counts: Iterable[int] = [count for count in hits.values() if count]
    return [
        Figure("rules that fire", 276 / _RULES, len(list(counts)) / rules),
        Figure("hits", 9_193 * scale, sum(counts)),
        Figure("hits of the noisiest rule", 2_404 * scale, max(counts, default=0)),
    ]
