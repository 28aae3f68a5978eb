"""What a peer writes: the rows that each rule found, as JSON lines of the form that `cqc run` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cqc.benchmarks.engine.rules.workload.rules import Rule


class Found:
    """A file of results."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  closed at the end of the process's work

    def add(self, rule: str, rows: Iterable[Sequence[Any]]) -> None:
        """Rows of one rule: event time, then host and number of the record."""
        for ts, host, record in rows:
            row = {"host": host, "record_id": record}
            self._file.write(json.dumps({"query": rule, "ts": str(ts), "row": row}) + "\n")

    def close(self) -> None:
        """Everything is out."""
        self._file.close()


def needed_columns(rules: Iterable[Rule]) -> dict[str, dict[str, bool]]:
    """By stream the columns that rules read; whether it is read as it is, and not only in small letters."""
    needed: dict[str, dict[str, bool]] = {}
    for rule in rules:
        columns = needed.setdefault(rule.stream, {})
        for atom in rule.atoms():
            as_it_is = atom.kind in ("equal", "regex", "null")
            columns[atom.column] = columns.get(atom.column, False) or as_it_is
    return needed


def by_stream(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """The rules of each stream."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.stream, []).append(rule)
    return found
