"""Events that some of the rules are meant for.

A tenth of the rules fire, most of them a few times and one of them thousands of times. Rows are drawn for each such rule, and
get values that fulfil its groups; `Rule.matches` says for every row whether they do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.benchmarks.engine.rules.workload.events import Column, Events
    from cqc.benchmarks.engine.rules.workload.rules import Atom, Rule

_FIRING, _HITS, _NOISIEST = 276 / 2_822, 9_193, 2_404
_MOST_OF_A_STREAM = 5  # at most one row in so many is planted
# Of the published rules that fire, some fire because they look for what another one looks for: ours too.
_ON_PURPOSE = 0.88


def plant(rules: Sequence[Rule], events: Mapping[str, Events], seed: int, scale: float) -> None:
    """Let a tenth of the rules fire, by changing some rows."""
    _Planter(events, seed).plant(list(rules), wanted_hits(len(rules), scale))


def wanted_hits(rules: int, scale: float) -> list[int]:
    """How often each rule that fires is to do so, the noisiest first."""
    total = _ON_PURPOSE * _HITS * scale
    firing = max(1, min(round(_ON_PURPOSE * _FIRING * rules), round(total / 2)))
    ranks = np.arange(1, firing + 1)
    low, high = 0.1, 6.0
    for _ in range(40):
        middle = (low + high) / 2
        hits = np.maximum(1, _NOISIEST * scale / ranks**middle)
        low, high = (middle, high) if hits.sum() > total else (low, middle)
    return [int(each) for each in np.maximum(1, np.round(_NOISIEST * scale / ranks**high))]


class _Planter:
    def __init__(self, events: Mapping[str, Events], seed: int) -> None:
        self._events = events
        self._words = Words(seed + 2)
        self._free = {
            name: np.random.default_rng(seed).permutation(len(each)).tolist()[: len(each) // _MOST_OF_A_STREAM]
            for name, each in events.items()
        }  # fmt: skip

    def plant(self, rules: list[Rule], hits: Sequence[int]) -> None:
        self._words.chance.shuffle(rules)
        for count in hits:
            for at, rule in enumerate(rules):
                if len(self._free[rule.stream]) >= 2 * count and self._planted(rule, count):
                    del rules[at]
                    break

    def _planted(self, rule: Rule, count: int) -> bool:
        """Whether rows that match could be made; rows that turn out not to match are given back."""
        stream = self._events[rule.stream]
        free = self._free[rule.stream]
        values = self._values(rule)
        columns = {atom.column: stream.columns[atom.column] for atom in rule.atoms()}
        fitting, others = [], []
        while free and len(fitting) < count and len(others) < count + 5:
            row = free.pop()
            tuple_ = {name: _value(column, row) for name, column in columns.items()} | values
            (fitting if rule.matches(tuple_) else others).append(row)
        free += others
        if len(fitting) < count:
            free += fitting
            return False
        for name, value in values.items():
            column = columns[name]
            code = -1
            if value is not None:
                code = len(column.values)
                column.values.append(value)
            column.codes[fitting] = code
        return True

    def _values(self, rule: Rule) -> dict[str, str | None]:
        """For each column that a group is about, a value that fulfils it."""
        wanted: dict[str, list[Atom]] = {}
        for group in rule.groups:
            if not group.negated:
                chosen = group.atoms if group.every else (self._words.chance.choice(group.atoms),)
                for atom in chosen:
                    wanted.setdefault(atom.column, []).append(atom)
        stream = self._events[rule.stream]
        return {
            name: self._value_for(stream.columns[name], atoms) for name, atoms in wanted.items()
        }

    def _value_for(self, column: Column, atoms: Sequence[Atom]) -> str | None:
        value = self._words.one_of(column.values[: max(1, len(column.values) // 3)])[:6000]
        if any(atom.kind == "null" for atom in atoms):
            return None
        order = ("whole", "equal", "contains", "regex", "pattern", "starts", "ends")
        for atom in sorted(atoms, key=lambda each: order.index(each.kind)):
            text = _sample(atom)
            match atom.kind:
                case "whole" | "equal":
                    value = text
                case "starts":
                    value = text + value
                case "ends":
                    value += text
                case "pattern" if not atom.text.startswith("%"):
                    value = text
                case _:
                    middle = len(value) // 2
                    value = value[:middle] + text + value[middle:]
        return value


def _sample(atom: Atom) -> str:
    """Text that fulfils the comparison where it stands."""
    if atom.kind == "pattern":
        return atom.text.strip("%").replace("%", " ").replace("_", "x")
    if atom.kind == "regex":
        plain = re.sub(r"\[0-9\]\{2,4\}", "417", atom.text)
        return plain.replace(r"(\s|$)", " ").replace(r"\.", ".")
    return atom.text


def _value(column: Column, row: int) -> str | None:
    code = int(column.codes[row])
    return None if code < 0 else column.values[code]
