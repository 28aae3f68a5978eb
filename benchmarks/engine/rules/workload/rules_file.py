"""The rules as data in a file: what peers read instead of text in cq. It needs nothing that is slow to import."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cqc.benchmarks.engine.rules.workload.rules import Atom, Group, Rule
from cqc.benchmarks.engine.rules.workload.sequence_rules import Sequence

if TYPE_CHECKING:
    from pathlib import Path


def read_rules(folder: Path) -> list[Rule]:
    """The rules as they were written."""
    return [_rule(each) for each in json.loads((folder / "rules.json").read_text())]


def _rule(told: dict[str, Any]) -> Rule:
    return Rule(told["name"], told["stream"], tuple(map(_group, told["groups"])))


def _group(told: dict[str, Any]) -> Group:
    atoms = tuple(Atom(each["column"], each["kind"], each["text"]) for each in told["atoms"])
    return Group(atoms, told["every"], told["negated"], told["is_true"])


def read_sequences(folder: Path) -> list[Sequence]:
    """The sequence rules as they were written."""
    found = []
    for told in json.loads((folder / "sequences.json").read_text()):
        steps = tuple((stream, Atom(**atom)) for stream, atom in told["steps"])
        found.append(Sequence(told["name"], steps, told["window_s"], told["by_guid"]))
    return found
