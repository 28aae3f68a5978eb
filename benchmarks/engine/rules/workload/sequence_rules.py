"""Sequence rules: A, then B, then C on the same host and in the same process, within seconds or minutes.

Each step is a condition on one column; the steps are joined by host and process number, or by the process's GUID.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cqc.benchmarks.engine.rules.workload.rules import Atom, like_of, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Sequence:
    """Steps in the order of time, each after the one before, all within the window."""

    name: str
    steps: tuple[tuple[str, Atom], ...]
    window_s: int
    by_guid: bool


def cq_program(sequences: Iterable[Sequence]) -> str:
    """The sequence rules as queries."""
    return "\n".join(f"CREATE QUERY {each.name} AS {_cq(each)};" for each in sequences) + "\n"


def _cq(sequence: Sequence) -> str:
    aliases = "abcd"[: len(sequence.steps)]
    items = ", ".join(f"{stream} {alias}" for alias, (stream, _) in zip(aliases, sequence.steps, strict=True))  # fmt: skip
    conditions = [_condition(alias, atom) for alias, (_, atom) in zip(aliases, sequence.steps, strict=True)]  # fmt: skip
    later = list(pairwise(aliases))
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
