"""Which gates are worth it: what each saves and costs is measured, and a gate that loses is switched off for a while.

A gate saves the work that the rows it holds back would have made: joining them, and everything that their results would have
joined further up. It costs the asking, the parking and the resuming. Both are taken from the clock, over stretches of a few
thousand tuples. A gate that was switched off gets another trial later, the next one after twice as long: data change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import defaultdict

    from cqc.runtime.join.tree.row_gate import Gate
    from cqc.runtime.join.tree.tree_node import Node

TRIAL_ROWS = 2_000  # tuples from one look to the next
_FIRST_PAUSE, _LONGEST_PAUSE = 8, 128  # looks that a gate stays off
_LOSSES = 3  # that switch a gate off
_FEW = 64
_UNKNOWN_S = 1e-6  # a row's way up, where too few went it to be measured
_WRITE_S, _ASK_S = 1e-7, 2e-8  # to write a pair, to ask for one


@dataclass(slots=True)
class Record:
    """A gate's figures at the last look, and how long it stays off."""

    held: int = 0
    resumed: int = 0
    asked: int = 0
    pause: int = 0
    left: int = 0  # looks until the next trial
    losses: int = 0  # looks in a row at which it cost more than it saved

    def has_lost(self, *, lost: bool) -> bool:
        """Whether to give up, after one more look: a stretch that only the machine made slow does not decide it."""
        self.losses = self.losses + 1 if lost else 0
        if self.losses < _LOSSES:
            return False
        self.losses, self.left = 0, self.pause
        self.pause = min(2 * self.pause, _LONGEST_PAUSE)
        return True


class Trials:
    """The records of all gates of a tree; `seconds` is what each took, by gate, or node and number for those of pairs."""

    def __init__(self, nodes: list[Node], seconds: defaultdict[object, float]) -> None:
        self._nodes = nodes
        self._seconds = seconds
        self._records: dict[object, Record] = {}
        self._rows = 0

    def note(self, rows: int, clock: int) -> None:
        """So many tuples more; from time to time look at every gate."""
        self._rows += rows
        if self._rows < TRIAL_ROWS:
            return
        self._rows = 0
        for node in self._nodes:
            for gate in node.gates:
                self._look_at_gate(node, gate)
            for number in range(len(node.pairs) if node.pairs else 0):
                self._look_at_pairs(node, number, clock)
        for node in self._nodes:
            node.seconds /= 2
            node.joined //= 2
        self._seconds.clear()

    def _look_at_gate(self, node: Node, gate: Gate) -> None:
        record = self._records.setdefault(gate, Record(pause=_FIRST_PAUSE))
        held, resumed = gate.parked - record.held, gate.resumed - record.resumed
        asked = gate.checked - record.asked
        record.held, record.resumed, record.asked = gate.parked, gate.resumed, gate.checked
        if gate.is_on:
            saved = (held - resumed) * self._row_seconds(node)
            if record.has_lost(lost=asked >= _FEW and self._seconds[gate] > saved):
                gate.switch(is_on=False)
        elif self._is_due(record):
            gate.switch(is_on=True)

    def _look_at_pairs(self, node: Node, number: int, clock: int) -> None:
        pairs = node.pairs
        assert pairs is not None
        record = self._records.setdefault((node, number), Record(pause=_FIRST_PAUSE))
        held, resumed = pairs.held[number] - record.held, pairs.resumed[number] - record.resumed
        asked = held + node.made - record.asked
        record.held, record.resumed, record.asked = (
            pairs.held[number],
            pairs.resumed[number],
            node.made,
        )
        if pairs.is_on[number]:
            saved = (held - resumed) * (_WRITE_S + self._row_seconds(node))
            cost = self._seconds[node, number] + asked * _ASK_S
            if record.has_lost(lost=asked >= _FEW and cost > saved):
                pairs.switch(number, clock, is_on=False)
        elif pairs.is_silent[number]:
            if self._is_due(record):
                pairs.switch(number, clock, is_on=True)
        else:
            pairs.drain(number)

    def _is_due(self, record: Record) -> bool:
        record.left -= 1
        return record.left <= 0

    def _row_seconds(self, node: Node) -> float:
        """What an active row of the node costs, with what its results cost further up."""
        parent = node.parent
        if parent is None:
            return 0.0
        if node.joined < _FEW:
            return _UNKNOWN_S
        through = sum(child.joined for child in parent.children)
        further = parent.joined / max(1, through) * self._row_seconds(parent)
        return node.seconds / node.joined + further
