"""One node of a join tree: a state of rows, and how its rows meet the states of the nodes beside it.

A leaf holds the tuples of one item, an inner node the results of its children. A `Step` is everything the join kernel needs
to join rows of one state with another state into a third, made when the slots change. The `Way` of a node leads to its parent:
one step where a single node is beside it. In a node of three inputs or more, rows of one input meet the others one after the
other, as in the flat join; what is made in between is forgotten at once.

    (A B C) over D: a new a meets B, what that makes meets C, and only (a, b, c) is kept
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.join.tree.pair_gate import PairGates, resume_pairs
from cqc.runtime.join.tree.tree_kernels import join_states
from cqc.runtime.join.tree.tree_state import TreeState
from cqc.runtime.lineage.rank_lineage import interval_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.membership.slots import Slot
    from cqc.runtime.join.tree.row_gate import Gate
    from cqc.runtime.join.tree.tree_state import KeyColumn

# Rows that one call looks at, at most: what it makes is kept, and may have to be checked by expression.
_MOST_STEPS = 1 << 17

Edge = tuple["KeyColumn", "KeyColumn"]  # an equality between key columns of two items


class Node:
    """A leaf (no children) or a join of two nodes or more."""

    def __init__(self, state: TreeState, children: tuple[Node, ...]) -> None:
        self.state = state
        self.children = children
        self.parent: Node | None = None
        self.gates: list[Gate] = []  # that this node's rows must pass
        self.watchers: list[tuple[Gate, Node]] = []  # gates that wait for this node's rows
        # Gates for the pairs that this node joins; and, of a leaf, the joins whose pairs wait for its rows.
        two = [child.state for child in children] if len(children) == 2 else []
        self.pairs = PairGates(*two) if two else None
        self.asked_by: list[tuple[Node, int]] = []
        self.way: Way | None = None  # to the parent
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
    def place(self) -> int:
        """Among the children of the parent."""
        return self.parent.children.index(self) if self.parent is not None else 0

    @property
    def siblings(self) -> list[Node]:
        """The nodes beside this one, from left to right."""
        return [each for each in self.parent.children if each is not self] if self.parent else []

    def all_nodes(self) -> list[Node]:
        """This node and everything below, children first."""
        return [each for child in self.children for each in child.all_nodes()] + [self]


Refine = Callable[["Step", "NDArray[np.int64]"], "NDArray[np.int64]"]
Look = Callable[[TreeState, "NDArray[np.int64]"], None]


class Way:
    """How active rows of a node meet the active rows of the nodes beside it, into their parent's state."""

    def __init__(
        self,
        node: Node,
        edges: Sequence[Edge],
        slots: Sequence[Slot],
        words: int,
        refine: Refine,
        look: Look,
        *,
        nested_loops: bool,
    ) -> None:
        """`refine`: which of the new rows of a step go on. `nested_loops`: compare with every row there, as the papers do.

        `look` is told of rows that were joined, after each call of a kernel: it may raise when that takes too long.
        """
        parent = node.parent
        assert parent is not None
        self._refine = refine
        self.steps: list[Step] = []
        own, others = node.state, _in_order(node, edges)
        for there in others:
            out = parent.state
            if there is not others[-1]:
                items = own.items + there.state.items
                unused = np.zeros((len(items), 2), np.int64)
                out = TreeState(items, key_columns_above(items, edges), words, unused)
            step = Step(own, there.state, out, parent, edges, look, nested_loops=nested_loops)
            step.prepare_windows(slots, words)
            self.steps.append(step)
            own = out

    def join(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Append what the rows find to the parent's state; the numbers of the new rows there."""
        for step in self.steps:
            rows = step.join(rows, self._refine)
        for step in self.steps[:-1]:
            step.out.clear()
        return rows

    def resume(self, gate: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Append the pairs that a gate held for want of these rows of its leaf; from the left of two nodes only."""
        (step,) = self.steps
        return step.resume(gate, rows, self._refine)


def _in_order(node: Node, edges: Sequence[Edge]) -> list[Node]:
    """The nodes beside one in the order in which its rows meet them: those first that an equality connects."""
    met = set(node.state.items)
    rest, order = node.siblings, []
    while rest:
        at = 0
        for number, each in enumerate(rest):
            if columns_between(edges, tuple(met), each.state.items)[0]:
                at = number
                break
        order.append(rest.pop(at))
        met |= set(order[-1].state.items)
    return order


class Step:
    """How rows of one state join with the active rows of another one, into a third."""

    def __init__(
        self,
        own: TreeState,
        there: TreeState,
        out: TreeState,
        parent: Node,
        edges: Sequence[Edge],
        look: Look,
        *,
        nested_loops: bool,
    ) -> None:
        """`parent`: the node where it happens, which may have gates for the pairs that are made."""
        self._scans = nested_loops
        self._look = look
        gates = self._gates = parent.pairs or PairGates(own, there)
        self._sources = gates.sources(from_left=own is gates.left)
        self._held = np.zeros(len(gates), np.int64)
        self._own, self._there, self.out = own, there, out
        self._parent = parent
        own_columns, columns_there = columns_between(edges, own.items, there.items)
        columns = own.columns(own_columns)
        self._index = there.add_index(there.columns(columns_there))
        self._equal_columns = (columns, there.index_columns(self._index))
        self._places = _places(own.items, out.items)
        self._places_there = _places(there.items, out.items)
        self._key_source = np.array([self._source(each) for each in out.key_columns], np.int64)

    @property
    def new_pairs(self) -> set[tuple[int, int]]:
        """Two items each, in both orders, that come together here."""
        met = {(one, two) for one in self._own.items for two in self._there.items}
        return met | {(two, one) for one, two in met}

    def join(self, rows: NDArray[np.int64], refine: Refine) -> NDArray[np.int64]:
        """Append what the rows find to the parent's state; the numbers of the new rows there."""
        out, begin = self.out, self.out.count
        while len(rows):
            found, candidates, joined = self._call(rows)
            if out.count + found > out.room:
                out.reserve(found)
                found, candidates, joined = self._call(rows)
            self._parent.candidates += candidates
            for gate, count in enumerate(self._held):
                self._gates.held[gate] += int(count)
            self._taken(found, refine)
            self._look(self._own, rows[:joined])
            rows = rows[joined:]
        return np.arange(begin, out.count)

    def _taken(self, found: int, refine: Refine) -> None:
        """So many rows were made; some of them may not stay."""
        begin = self.out.count
        self.out.count += found
        refine(self, np.arange(begin, self.out.count))

    def resume(self, gate: int, rows: NDArray[np.int64], refine: Refine) -> NDArray[np.int64]:
        """Append the pairs that a gate held for want of these rows of its leaf; from the left node only."""
        fresh, absent_since = self._gates.note(gate, rows)
        if not len(fresh) or not self._own.count or not self._there.count:
            return fresh[:0]
        out, begin = self.out, self.out.count
        while len(fresh):
            found, joined = self._resume(gate, fresh, absent_since)
            if out.count + found > out.room:
                out.reserve(found)
                found, joined = self._resume(gate, fresh, absent_since)
            self._gates.resumed[gate] += found
            self._taken(found, refine)
            self._look(self._gates.leaves[gate], fresh[:joined])
            fresh, absent_since = fresh[joined:], absent_since[joined:]
        return np.arange(begin, out.count)

    @property
    def _into(self) -> tuple[Any, ...]:
        """Joined, for kernels: behind the rows that are there."""
        out = self.out
        return (
            out.positions, out.ts, out.lineage, out.keys, out.count,
            self._places, self._places_there, self._key_source,
        )  # fmt: skip

    def _call(self, rows: NDArray[np.int64]) -> tuple[int, int, int]:
        there, gates = self._there, self._gates
        return join_states(  # type: ignore[no-any-return]  # a numba kernel
            rows, self._own.rows, there.rows, self._equal_columns, there.index(self._index),
            there.count - 1 if self._scans else -1, self._windows, (*self._sources, *gates.values),
            self._held, self._into, _MOST_STEPS,
        )  # fmt: skip

    def _resume(
        self, gate: int, rows: NDArray[np.int64], absent_since: NDArray[np.int64]
    ) -> tuple[int, int]:
        own, there, gates = self._own, self._there, self._gates
        left, right = gates.indexes[gate]
        return resume_pairs(  # type: ignore[no-any-return]  # a numba kernel
            gates.asking(gate, rows, absent_since), own.rows, own.index(left), there.rows,
            there.index(right), self._equal_columns, self._windows,
            (*self._sources, *gates.values), gates.log, self._into, _MOST_STEPS,
        )  # fmt: skip

    def _source(self, column: KeyColumn) -> int:
        if column in self._own.key_columns:
            return self._own.key_columns.index(column)
        return -1 - self._there.key_columns.index(column)

    def prepare_windows(self, slots: Sequence[Slot], words: int) -> None:
        """Take the windows of the slots."""
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
        # PairWindows, for kernels.
        self._windows = (
            np.array(here, np.int64), np.array(there, np.int64),
            np.array(starts, np.int64), np.concatenate(cuts), np.concatenate(sets),
        )  # fmt: skip


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
    """The key columns on either side of the equalities between two sets of items, without those that follow from others."""
    first: list[KeyColumn] = []
    second: list[KeyColumn] = []
    equal = {frozenset(edge) for edge in edges}
    for edge in edges:
        for left, right in (edge, edge[::-1]):
            if left[0] not in own or right[0] not in there:
                continue
            follows = any(
                (one == left or frozenset((one, left)) in equal)
                and (two == right or frozenset((two, right)) in equal)
                for one, two in zip(first, second, strict=True)
            )
            if not follows:
                first.append(left)
                second.append(right)
    return first, second


def _places(items: Sequence[int], among: Sequence[int]) -> NDArray[np.int64]:
    return np.array([among.index(item) for item in items], np.int64)
