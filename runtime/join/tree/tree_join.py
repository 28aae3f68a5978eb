"""A host's join as a tree of joins with states between them (X-Join): left-deep, bushy, or with nodes of more than two inputs.

Slots, filters, lineage and delivery are those of the flat join; only how combinations are found differs. The tuples of a
packet become rows of their item's leaf. Active rows join the state beside them; what they make goes one node up and does the
same, until the root, where combinations are complete. With feedback, gates hold back rows that nothing above asks for.

Exactly once: a row becomes active once, and a pair of rows meets when the later one does. Becoming active and meeting
what is beside are one step, with nothing in between.

When bodies come or go the tree is made anew from the base tuples: nothing in it is more than a derived result.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.tree_shape import all_equalities, items_of
from cqc.compiler.syntax.join_hint import hint_text
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.execute.flat_join import MultiJoin, push_packet
from cqc.runtime.join.execute.member_ranks import rank_members
from cqc.runtime.join.execute.results import JoinResults
from cqc.runtime.join.step.probe_kernels import count_slots, keep_rows
from cqc.runtime.join.tree.feedback import Feedback
from cqc.runtime.join.tree.tree_kernels import living, take_tuples
from cqc.runtime.join.tree.tree_node import Node, Way, key_columns_above
from cqc.runtime.join.tree.tree_state import TreeState
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, bitmap
from cqc.runtime.metrics.operators import TreeMetrics
from cqc.runtime.metrics.parts import TreeWork
from cqc.runtime.state.hash_chains import KeyKind
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.membership.slots import JoinSeat, Member, Slot
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.join.tree.tree_node import Edge, Step
    from cqc.runtime.lineage.matches import Seat
    from cqc.runtime.metrics.operators import OperatorMetrics

_AT_ONCE = 4096  # base tuples at a time when the tree is made anew


class JoinTree(MultiJoin):
    """One host at run time, joined pair by pair."""

    _goes_through = False

    def __init__(
        self,
        host: JoinHost,
        states: Mapping[str, SharedState],
        shape: Shape,
        *,
        feedback: str = "off",
        nested_loops: bool = False,
    ) -> None:
        """`feedback`: off, exact (presence by index), bloom (by filter) or auto (exact where it pays)."""
        super().__init__(host, states)
        self.shape = shape
        self._mode = feedback
        self._nested_loops = nested_loops
        self._feedback: Feedback | None = None
        self._clock = 0  # counts what came: which row was active first
        self._dead = np.full((len(host.relations), 2), BEFORE_ALL_US, np.int64)
        self._root: Node | None = None
        self._nodes: list[Node] = []
        self._leaves: dict[int, Node] = {}
        self._forms_of: dict[int, NDArray[np.int64]] = {}  # of the key columns of each leaf
        self._checks_at: dict[Step, list[tuple[Expression, NDArray[np.uint64]]]] = {}
        self._gone = TreeWork()  # of trees that were made anew
        self.peak_rows = 0
        self.peak_bytes = 0
        self.chosen = False  # by what was measured

    @property
    def partial_results(self) -> int:
        """Rows made between the leaves and the root so far."""
        return self._tree_work().partial_results

    def add(self, body: Body, *, past: bool = False) -> JoinSeat:
        """As for the flat join; the tree is made anew before the next packet."""
        self._drop_tree()
        return super().add(body, past=past)

    def remove(self, seat: Seat) -> None:
        """As for the flat join."""
        self._drop_tree()
        super().remove(seat)

    def process(
        self,
        relation: str,
        packet: Packet,
        first: int,
        rows: NDArray[np.int64] | None = None,
        *,
        more: bool = False,
    ) -> list[JoinResults]:
        """Join a packet that was inserted at position `first`; nothing waits for a next one."""
        del more
        started = perf_counter()
        self.watch.resume()
        plan = self._plan or self._prepare()
        for item in self._items_of[relation]:
            lineage = self._admitted[item] if rows is None else self._admitted[item][rows]
            self._store(self._inputs[item], lineage, first)
        if any(limit.exceeded for limit in plan.whole_limits):
            plan = self._prepare()
        found: list[JoinResults] = []
        if self.is_limited:
            found = self._join_within(plan, relation, len(packet), first)
        else:
            self._join_stored(plan, relation, len(packet), first, found, more=False)
        self._drop_dead()
        if self._feedback is not None:
            self._feedback.judge(len(packet), self._clock)
        self._seconds += self._paused() - started
        return found

    def _join_stored(
        self,
        plan: JoinPlan,
        relation: str,
        count: int,
        first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """Join the tuples that were stored from `first` on, after everything that was there before them."""
        del more
        if self._root is None:
            self._build(relation, first)
        for item in self._items_of[relation]:
            complete = self._is_stream(item)
            for combinations in self._grow(item, first, first + count, complete=complete):
                found += self._deliver(plan, *combinations)

    def _begin_again(self, relation: str, first: int) -> None:
        """The tree is made anew: rows of the packet are in it, and of slots that are silenced."""
        del relation, first
        self._drop_tree()

    def _mute(self, relation: str) -> None:
        """Take the slots that are silenced off all tuples: they will not be served again."""
        del relation
        muted = self._muted()
        if muted:
            self._clear(muted)

    def _loosest(self, slot: Slot, members: list[Member]) -> list[Member]:
        """All members: the ranks that tell them apart come last here, so each costs the same."""
        del slot
        return members

    def _look_at_rows(self, state: TreeState, rows: NDArray[np.int64]) -> None:
        """Rows of a node have been joined."""
        if self.watch.clock() > self.watch.look_at:
            self._look(state.lineage[rows], len(rows))

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """As for the flat join; rows of the tree go in step with the tuples."""
        before = super().purge_before(relation, watermarks)
        if before is not None:
            for item in self._items_of[relation]:
                self._dead[item] = before, self._inputs[item].state.head
                self._move_dead(item)
        return before

    def measure(self) -> OperatorMetrics:
        """What the join did so far."""
        names = [each.state.relation.name for each in self._inputs]
        return TreeMetrics(
            name=self.name,
            tuples_in=self._tuples_in,
            tuples_out=self._results,
            seconds=self._seconds,
            bytes=sum(each.lineage.nbytes for each in self._inputs) + self._state_bytes(),
            decisions=tuple(self._feedback.decisions(self.name)) if self._feedback else (),
            slots=len(self),
            checked=self._checks.evaluated,
            shape=hint_text(self.shape, names),
            is_chosen=self.chosen,
            work=self._tree_work(),
            peak_rows=self.peak_rows,
            split=self.why_apart,
        )

    # The tree

    def _build(self, relation: str, first: int) -> None:
        """Make the tree from the base tuples; of one relation only from those before `first`."""
        edges = self._edges()
        self._leaves = {}
        root = self._root = self._node(self.shape, edges)
        self._nodes = root.all_nodes()
        if self._mode != "off":
            names = [each.state.relation.name for each in self._inputs]
            self._feedback = Feedback(root, edges, self._mode, self._is_static, names)
        slots = list(self._table.slots.values())
        for node in root.all_nodes():
            if node.parent is not None:
                node.way = Way(
                    node, edges, slots, self._words, self._checked, self._look_at_rows,
                    nested_loops=self._nested_loops,
                )  # fmt: skip
        self._place_checks(root)
        for item in items_of(self.shape):
            self._move_dead(item)
        for item in sorted(items_of(self.shape), key=self._is_stream):  # tables first
            state = self._inputs[item].state
            stop = first if item in self._items_of[relation] else state.head
            for begin in range(state.first, stop, _AT_ONCE):
                for _ in self._grow(item, begin, min(begin + _AT_ONCE, stop), complete=False):
                    pass

    def _node(self, shape: Shape, edges: list[Edge]) -> Node:
        items = items_of(shape)
        inner = isinstance(shape, int) or len(items) < len(self._inputs)
        columns = key_columns_above(items, edges) if inner else []
        places = sorted(items) if not inner else list(items)  # results are in host order
        dead = np.full((len(items), 2), BEFORE_ALL_US, np.int64)
        state = TreeState(places, columns, self._words, dead)
        if isinstance(shape, int):
            leaf = self._leaves[shape] = Node(state, ())
            self._forms_of[shape] = np.array([form for _, form in columns], np.int64)
            return leaf
        return Node(state, tuple(self._node(part, edges) for part in shape))

    def _edges(self) -> list[Edge]:
        """The equalities, and those that follow from them: whatever meets first, all that must be equal is compared."""
        found: list[Edge] = []
        for ends in all_equalities(
            self._equi_joins, [each.state.relation for each in self._inputs]
        ):
            states = [self._inputs[item].state for item, _ in ends]
            types = [
                state.relation.columns[end[1]].type for state, end in zip(states, ends, strict=True)
            ]
            forms = []
            for state, (item, column), type_ in zip(states, ends, types, strict=True):
                plain = types[0] is types[1] or type_ is ColumnType.DOUBLE
                kind = KeyKind.PLAIN if plain else KeyKind.AS_DOUBLE
                forms.append((item, state.key_form(column, kind)))
            found.append((forms[0], forms[1]))
        return found

    def _is_static(self, node: Node) -> bool:
        """Whether the rows are of tables alone, which are full before the first tuple of a stream."""
        return not any(self._is_stream(item) for item in node.state.items)

    def _is_stream(self, item: int) -> bool:
        return self._inputs[item].state.relation.is_stream

    def _place_checks(self, root: Node) -> None:
        """Theta conditions are checked by expression where their two items first meet."""
        self._checks_at = {}
        ways = [node.way for node in root.all_nodes() if node.way is not None]
        for step in [step for way in ways for step in way.steps]:
            for slot in self._table.slots.values():
                for at, theta in enumerate(slot.body.theta_joins):
                    if at == 0 and slot.is_family:
                        continue  # the members' ranks decide
                    if (theta.left_item, theta.right_item) in step.new_pairs:
                        mask = bitmap([slot.number], self._words)
                        self._checks_at.setdefault(step, []).append((theta.expression, mask))

    # Rows

    def _grow(
        self, item: int, first: int, stop: int, *, complete: bool
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]]:
        """Give the tuples at first..stop-1 to their leaf; the combinations (with `complete`) as they are found."""
        leaf, feedback = self._leaves[item], self._feedback
        self._clock += 1
        queue = [(leaf, self._leaf_rows(leaf, item, first, stop))]
        if feedback is not None:
            for node, made in feedback.arrived(leaf, queue[0][1]):
                self._note_made(node, made, queue)
        while queue:
            node, rows = queue.pop()
            if feedback is not None:
                rows = feedback.hold(node, rows)
            if not len(rows):
                continue
            node.state.activate(rows, self._clock)
            parent = node.parent
            assert parent is not None
            if parent.parent is None:
                if complete:
                    self._join(node, rows)
                    yield from self._combinations(parent)
            else:
                self._note_made(parent, self._join(node, rows), queue)
            if feedback is not None:
                queue += feedback.activated(node, rows)

    def _join(self, node: Node, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._feedback is not None:
            return self._feedback.join(node, rows)
        assert node.way is not None
        return node.way.join(rows)

    def _note_made(
        self, node: Node, rows: NDArray[np.int64], queue: list[tuple[Node, NDArray[np.int64]]]
    ) -> None:
        """New rows of a node go on."""
        node.made += len(rows)
        if len(rows):
            queue.append((node, rows))

    def _leaf_rows(self, leaf: Node, item: int, first: int, stop: int) -> NDArray[np.int64]:
        base, state = self._inputs[item].state, leaf.state
        state.reserve(stop - first)
        begin = state.count
        state.count += take_tuples(
            self._inputs[item].lineage.values, base.ts, base.chains.links, self._forms_of[item],
            first, stop, base.base, state.positions, state.ts, state.lineage, state.keys, begin,
        )  # fmt: skip
        return np.arange(begin, state.count)

    def _checked(self, step: Step, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """New rows of a node without those that fail the node's conditions."""
        checks = self._checks_at.get(step)
        if not checks or not len(rows):
            return rows
        state, begin = step.out, int(rows[0])
        kept = living(state.positions, state.ts, begin, state.count, state.dead)
        positions = np.zeros((len(self._inputs), len(kept)), np.int64)
        positions[list(state.items)] = state.positions[:, begin + kept]
        lineage = state.lineage[begin + kept]
        for expression, mask in checks:
            asked = np.flatnonzero((lineage & mask).any(axis=1))
            if len(asked):
                failing = asked[~self._checks.is_true(expression, positions[:, asked])]
                lineage[failing] &= ~mask
        left = keep_rows(lineage)
        state.lineage[begin + kept] = lineage
        state.keep_tail(begin, kept[left])
        return np.arange(begin, state.count)

    def _combinations(
        self, root: Node
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]]:
        state = root.state
        if state.count:
            end = state.count
            yield (
                state.positions[:, :end].copy(),
                state.ts[:, :end].copy(),
                state.lineage[:end].copy(),
            )
        state.clear()

    def _deliver(
        self,
        plan: JoinPlan,
        positions: NDArray[np.int64],
        ts: NDArray[np.int64],
        lineage: NDArray[np.uint64],
    ) -> list[JoinResults]:
        if plan.checks or self._checks.text_edges:
            self._checks.apply(positions, lineage, plan.checks, plan.check_slots)
            kept = keep_rows(lineage)
            positions, ts, lineage = positions[:, kept], ts[:, kept], lineage[kept]
        if not len(lineage):
            return []
        streams = [each.item for each in self._inputs if self._is_stream(each.item)]
        count_slots(lineage, len(lineage), self._counts)
        counts = self._counts[: self._table.size].copy()
        ranges = rank_members(
            plan, self._table, self._states, self._checks, positions, lineage, counts
        )
        self._results += len(lineage)
        latest = ts[streams].max(axis=0)
        part = next(iter(self._parts.values()))
        part.results += len(lineage)
        return [JoinResults(part, positions, latest, lineage, counts, self._table, ranges)]

    # Old rows, counters

    def _move_dead(self, item: int) -> None:
        node = self._leaves.get(item)
        if node is None:
            return
        if self._feedback is not None:
            self._feedback.purged(node, int(self._dead[item, 0]), self._clock)
        above: Node | None = node
        while above is not None:
            above.state.dead[above.state.items.index(item)] = self._dead[item]
            above = above.parent

    def _drop_dead(self) -> None:
        """Bulk drops; how much there was at most is noted."""
        rows = size = 0
        for node in self._nodes:
            state = node.state
            rows += state.count if node.children else 0
            size += state.count * state.row_bytes
            if node.parent is not None and state.drop_dead():
                for gate, _ in node.watchers:
                    gate.renew()
        self.peak_rows = max(self.peak_rows, rows)
        self.peak_bytes = max(self.peak_bytes, size)

    def _state_bytes(self) -> int:
        nodes = self._nodes
        pairs = sum(node.pairs.nbytes for node in nodes if node.pairs)
        return pairs + sum(node.state.nbytes for node in nodes)

    def _tree_work(self) -> TreeWork:
        nodes, feedback = self._nodes, self._feedback
        own = TreeWork(
            sum(node.made for node in nodes),
            sum(node.candidates for node in nodes),
            tuple(feedback.edges()) if feedback else None,
        )
        return own.plus(self._gone)

    def _drop_tree(self) -> None:
        self._gone = self._tree_work().gone()
        self._root = self._feedback = None
        self._nodes = []
        self._leaves = {}
        # Windows may be wider from now on: what was too old to meet anything may not be any more.
        self._dead[:] = BEFORE_ALL_US


def warm() -> None:
    """Compile the kernels of the tree, by joining a few tuples with each kind of feedback."""
    program = compile_program(_WARM)
    for feedback in ("exact", "bloom"):
        states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
        (body,) = program.graph.bodies.values()
        assert body.host is not None
        tree = JoinTree(body.host, states, ((0, 1), 2), feedback=feedback)
        tree.add(body)
        for state in states.values():
            numbers = np.zeros(2, np.int64)
            columns = (Column(ColumnType.BIGINT, numbers), Column(ColumnType.BIGINT, numbers))
            push_packet(state, [tree], Packet(columns, numbers, numbers), keep_all=True)


_WARM = """
CREATE STREAM a (ts BIGINT, k BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT); CREATE STREAM c (ts BIGINT, k BIGINT);
SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 5 SEC;
"""
