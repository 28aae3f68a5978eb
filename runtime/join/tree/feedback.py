"""What the joins of a tree tell their inputs not to send, and when to resume (JIT, sections III-V of the paper).

A consumer's demand is what its opposite state holds. It is asked before a producer makes anything, so that not even the first
useless result comes into being. What is asked for is the lattice of the candidate sub-tuples, from small to large:

- a row of one input of the producer (a tuple, or the combination that a join below made): a `Gate` before that input. Rows
  that the gate of a tuple holds are in no combination, so what a gate further up holds is minimal;
- a pair that spans both inputs (Type II): a `PairGates` mark within the producer's join, where it has two inputs.

Each gate sits at the lowest input that has its columns: what a consumer does not ask for is stopped there, and everything in
between has nothing to pass on. Where rows are not asked for because a selection or a table refuses them they are forgotten.

Two rows must not wait for each other: (a, b) for (c, d) and c for (a, b) would never be made, although the paper's protocol
does just that. So a row waits for states to its right, or for those of single items, and these wait only for what is
further up; a pair waits for base tuples, whether they wait themselves or not. So most of (a, b), (c, d) and (e, f) are never made.
"""

from __future__ import annotations

from collections import defaultdict
from time import perf_counter
from typing import TYPE_CHECKING

from cqc.runtime.adapt import settings
from cqc.runtime.join.tree.feedback_trials import Trials
from cqc.runtime.join.tree.row_gate import Gate
from cqc.runtime.join.tree.tree_node import columns_between
from cqc.runtime.metrics.parts import EdgeMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.join.tree.tree_node import Edge, Node
    from cqc.runtime.join.tree.tree_state import TreeState


class Feedback:
    """All gates of one tree; `mode` is exact (presence by index), bloom (by filter) or auto (exact where it pays)."""

    def __init__(
        self,
        root: Node,
        edges: list[Edge],
        mode: str,
        is_static: Callable[[Node], bool],
        names: Sequence[str],
    ) -> None:
        """Place the gates, before there are rows; `names` of the items are for people."""
        self._names = names
        self._nodes = root.all_nodes()
        self._mode = mode
        self._seconds: defaultdict[object, float] = defaultdict(float)  # that each gate took
        self._trials = Trials(self._nodes, self._seconds) if mode == "auto" else None
        for node in self._nodes:
            if not is_static(node):
                self._place_gates(node, edges, is_static)
                self._place_pair_gates(node, edges)

    def hold(self, node: Node, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Park the new rows that nobody asks for; the others."""
        for gate in node.gates:
            if gate.is_on and len(rows):
                started = perf_counter()
                rows = gate.hold(rows)
                self._seconds[gate] += perf_counter() - started
        return rows

    def join(self, node: Node, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Join active rows of a node with what is beside it; the rows made in its parent."""
        assert node.way is not None
        started = perf_counter()
        made = node.way.join(rows)
        node.seconds += perf_counter() - started
        node.joined += len(rows)
        return made

    def arrived(
        self, leaf: Node, rows: NDArray[np.int64]
    ) -> Iterator[tuple[Node, NDArray[np.int64]]]:
        """Pairs that waited for tuples like these: the join that made them now, and their rows."""
        for node, gate in leaf.asked_by:
            way, pairs = node.children[0].way, node.pairs
            assert way is not None
            assert pairs is not None
            if pairs.is_silent[gate]:
                continue
            started = perf_counter()
            made = way.resume(gate, rows)
            self._seconds[node, gate] += perf_counter() - started
            if len(made):
                yield node, made

    def activated(
        self, node: Node, rows: NDArray[np.int64]
    ) -> Iterator[tuple[Node, NDArray[np.int64]]]:
        """Rows that waited for rows like these."""
        for gate, waiter in node.watchers:
            if gate.is_on or gate.waiting:
                started = perf_counter()
                resumed = gate.resume(rows)
                self._seconds[gate] += perf_counter() - started
                if len(resumed):
                    yield waiter, resumed

    def purged(self, leaf: Node, before_us: int, clock: int) -> None:
        """Tuples of a leaf that are older went, after everything that came up to `clock`."""
        for node, gate in leaf.asked_by:
            assert node.pairs is not None
            node.pairs.purged(gate, before_us, clock)

    def judge(self, rows: int, clock: int) -> None:
        """So many rows came and everything is joined: the moment to switch gates that do not pay."""
        if self._trials is not None:
            self._trials.note(rows, clock)

    def edges(self) -> Iterator[EdgeMetrics]:
        """What was suspended and resumed on each edge."""
        for node in self._nodes:
            for gate in node.gates:
                name = f"{self._label(node.state)} for {self._label(gate.awaited)}"
                yield EdgeMetrics(name, gate.parked, gate.resumed, gate.waiting)
            pairs = node.pairs
            for number, leaf in enumerate(pairs.leaves if pairs else ()):
                assert pairs is not None
                name = f"pairs {self._label(node.state)} for {self._label(leaf)}"
                yield EdgeMetrics(name, pairs.held[number], pairs.resumed[number])

    def decisions(self, about: str) -> Iterator[Decision]:
        """Which gates hold rows back, where that is measured."""
        if self._trials is None:
            return
        for node in self._nodes:
            rows = self._label(node.state)
            for gate in node.gates:
                yield self._trials.decision(about, gate, rows, self._label(gate.awaited))
            for number, leaf in enumerate(node.pairs.leaves if node.pairs else ()):
                pairs = f"pairs of {rows}"
                yield self._trials.decision(about, (node, number), pairs, self._label(leaf))

    def _label(self, state: TreeState) -> str:
        return " x ".join(self._names[item] for item in state.items)

    def _place_gates(
        self, node: Node, edges: list[Edge], is_static: Callable[[Node], bool]
    ) -> None:
        """Rows of a node wait for the sides that the results of the joins above it must meet."""
        producer = node.parent
        while producer is not None and producer.parent is not None:
            for awaited in producer.siblings:
                if awaited.children and awaited.place < producer.place:
                    continue
                own, there = columns_between(edges, node.state.items, awaited.state.items)
                gate = Gate(
                    node.state, own, awaited.state, there,
                    bloom=self._mode == "bloom", permanent=is_static(awaited),
                )  # fmt: skip
                node.gates.append(gate)
                awaited.watchers.append((gate, node))
            producer = producer.parent

    def _place_pair_gates(self, node: Node, edges: list[Edge]) -> None:
        """Pairs of a join wait for tuples further up that compare with both; the nearest first."""
        above: Node = node
        if node.pairs is not None:
            left, right = (child.state.items for child in node.children)
            _, joined = columns_between(edges, left, right)
        while node.pairs is not None and above.parent is not None:
            for leaf in [leaf for beside in above.siblings for leaf in beside.leaves()]:
                own, there = columns_between(edges, node.state.items, leaf.state.items)
                sides = {item in left for item, _ in own}
                if len(sides) == 2 and len(node.pairs) < settings.GATE_MOST_PAIRS:
                    leaf.asked_by.append((node, len(node.pairs)))
                    node.pairs.add(leaf.state, own, there, joined)
            above = above.parent
