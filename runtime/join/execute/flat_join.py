"""The flat join: a new tuple meets the other items of its node one after the other, in one pass for all bodies.

The tuples of a packet, each with a bit for every slot that still wants it, meet the states of the other items one after the other
(M-Join, Juggler's multi-join). At each step the lineage of a partial combination shrinks to the slots whose windows and conditions
all its tuples meet; combinations that no slot wants are never made. Bodies over some of the streams only leave where they have all
of theirs (`routes`). Conditions over several items that no index answers are evaluated last, once for each distinct expression.

    R.a = S.a, S.b = T.b     slot 0: R.x > 5, window 10 s     slot 1: S.x < 3, window 2 s
    new S(a=1, b=2, x=1) {0,1} -> R(a=1, x=9) 4 s older {0} -> T(b=2) {0}: one result, of slot 0

Exactly once: a packet is inserted first, then joined with what the other states hold, so a combination appears when the
last of its tuples is processed. Where a relation is in FROM twice, items before the one that starts see only tuples from
before the packet: a combination with several new tuples is made by the first item that has one.

While more packets of one stream follow, partial combinations may wait for others of the same history (`metaqueues`). The other
states do not change before the stream's turn ends, so a row that waits meets what it would have met at once; at the end of the
turn nothing waits. A relation that is in FROM twice changes a state that its rows still have to meet: there nothing waits past
its packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.execute.bounded_queues import BoundedQueues
from cqc.runtime.join.execute.company import Company
from cqc.runtime.join.execute.executor import Turn
from cqc.runtime.join.execute.fused_insert import FusedInsert
from cqc.runtime.join.execute.join_node import JoinNode, push_packet
from cqc.runtime.join.execute.metaqueues import MetaQueues
from cqc.runtime.join.execute.result_maker import ResultMaker
from cqc.runtime.join.execute.route_steps import PlainSteps
from cqc.runtime.join.execute.route_walk import RouteWalk
from cqc.runtime.join.membership.membership import JoinMembership
from cqc.runtime.join.plan.route_planner import RoutePlanner
from cqc.runtime.join.step.company_kernels import slots_in_company, times_by_slot
from cqc.runtime.join.step.phase_order import ORDERS
from cqc.runtime.join.step.row_kernels import count_slots_of
from cqc.runtime.lineage.rank_lineage import WORD_BITS, bitmap
from cqc.runtime.metrics.operators import JoinMetrics
from cqc.runtime.metrics.parts import JoinInputMetrics, QueueMetrics
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.join.execute.executor import NodeContext
    from cqc.runtime.join.execute.metaqueues import TrainSize
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.execute.route_steps import RouteSteps
    from cqc.runtime.join.membership.slots import JoinSeat
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import JoinInput, Work


class FlatJoin:
    """The executor of a node that keeps nothing between its items."""

    wants_all = starts_from_state = ranks_last = False

    def __init__(
        self,
        steps: RouteSteps | None = None,
        *,
        one_at_a_time: bool = False,
        counts_only: bool = False,
    ) -> None:
        """`steps`: how rows take a step. `one_at_a_time`: no row waits for another (`--packet 1`).

        `counts_only`: nobody asks for rows, only how many there are.
        """
        self.steps: RouteSteps = steps or PlainSteps()
        self.queues = MetaQueues()
        self.queues.one_at_a_time = one_at_a_time
        self._counts_only = counts_only
        self._part_rows: dict[int, int] = {}  # by starting item, tuples that start at a time
        self._inserts: dict[int, FusedInsert] = {}  # by item, of the plan
        self._context: NodeContext
        self._planner: RoutePlanner
        self._maker: ResultMaker
        self._walk: RouteWalk
        self._company: Company

    @property
    def may_be_shared(self) -> bool:
        """What the steps allow."""
        return self.steps.may_be_shared

    def name(self, members: JoinMembership) -> str:
        """As its hosts are called."""
        return members.name

    def prepare(self, context: NodeContext) -> None:
        """Make the ways for a plan."""
        self._context = context
        self._planner = RoutePlanner(
            context.plan, self.steps.orders, context.members.work, context.counts.phases,
            counts_only=self._counts_only,
        )  # fmt: skip
        self._maker = ResultMaker(context, counts_only=self._counts_only)
        self._inserts = {}
        self._company = Company(context.plan)
        self.steps.prepare(context)
        self.queues.forget()
        self._walk = self._walk_with(self.queues)

    def forget(self) -> None:
        """Everything by slot is made anew with the plan."""

    def renew_queues(self, queues: MetaQueues) -> None:
        """Let rows wait elsewhere from now on; nothing waits at this moment."""
        self.queues = queues
        self._walk = self._walk_with(queues)

    def _walk_with(self, queues: MetaQueues) -> RouteWalk:
        return RouteWalk(
            self._context, self._planner, self.steps, self._maker, queues, self._part_rows
        )

    # Packets

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> list[JoinResults] | None:
        """Filter, insert and join a packet by few calls; None: it has to go the longer way.

        That way is for everything that has to be looked at in between: the first packets, from which orders are learned, and
        now and then one more; NULLs; tuples that hardly anybody wants; conditions that are no ranges; relations that are in FROM
        twice; partial combinations that wait. Nothing has happened when the answer is None.
        """
        context, planner = self._context, self._planner
        items = context.members.items_of[relation]
        if len(items) > 1 or self.queues or not self.steps.goes_through:
            return None
        item = items[0]
        insert = self._inserts.get(item) or self._new_insert(item)
        count = len(packet.ts_us)
        is_small = count <= self._part_rows.get(item, 0)
        if insert is None or not is_small or item in planner.lanes or planner.is_due(item):
            return None
        for column in packet.columns:
            if column.valid is not None:
                return None
        routes = planner.next_routes(item)
        rows = routes.start
        first = insert.take(packet, rows, keep_all=keep_all)
        if first < 0:
            return None
        context.limits.watch.resume()
        found: list[JoinResults] = []
        self.steps.stored(item, first, first + count)
        if rows.count:
            self._walk.set_out(item, routes, rows, Turn(first, found), count)
        return found

    def _new_insert(self, item: int) -> FusedInsert | None:
        members = self._context.members
        each, own = members.inputs[item], members.filters[item]
        if self._context.plan.whole_limits or not each.state.relation.is_stream or not own.is_plain:
            return None
        insert = self._inserts[item] = FusedInsert(each, own)
        return insert

    def stored(self, item: int, first: int, lineage: NDArray[np.uint64]) -> None:
        """Put tuples in time order where a step scans them."""
        self.steps.stored(item, first, first + len(lineage))
        lane = self._planner.lanes.get(item)
        if lane is not None:
            state = self._context.members.inputs[item].state
            ts_us = self._context.times(item, first, len(lineage))
            lane.insert(ts_us, first, lineage, state.values, state.base)

    def join(
        self, relation: str, count: int, admitted: Mapping[int, NDArray[np.uint64]], turn: Turn
    ) -> None:
        """Join the tuples that were stored last."""
        members, first = self._context.members, turn.packet_first
        items = members.items_of[relation]
        turn.more = turn.more and len(items) == 1
        for item in items:
            if members.inputs[item].state.relation.is_stream and count:
                ts_us = self._context.times(item, first, count)
                lineage = self._company.of(item, admitted[item], ts_us)
                if len(lineage):
                    self._walk.start(item, lineage, ts_us, first, turn)
                else:
                    self._walk.none_starts(item, ts_us)
        if not turn.more and self.queues:
            self._walk.drain(turn)

    def drain(self, turn: Turn) -> None:
        """Everything that waits goes on."""
        self._walk.drain(turn)

    def begin_again(self) -> None:
        """Forget the rows that wait."""
        self.queues.clear()
        self._walk.begin_again()

    def packet_done(self, rows: int) -> None:
        """Nothing is left to do."""

    def past(self, seat: JoinSeat, most: int | None) -> list[JoinResults]:
        """All combinations of tuples that are in the states, for one seat.

        Raises:
            TooMuchFound: when more than `most` would be made on the way.
            Flood: when it takes too long.
        """
        members = self._context.members
        item = min(each.item for each in seat.slot.part.stream_inputs)
        each = members.inputs[item]
        first, head = each.state.first, each.state.head
        mask = bitmap([seat.slot.number], members.words)
        lineage = each.lineage.values[first - each.state.base : head - each.state.base] & mask
        walk = self._walk if most is None else self._walk_with(BoundedQueues(most))
        turn = Turn(head, [])
        try:
            walk.start(item, lineage, self._context.times(item, first, head - first), first, turn)
            walk.drain(turn)
        finally:
            walk.begin_again()
        return turn.found

    def advance(self, watermarks: Mapping[str, int]) -> list[JoinResults]:
        """Nothing waits for the watermark in this join."""
        del watermarks
        return []

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """What the windows allow."""
        before = self._context.plan.purge_before(relation, watermarks)
        if before is not None:
            self.steps.purged(self._context.members.items_of[relation], before)
        return before

    # Counters

    def measure(self, split: str) -> JoinMetrics:
        """What was done for each host and at each item, in queues and in phases."""
        members, counts = self._context.members, self._context.counts
        parts, used = members.parts, members.used_inputs
        size = sum(level.nbytes for level in self._planner.levels)
        phases, orders = counts.phases.metrics()
        found = JoinMetrics(
            name=self.name(members),
            tuples_in=counts.tuples_in,
            tuples_out=counts.results,
            seconds=counts.seconds,
            bytes=size + sum(each.lineage.nbytes for each in used),
            decisions=self._decisions(),
            slots=len(members),
            checked=sum(part.checks.evaluated for part in parts),
            hosts={part.host.name: part.results for part in parts} if len(parts) > 1 else {},
            inputs=tuple(self._input_metrics(each) for each in used),
            queues=self._queue_metrics(),
            phases=phases,
            orders=orders,
            split=split,
        )
        return self.steps.measured(found)

    def _decisions(self) -> tuple[Decision, ...]:
        name = self.name(self._context.members)
        company = self._company.decision(name)
        return (*(() if company is None else (company,)), *self._planner.decisions(name))

    def _input_metrics(self, each: JoinInput) -> JoinInputMetrics:
        work = self._context.members.work[each.item]
        return JoinInputMetrics(
            each.item,
            each.state.relation.name,
            work.probes,
            work.candidates,
            work.found,
            each.lineage.nbytes,
        )

    def work_of_levels(self) -> Iterator[tuple[Branch, TrainSize, Work]]:
        """What came to each level so far, which levels of one history have in common, and what was done at its item."""
        for branch, size in self.queues.branches():
            yield branch, size, self._context.members.work[branch.level.target.item]

    def _queue_metrics(self) -> tuple[QueueMetrics, ...]:
        """The trains that met each item, by their history."""
        found: dict[tuple[str, ...], QueueMetrics] = {}
        inputs = self._context.members.inputs
        for (*bound, target), size in self.queues.sizes().items():
            names = tuple(inputs[item].state.relation.name for item in (*bound, target))
            known = found.get(names)
            before = (known.trains, known.rows, known.waited) if known else (0, 0, 0)
            found[names] = QueueMetrics(
                names[:-1],
                names[-1],
                before[0] + size.trains,
                before[1] + size.taken,
                before[2] + size.waited,
                size.threshold,
            )
        return tuple(found.values())


def warm() -> None:
    """Compile the kernels of the join, by joining a few tuples in each of its ways."""
    for order in ("adaptive", *ORDERS):
        _warm_in(order, _WARM)
    _warm_in("adaptive", _WARM + _many_queries())
    for words in (1, 2):
        _warm_company(np.zeros((2, words), np.uint64))
    word = np.zeros(1, np.uint64)
    count_slots_of(word[:, None], 0, word, np.zeros(WORD_BITS, np.int64))


def _warm_company(lineage: NDArray[np.uint64]) -> None:
    times, places = np.zeros(2, np.int64), np.zeros(1, np.int64)
    mask = np.zeros(lineage.shape[1], np.uint64)
    times_by_slot(lineage, times, np.arange(2), mask)
    starts = np.zeros(64 * len(mask) + 1, np.int64)
    needs, spans_us = (starts, places, places), (places, places)
    slots_in_company(lineage, times, mask, needs, spans_us, times)


def _many_queries() -> str:
    """So many queries of each kind that a lineage takes two words: kernels are compiled once more for that."""
    return "".join(
        f"SELECT a.k AS x, b.k AS y FROM a, b WHERE a.k = b.k AND a.v <= b.v AND a.v < {number}.5 MAXWINDOW 5 SEC;\n"
        f"SELECT a.k AS x, b.k AS y FROM a, b WHERE a.v < 2.0 * b.v AND b.v < {number} MAXWINDOW 5 SEC;\n"
        for number in range(4, WORD_BITS + 5)
    )


def _warm_in(order: str, text: str) -> None:
    program = compile_program(text)
    states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
    joins: dict[int, JoinNode] = {}
    for body in program.graph.bodies.values():
        if body.host is not None:
            members = JoinMembership(body.host, states)
            join = joins.setdefault(body.host.number, JoinNode(members, FlatJoin(), order))
            join.add(body)
    for state in states.values():
        columns = (
            Column(ColumnType.BIGINT, np.zeros(2, np.int64)),
            Column(ColumnType.BIGINT, np.zeros(2, np.int64)),
            Column(ColumnType.DOUBLE, np.array([1.0, 2.0])),
        )
        times = np.array([1, 0], np.int64)
        push_packet(state, list(joins.values()), Packet(columns, times, times), keep_all=True)


_WARM = """
CREATE STREAM a (ts BIGINT, k BIGINT, v DOUBLE);
CREATE STREAM b (ts BIGINT, k BIGINT, v DOUBLE);
SELECT a.k AS x, b.k AS y FROM a, b WHERE a.k = b.k AND a.v <= b.v AND abs(a.v - b.v) < 9.0 MAXWINDOW 5 SEC;
SELECT a.k AS x, b.k AS y FROM a, b WHERE a.v < 2.0 * b.v MAXWINDOW 5 SEC;
SELECT a.k AS x, b.k AS y FROM a, b WHERE a.v < 3.0 * b.v MAXWINDOW 5 SEC;
"""
