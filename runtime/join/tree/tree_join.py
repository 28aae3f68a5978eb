"""A host's join as a tree of joins with states between them (X-Join): left-deep, bushy, or with nodes of more than two inputs.

Slots, filters, lineage and delivery are those of the flat join; only how combinations are found differs. The tuples of a
packet become rows of their item's leaf. Active rows join the state beside them; what they make goes one node up and does the
same, until the root, where combinations are complete. With feedback, gates hold back rows that nothing above asks for.

Exactly once: a row becomes active once, and a pair of rows meets when the later one does. Becoming active and meeting
what is beside are one step, with nothing in between.

When bodies come or go the tree is made anew from the base tuples: nothing in it is more than a derived result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.tree_shape import all_equalities, items_of
from cqc.compiler.syntax.join_hint import hint_text
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.join_node import JoinNode, push_packet
from cqc.runtime.join.execute.result_maker import ResultMaker
from cqc.runtime.join.membership.membership import JoinMembership
from cqc.runtime.join.step.key_forms import key_forms
from cqc.runtime.join.step.row_kernels import keep_rows
from cqc.runtime.join.tree.feedback import Feedback
from cqc.runtime.join.tree.tree_kernels import living, take_tuples
from cqc.runtime.join.tree.tree_node import Node, Way, key_columns_above
from cqc.runtime.join.tree.tree_state import TreeState
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, bitmap
from cqc.runtime.metrics.operators import TreeMetrics
from cqc.runtime.metrics.parts import TreeWork
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.executor import NodeContext, Turn
    from cqc.runtime.join.execute.metaqueues import TrainSize
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.slots import JoinSeat
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import JoinInput, Work
    from cqc.runtime.join.tree.tree_node import Edge, Step

_AT_ONCE = 4096  # base tuples at a time when the tree is made anew


class TreeJoin:
    """The executor of a node with one host, joined pair by pair."""

    starts_from_state = ranks_last = True
    may_be_shared = wants_all = False

    def __init__(
        self, host: JoinHost, shape: Shape, *, feedback: str = "off", nested_loops: bool = False
    ) -> None:
        """`feedback`: off, exact (presence by index), bloom (by filter) or auto (exact where it pays)."""
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
        self._context: NodeContext
        self._maker: ResultMaker
        self._part: HostAtNode
        self._inputs: Sequence[JoinInput] = ()
        self.peak_rows = 0
        self.peak_bytes = 0
        self.chosen = False  # by what was measured

    @property
    def partial_results(self) -> int:
        """Rows made between the leaves and the root so far."""
        return self._tree_work().partial_results

    def name(self, members: JoinMembership) -> str:
        """As its host is called."""
        return members.name

    def prepare(self, context: NodeContext) -> None:
        """Work for these slots; the tree is made when the next packet comes."""
        self._context = context
        self._maker = ResultMaker(context)
        self._part = context.members.parts[0]
        self._inputs = context.members.inputs

    def forget(self) -> None:
        """The tree is made anew for other slots."""
        self._drop_tree()

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> list[JoinResults] | None:
        """Packets are stored before they meet the tree."""

    def stored(self, item: int, first: int, lineage: NDArray[np.uint64]) -> None:
        """Leaves take tuples from their state when these are joined."""

    def join(
        self, relation: str, count: int, admitted: Mapping[int, NDArray[np.uint64]], turn: Turn
    ) -> None:
        """Join the tuples that were stored last, after everything that was there before them."""
        first = turn.packet_first
        if self._root is None:
            self._build(relation, first)
        for item in self._context.members.items_of[relation]:
            complete = self._is_stream(item)
            for positions, ts_us, lineage in self._grow(
                item, first, first + count, complete=complete
            ):
                turn.found += self._maker.check(self._part, positions, ts_us, lineage)

    def drain(self, turn: Turn) -> None:
        """Nothing waits for a next packet."""

    def begin_again(self) -> None:
        """The tree is made anew: rows of the packet are in it, and of slots that are silenced."""
        self._drop_tree()

    def packet_done(self, rows: int) -> None:
        """Drop old rows, and see which gates pay."""
        self._drop_dead()
        if self._feedback is not None:
            self._feedback.judge(rows, self._clock)

    def past(self, seat: JoinSeat, most: int | None) -> list[JoinResults]:
        """The past is joined flat: the tree has its rows already."""
        flat = FlatJoin()
        flat.prepare(self._context)
        return flat.past(seat, most)

    def advance(self, watermarks: Mapping[str, int]) -> list[JoinResults]:
        """Nothing waits for the watermark in this join."""
        del watermarks
        return []

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """What the windows allow; rows of the tree go in step with the tuples."""
        before = self._context.plan.purge_before(relation, watermarks)
        if before is not None:
            for item in self._context.members.items_of[relation]:
                self._dead[item] = before, self._inputs[item].state.head
                self._move_dead(item)
        return before

    def measure(self, split: str) -> TreeMetrics:
        """What the tree made and held back, and its shape."""
        members, counts = self._context.members, self._context.counts
        name = self.name(members)
        names = [each.state.relation.name for each in self._inputs]
        pairs = sum(node.pairs.nbytes for node in self._nodes if node.pairs)
        states = sum(node.state.nbytes for node in self._nodes)
        return TreeMetrics(
            name=name,
            tuples_in=counts.tuples_in,
            tuples_out=counts.results,
            seconds=counts.seconds,
            bytes=sum(each.lineage.nbytes for each in self._inputs) + pairs + states,
            decisions=tuple(self._feedback.decisions(name)) if self._feedback else (),
            slots=len(members),
            checked=self._part.checks.evaluated,
            shape=hint_text(self.shape, names),
            is_chosen=self.chosen,
            work=self._tree_work(),
            peak_rows=self.peak_rows,
            split=split,
        )

    def work_of_levels(self) -> Iterator[tuple[Branch, TrainSize, Work]]:
        """There are no routes."""
        return iter(())

    def _look_at_rows(self, state: TreeState, rows: NDArray[np.int64]) -> None:
        """Rows of a node have been joined."""
        limits = self._context.limits
        if limits.watch.clock() > limits.watch.look_at:
            limits.look(self._context.members, state.lineage[rows], len(rows))

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
        slots = self._context.members.slots
        for node in root.all_nodes():
            if node.parent is not None:
                node.way = Way(
                    node, edges, slots, self._context.plan.words, self._checked, self._look_at_rows,
                    nested_loops=self._nested_loops,
                )  # fmt: skip
        self._place_checks(root)
        for item in items_of(self.shape):
            self._move_dead(item)
        for item in sorted(items_of(self.shape), key=self._is_stream):  # tables first
            state = self._inputs[item].state
            stop = first if item in self._context.members.items_of[relation] else state.head
            for begin in range(state.first, stop, _AT_ONCE):
                for _ in self._grow(item, begin, min(begin + _AT_ONCE, stop), complete=False):
                    pass

    def _node(self, shape: Shape, edges: list[Edge]) -> Node:
        items = items_of(shape)
        inner = isinstance(shape, int) or len(items) < len(self._inputs)
        columns = key_columns_above(items, edges) if inner else []
        places = sorted(items) if not inner else list(items)  # results are in host order
        dead = np.full((len(items), 2), BEFORE_ALL_US, np.int64)
        state = TreeState(places, columns, self._context.plan.words, dead)
        if isinstance(shape, int):
            leaf = self._leaves[shape] = Node(state, ())
            self._forms_of[shape] = np.array([form for _, form in columns], np.int64)
            return leaf
        return Node(state, tuple(self._node(part, edges) for part in shape))

    def _edges(self) -> list[Edge]:
        """The equalities, and those that follow from them: whatever meets first, all that must be equal is compared."""
        found: list[Edge] = []
        relations = [each.state.relation for each in self._inputs]
        for left, right in all_equalities(self._part.equi_joins, relations):
            one, two = self._inputs[left[0]].state, self._inputs[right[0]].state
            forms = key_forms((one, left[1]), (two, right[1]))
            found.append(((left[0], forms[0]), (right[0], forms[1])))
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
            for slot in self._context.members.slots:
                for at, theta in enumerate(slot.body.theta_joins):
                    if at == 0 and slot.is_family:
                        continue  # the members' ranks decide
                    if (theta.left_item, theta.right_item) in step.new_pairs:
                        mask = bitmap([slot.number], self._context.plan.words)
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
            base.base, (first, stop), state.rows, begin,
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
                failing = asked[~self._part.checks.is_true(expression, positions[:, asked])]
                lineage[failing] &= ~mask
        left = keep_rows(lineage)
        state.lineage[begin + kept] = lineage
        state.keep_tail(begin, kept[left])
        return np.arange(begin, state.count)

    def _combinations(
        self, root: Node
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]]:
        """The rows of the root, which are whole, with their result times."""
        state, end = root.state, root.state.count
        if end:
            streams = [each.item for each in self._inputs if self._is_stream(each.item)]
            latest = state.ts[streams, :end].max(axis=0)
            yield state.positions[:, :end].copy(), latest, state.lineage[:end].copy()
        state.clear()

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
            if state.count >= state.full_at and node.parent is not None and state.drop_dead():
                for gate, _ in node.watchers:
                    gate.renew()
        self.peak_rows = max(self.peak_rows, rows)
        self.peak_bytes = max(self.peak_bytes, size)

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
        executor = TreeJoin(body.host, ((0, 1), 2), feedback=feedback)
        tree = JoinNode(JoinMembership(body.host, states), executor)
        tree.add(body)
        for state in states.values():
            numbers = np.zeros(2, np.int64)
            columns = (Column(ColumnType.BIGINT, numbers), Column(ColumnType.BIGINT, numbers))
            push_packet(state, [tree], Packet(columns, numbers, numbers), keep_all=True)


_WARM = """
CREATE STREAM a (ts BIGINT, k BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT); CREATE STREAM c (ts BIGINT, k BIGINT);
SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 5 SEC;
"""
