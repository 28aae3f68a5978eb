"""Events that some of the rules are meant for.

A tenth of the rules fire, most of them a few times and one of them thousands of times. Rows are drawn for each such rule, and
get values that fulfil its groups; `Rule.matches` says for every row whether they do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.benchmarks.engine.rules.workload.events import Column, Events
    from cqc.benchmarks.engine.rules.workload.rules import Atom, Rule

_FIRING, _HITS, _NOISIEST = 276 / 2_822, 9_193, 2_404
_MOST_OF_A_STREAM = 5  # at most one row in so many is planted
_KNOWN = 60  # so many values of a column are tried before a new one is made
# Of the published rules that fire, some fire because they look for what another one looks for: ours too.
_ON_PURPOSE, _HITS_ON_PURPOSE = 0.83, 0.84


def plant(rules: Sequence[Rule], events: Mapping[str, Events], seed: int, scale: float) -> None:
    """Let a tenth of the rules fire, by changing some rows."""
    _Planter(events, seed).plant(list(rules), wanted_hits(len(rules), scale))


def wanted_hits(rules: int, scale: float) -> list[int]:
    """How often each rule that fires is to do so, the noisiest first."""
    total = _HITS_ON_PURPOSE * _HITS * scale
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
        self._keepers: dict[tuple[str, str], _Keeper] = {}
        self._free = {
            name: np.random.default_rng(seed).permutation(len(each)).tolist()[: len(each) // _MOST_OF_A_STREAM]
            for name, each in events.items()
        }  # fmt: skip

    def plant(self, rules: list[Rule], hits: Sequence[int]) -> None:
        self._words.chance.shuffle(rules)
        for count in hits:
            for rule in list(rules):
                if len(self._free[rule.stream]) >= 2 * count and self._has_room(rule, count):
                    rules.remove(rule)  # one that cannot be made to fire now never will
                    if self._planted(rule, count):
                        break

    def _has_room(self, rule: Rule, count: int) -> bool:
        return all(self._keeper(rule, atom.column).room >= count for atom in rule.atoms())

    def _planted(self, rule: Rule, count: int) -> bool:
        """Whether rows that match could be made; rows that turn out not to match are given back."""
        stream = self._events[rule.stream]
        free = self._free[rule.stream]
        values = self._values(rule)
        columns = {atom.column: stream.columns[atom.column] for atom in rule.atoms()}
        keepers = {name: self._keeper(rule, name) for name in values}
        if not all(keepers[name].takes(value) for name, value in values.items()):
            return False
        fitting: list[int] = []
        others: list[int] = []
        while free and len(fitting) < count and len(others) < count + 5:
            row = free.pop()
            tuple_ = {name: _value(column, row) for name, column in columns.items()} | values
            (fitting if rule.matches(tuple_) else others).append(row)
        free += others
        if len(fitting) < count:
            free += fitting
            return False
        for name, value in values.items():
            keepers[name].put(fitting, value)
        return True

    def _keeper(self, rule: Rule, name: str) -> _Keeper:
        place = (rule.stream, name)
        if place not in self._keepers:
            self._keepers[place] = _Keeper(self._events[rule.stream].columns[name])
        return self._keepers[place]

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
        if any(atom.kind == "null" for atom in atoms):
            return None
        for known in column.values[:_KNOWN]:
            if all(atom.holds(known) for atom in atoms):
                return known
        drawn = self._words.chance.sample(column.values, min(2, len(column.values)))
        value = min(drawn, key=len)[:6000]
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


class _Keeper:
    """Changes a column without changing its shape: as many distinct values as before, and NULL as often."""

    def __init__(self, column: Column) -> None:
        self._column = column
        counts = np.bincount(column.codes[column.codes >= 0], minlength=1)
        rare_first = np.argsort(counts, kind="stable")
        used = rare_first[counts[rare_first] > 0].tolist()
        lengths = {code: len(column.values[code]) for code in used}
        ordinary = 2 * np.median(list(lengths.values()) or [0])
        # Values that new ones may take the place of; not the few long ones.
        self._spare = [code for code in used if lengths[code] <= ordinary][: len(used) // 2]
        self._kept = sorted(set(used) - set(self._spare), key=lambda code: lengths[code])
        self.room = int(counts.sum()) // (2 * _MOST_OF_A_STREAM)

    def takes(self, value: str | None) -> bool:
        """Whether rows may have the value."""
        known = value is None or value in self._column.values[:_KNOWN]
        return known or bool(self._spare)

    def put(self, rows: Sequence[int], value: str | None) -> None:
        """Give the rows the value; a new one takes the place of a rare one, whose rows get one of its length."""
        codes, values = self._column.codes, self._column.values
        self.room -= len(rows)
        if value is None:
            codes[rows] = -1
        elif value in values[:_KNOWN]:
            codes[rows] = values.index(value)
        else:
            spare = self._spare.pop(0)
            length = len(values[spare])
            at = bisect_left(self._kept, length, key=lambda code: len(values[code]))
            codes[codes == spare] = self._kept[min(at, len(self._kept) - 1)]
            codes[rows] = len(values)
            values.append(value)


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
