"""One node of a join tree: a state of rows, and how its rows meet the state of the node beside it.

A leaf holds the tuples of one item, an inner node the results of its two children. A `Step` is everything the join kernel
needs to carry rows from a child to its parent, made when the slots change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.operators.rank_lineage import interval_sets
from cqc.runtime.operators.tree_kernels import join_states
from cqc.runtime.operators.tree_pairs import PairGates, resume_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.operators.join_slots import Slot
    from cqc.runtime.operators.tree_gate import Gate
    from cqc.runtime.operators.tree_state import KeyColumn, TreeState

Edge = tuple["KeyColumn", "KeyColumn"]  # an equality between key columns of two items


class Node:
    """A leaf (no children) or a join of two nodes."""

    def __init__(self, state: TreeState, children: tuple[Node, ...]) -> None:
        self.state = state
        self.children = children
        self.parent: Node | None = None
        self.gates: list[Gate] = []  # that this node's rows must pass
        self.watchers: list[tuple[Gate, Node]] = []  # gates that wait for this node's rows
        # Gates for the pairs that this node joins; and, of a leaf, the joins whose pairs wait for its rows.
        self.pairs = PairGates(*(child.state for child in children)) if children else None
        self.asked_by: list[tuple[Node, int]] = []
        self.step: Step | None = None  # to the parent
        self.made = 0  # rows that came into being here
        self.candidates = 0
        self.joined = 0  # rows that met what is beside, and how long that took
        self.seconds = 0.0
        for child in children:
            child.parent = self

    def leaves(self) -> list[Node]:
        """The leaves below, from left to right."""
        return [leaf for child in self.children for leaf in child.leaves()] or [self]

    @property
    def sibling(self) -> Node:
        assert self.parent is not None
        left, right = self.parent.children
        return right if self is left else left

    @property
    def is_left(self) -> bool:
        return self.parent is not None and self.parent.children[0] is self

    def all_nodes(self) -> list[Node]:
        """This node and everything below, children first."""
        return [each for child in self.children for each in child.all_nodes()] + [self]


class Step:
    """How active rows of a node join with the active rows of its sibling, into their parent's state."""

    def __init__(
        self,
        node: Node,
        edges: Sequence[Edge],
        slots: Sequence[Slot],
        words: int,
        *,
        nested_loops: bool,
    ) -> None:
        """`nested_loops`: compare with every row there, as the papers do, instead of asking an index."""
        assert node.parent is not None
        assert node.parent.pairs is not None
        self._scans = nested_loops
        self._gates = node.parent.pairs
        self._sources = self._gates.sources(from_left=node.is_left)
        self._held = np.zeros(len(self._gates), np.int64)
        self._own, self._there, self._out = node.state, node.sibling.state, node.parent.state
        self._parent = node.parent
        own, there = columns_between(edges, self._own.items, self._there.items)
        self._columns = self._own.columns(own)
        columns_there = self._there.columns(there)
        self._index = self._there.add_index(columns_there)
        self._columns_there = self._there.index_columns(self._index)
        self._places = _places(self._own.items, self._out.items)
        self._places_there = _places(self._there.items, self._out.items)
        self._key_source = np.array(
            [self._source(each) for each in self._out.key_columns], np.int64
        )
        self._prepare_windows(slots, words)

    def join(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Append what the rows find to the parent's state; the numbers of the new rows there."""
        out = self._out
        found, candidates = self._call(rows)
        if out.count + found > out.room:
            out.reserve(found)
            found, candidates = self._call(rows)
        self._parent.candidates += candidates
        for gate, count in enumerate(self._held):
            self._gates.held[gate] += int(count)
        return self._taken(found)

    def resume(self, gate: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Append the pairs that a gate held for want of these rows of its leaf; from the left node only."""
        fresh, absent_since = self._gates.note(gate, rows)
        if not len(fresh) or not self._own.count or not self._there.count:
            return fresh[:0]
        found = self._resume(gate, fresh, absent_since)
        if self._out.count + found > self._out.room:
            self._out.reserve(found)
            found = self._resume(gate, fresh, absent_since)
        self._gates.resumed[gate] += found
        return self._taken(found)

    def _taken(self, found: int) -> NDArray[np.int64]:
        begin = self._out.count
        self._out.count += found
        return np.arange(begin, self._out.count)

    def _call(self, rows: NDArray[np.int64]) -> tuple[int, int]:
        own, there, out, gates = self._own, self._there, self._out, self._gates
        return join_states(  # type: ignore[no-any-return]  # a numba kernel
            rows, own.positions, own.ts, own.lineage, own.keys, self._columns,
            there.positions, there.ts, there.lineage, there.keys, self._columns_there,
            there.heads[self._index], there.following, self._index, there.shift, there.dead,
            there.where, there.count - 1 if self._scans else -1, *self._pairs, *self._windows,
            *self._sources, gates.codes, gates.newest, gates.shift, gates.dead_us, gates.is_on, self._held,
            out.positions, out.ts, out.lineage, out.keys, out.count, self._places, self._places_there, self._key_source,
        )  # fmt: skip

    def _resume(self, gate: int, rows: NDArray[np.int64], absent_since: NDArray[np.int64]) -> int:
        own, there, out, gates = self._own, self._there, self._out, self._gates
        left_index, right_index = gates.indexes[gate]
        return resume_pairs(  # type: ignore[no-any-return, call-arg]  # a numba kernel
            rows, absent_since, gate, gates.leaves[gate].keys, *gates.resume_arguments(gate),
            own.positions, own.ts, own.lineage, own.keys, own.since, own.dead, own.heads, own.following, left_index, own.shift,
            self._columns, there.positions, there.ts, there.lineage, there.keys, there.since, there.dead,
            self._columns_there, there.heads, there.following, right_index, there.shift,
            *self._pairs, *self._windows,
            *self._sources, gates.codes, gates.newest, gates.shift, gates.dead_us,
            gates.log_clock, gates.log_dead_us, gates.logged, gates.on_from, gates.on_until,
            out.positions, out.ts, out.lineage, out.keys, out.count, self._places, self._places_there, self._key_source,
        )  # fmt: skip

    def _source(self, column: KeyColumn) -> int:
        if column in self._own.key_columns:
            return self._own.key_columns.index(column)
        return -1 - self._there.key_columns.index(column)

    def _prepare_windows(self, slots: Sequence[Slot], words: int) -> None:
        numbers = [slot.number for slot in slots]
        here, there, starts = [], [], [0]
        cuts, sets = [np.zeros(0, np.int64)], [np.zeros((0, words), np.uint64)]
        for place, item in enumerate(self._own.items):
            for place_there, other in enumerate(self._there.items):
                high = [slot.most_us[item, other] for slot in slots]
                low = [-slot.most_us[other, item] for slot in slots]
                window = interval_sets(numbers, low, high, words)
                here.append(place)
                there.append(place_there)
                starts.append(starts[-1] + len(window.cuts))
                cuts.append(window.cuts)
                sets.append(window.sets)
        self._pairs = (np.array(here, np.int64), np.array(there, np.int64))
        self._windows = (np.array(starts, np.int64), np.concatenate(cuts), np.concatenate(sets))


def key_columns_above(items: Sequence[int], edges: Sequence[Edge]) -> list[KeyColumn]:
    """The key columns of the items that are compared with items outside."""
    inside = set(items)
    wanted: dict[KeyColumn, None] = {}
    for left, right in edges:
        if (left[0] in inside) != (right[0] in inside):
            wanted[left if left[0] in inside else right] = None
    return list(wanted)


def columns_between(
    edges: Sequence[Edge], own: Sequence[int], there: Sequence[int]
) -> tuple[list[KeyColumn], list[KeyColumn]]:
    """The key columns on either side of the equalities between two sets of items."""
    first, second = [], []
    for left, right in edges:
        if left[0] in own and right[0] in there:
            first.append(left)
            second.append(right)
        elif left[0] in there and right[0] in own:
            first.append(right)
            second.append(left)
    return first, second


def _places(items: Sequence[int], among: Sequence[int]) -> NDArray[np.int64]:
    return np.array([among.index(item) for item in items], np.int64)
