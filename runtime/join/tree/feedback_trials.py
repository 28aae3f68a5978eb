"""Which gates are worth it: what each saves and costs is measured, and a gate that loses is switched off for a while.

A gate saves the work that the rows it holds back would have made: joining them, and everything that their results would have
joined further up. It costs the asking, the parking and the resuming. Both are taken from the clock, over stretches of a few
thousand tuples. A gate that was switched off gets another trial later, the next one after twice as long: data change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.decision import Decision, counted

if TYPE_CHECKING:
    from collections import defaultdict

    from cqc.runtime.join.tree.row_gate import Gate
    from cqc.runtime.join.tree.tree_node import Node


class Record:
    """A gate's figures at the last look, and whether it is on."""

    def __init__(self) -> None:
        self.held = 0
        self.resumed = 0
        self.asked = 0
        self.controller: Controller[bool] = Controller(settings.GATE, True)
        self._lost_s = 0.0  # at looks in a row

    def has_lost(self, cost_s: float, saved_s: float, asked: int) -> bool:
        """Whether to give up, after one more look: a stretch that only the machine made slow does not decide it."""
        lost = asked >= self.controller.rule.enough and cost_s > saved_s
        self._lost_s = self._lost_s + cost_s - saved_s if lost else 0.0
        if not self.controller.loses(lost=lost):
            return False
        self.controller.arm = False
        self.controller.budget.tried(self._lost_s)
        self._lost_s = 0.0
        return True

    def is_due(self, worked_s: float) -> bool:
        """Whether to switch the gate on again, after so much work without it."""
        self.controller.budget.worked(worked_s)
        self.controller.arm = self.controller.is_rested()
        return self.controller.arm


class Trials:
    """The records of all gates of a tree; `seconds` is what each took, by gate, or node and number for those of pairs."""

    def __init__(self, nodes: list[Node], seconds: defaultdict[object, float]) -> None:
        self._nodes = nodes
        self._seconds = seconds
        self._records: dict[object, Record] = {}
        self._rows = 0
        self._worked_s = 0.0  # since the last look
        self._counted_s = 0.0  # of the nodes, when they were last looked at

    def note(self, rows: int, clock: int) -> None:
        """So many tuples more; from time to time look at every gate."""
        self._rows += rows
        if self._rows < settings.GATE_LOOK_TUPLES:
            return
        self._rows = 0
        self._worked_s = sum(node.seconds for node in self._nodes) - self._counted_s
        for node in self._nodes:
            for gate in node.gates:
                self._look_at_gate(node, gate)
            for number in range(len(node.pairs) if node.pairs else 0):
                self._look_at_pairs(node, number, clock)
        for node in self._nodes:
            node.seconds /= 2
            node.joined //= 2
        self._counted_s = sum(node.seconds for node in self._nodes)
        self._seconds.clear()

    def decision(self, about: str, gate: object, rows: str, awaited: str) -> Decision:
        """Whether a gate is on, and how often it was tried."""
        record = self._records.get(gate)
        what = f"{rows} that no {awaited} asks for"
        if record is None or record.controller.arm:
            does = f"holds back {what}"
        else:
            does = f"does not hold back {what}, which cost more than it saved"
        if record is None:
            return Decision(about, does)
        given_up = record.controller.returns
        return Decision(
            about, does, note=f"given up {counted(given_up, 'time')}" if given_up else ""
        )

    def _look_at_gate(self, node: Node, gate: Gate) -> None:
        record = self._records.setdefault(gate, Record())
        held, resumed = gate.parked - record.held, gate.resumed - record.resumed
        asked = gate.checked - record.asked
        record.held, record.resumed, record.asked = gate.parked, gate.resumed, gate.checked
        if gate.is_on:
            saved = (held - resumed) * self._row_seconds(node)
            if record.has_lost(self._seconds[gate], saved, asked):
                gate.switch(is_on=False)
        elif record.is_due(self._worked_s):
            gate.switch(is_on=True)

    def _look_at_pairs(self, node: Node, number: int, clock: int) -> None:
        pairs = node.pairs
        assert pairs is not None
        record = self._records.setdefault((node, number), Record())
        held, resumed = pairs.held[number] - record.held, pairs.resumed[number] - record.resumed
        asked = held + node.made - record.asked
        record.held, record.resumed, record.asked = (
            pairs.held[number],
            pairs.resumed[number],
            node.made,
        )
        if pairs.is_on[number]:
            saved = (held - resumed) * (settings.GATE_WRITE_S + self._row_seconds(node))
            cost = self._seconds[node, number] + asked * settings.GATE_ASK_S
            if record.has_lost(cost, saved, asked):
                pairs.switch(number, clock, is_on=False)
        elif pairs.is_silent[number]:
            if record.is_due(self._worked_s):
                pairs.switch(number, clock, is_on=True)
        else:
            pairs.drain(number)

    def _row_seconds(self, node: Node) -> float:
        """What an active row of the node costs, with what its results cost further up."""
        parent = node.parent
        if parent is None:
            return 0.0
        if node.joined < settings.GATE.enough:
            return settings.GATE_UNKNOWN_S
        through = sum(child.joined for child in parent.children)
        further = parent.joined / max(1, through) * self._row_seconds(parent)
        return node.seconds / node.joined + further
