"""The n-ary join node: all bodies over streams that belong together, answered by one pass.

A packet of one stream is filtered for all bodies at once, which gives each tuple its lineage, a bit for every slot that
still wants it. The tuples go into the stream's shared state, their lineage beside them, and then meet the states of the
other items one after the other (M-Join, Juggler's multi-join). At each step the lineage of a partial combination shrinks to
the slots whose windows and conditions all its tuples meet; combinations that no slot wants are never made. Bodies over
some of the streams only leave where they have all of theirs (`join_routes`). Conditions over several items that no index answers are evaluated last, once for each distinct expression.

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

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.execute.bounded_queues import BoundedQueues
from cqc.runtime.join.execute.fused_insert import FusedInsert
from cqc.runtime.join.execute.join_limits import JoinLimits
from cqc.runtime.join.membership.slots import JoinSeat
from cqc.runtime.join.plan.join_plan import JoinPlan
from cqc.runtime.join.step.phase_order import ORDERS, PhaseCounts
from cqc.runtime.join.step.probe_kernels import (
    count_slots_of,
    mark_wanted,
)
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, FAR_US, WORD_BITS, bitmap
from cqc.runtime.metrics.operators import JoinMetrics
from cqc.runtime.metrics.parts import JoinInputMetrics, QueueMetrics
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.meaning.normal import EquiJoin
    from cqc.runtime.join.execute.metaqueues import TrainSize
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.residual_checks import JoinChecks
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import JoinInput, Work
    from cqc.runtime.lineage.matches import Found, PacketJoin, Seat
    from cqc.runtime.metrics.operators import OperatorMetrics


class MultiJoin(JoinLimits):
    """One node at run time. Hosts and bodies come and go between packets."""

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name."""
        super().__init__(host, states)
        # By relation: how much later than its tuples those of other streams may be.
        self._reach_us: dict[str, dict[str, int]] = {}
        self._orders: dict[int, tuple[int, ...]] = {}
        self.phases = PhaseCounts()
        self._arrivals: dict[int, FusedInsert] = {}  # by item, of the plan
        self.why_apart = ""  # from which node it was split, and why

    @property
    def _equi_joins(self) -> tuple[EquiJoin, ...]:
        """Of the first host, for joins that serve one only."""
        return next(iter(self._parts.values())).equi_joins

    @property
    def _checks(self) -> JoinChecks:
        """Of the first host."""
        return next(iter(self._parts.values())).checks

    @property
    def _states(self) -> Sequence[SharedState]:
        """Of the first host."""
        return next(iter(self._parts.values())).states

    def set_order(self, start: int, order: tuple[int, ...]) -> None:
        """In which order a new tuple of item `start` meets the other items; changes the cost, not the answer."""
        self._orders[start] = order
        self._plan = None

    def _prepare(self) -> JoinPlan:
        slots = list(self._table.slots.values())
        for slot in slots:
            slot.arrange()
        parts = list(self._parts.values())
        plan = JoinPlan(
            self._inputs, parts, slots, self._words, self._orders, self._work, self.phases,
            counts_only=self.counts_only,
        )  # fmt: skip
        self._plan = plan
        self._arrivals = {}
        self.queues.forget()
        self._reach_us = {name: {} for name in self._items_of}
        for one, two, us in plan.reaches():
            reach = self._reach_us[fold(one.state.relation.name)]
            later = fold(two.state.relation.name)
            reach[later] = max(us, reach.get(later, us))
        return plan

    # Packets

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> list[JoinResults] | None:
        """Filter, insert and join a packet by few calls; None: it has to go the longer way of `admit` and `process`.

        That way is for everything that has to be looked at in between: the first packets, from which orders are learned, and
        now and then one more; NULLs; tuples that hardly anybody wants; conditions that are no ranges; relations that are in FROM
        twice; partial combinations that wait. Nothing has happened when the answer is None.
        """
        plan, items = self._plan, self._items_of[relation]
        if plan is None or len(items) > 1 or self.queues or not self._goes_through:
            return None
        if self.is_limited:  # then a packet may have to be joined again
            return None
        item = items[0]
        arrival = self._arrivals.get(item) or self._new_arrival(plan, item)
        is_small = len(packet.ts_us) <= self._part_rows.get(item, 0)
        if arrival is None or not is_small or item in plan.lanes or plan.is_due(item):
            return None
        for column in packet.columns:
            if column.valid is not None:
                return None
        started = perf_counter()
        routes = plan.next_routes(item)
        rows = routes.start
        first = arrival.take(packet, rows, keep_all=keep_all)
        if first < 0:
            return None
        self.watch.resume()
        found: list[JoinResults] = []
        self._stored(self._inputs[item], first, first + len(packet.ts_us))
        if rows.count:
            self._set_out(plan, item, routes, rows, first, found, more=False)
        self._tuples_in += len(packet.ts_us)
        self._seconds += self._paused() - started
        return found

    def _paused(self) -> float:
        """The join is done for now; the time."""
        self.watch.pause()
        return perf_counter()

    def _new_arrival(self, plan: JoinPlan, item: int) -> FusedInsert | None:
        each, own = self._inputs[item], self._filters[item]
        if plan.whole_limits or not each.state.relation.is_stream or not own.is_plain:
            return None
        arrival = self._arrivals[item] = FusedInsert(each, own)
        return arrival

    def _stored(self, each: JoinInput, first: int, stop: int) -> None:
        """The tuples at these positions are in their state, with their lineage; for joins that keep something beside."""

    def admit(self, relation: str, packet: Packet) -> NDArray[np.bool_]:
        """Filter a packet; TRUE where some body wants the tuple. `process` follows with what was inserted of it."""
        started = perf_counter()
        plan = self._plan or self._prepare()
        wanted = np.zeros(len(packet), np.bool_)
        for item in self._items_of[relation]:
            lineage = self._filters[item].match(packet)
            for required in plan.required.get(item, ()):
                valid = packet.columns[required.column].valid
                if valid is not None:
                    lineage = _without(lineage, ~valid, required.slots)
            self._admitted[item] = lineage
            mark_wanted(lineage, wanted)
        self._tuples_in += len(packet)
        self._seconds += perf_counter() - started
        return wanted

    def process(
        self,
        relation: str,
        packet: Packet,
        first: int,
        rows: NDArray[np.int64] | None = None,
        *,
        more: bool = False,
    ) -> list[JoinResults]:
        """Join a packet that was inserted at position `first`; `rows` are its rows in the packet that was admitted.

        With `more` another packet of the relation follows before one of any other: what is not enough for a train may wait.
        """
        started = perf_counter()
        self.watch.resume()
        plan = self._plan or self._prepare()
        for item in self._items_of[relation]:
            lineage = self._admitted[item]
            if rows is not None:
                lineage = self._admitted[item] = lineage[rows]
            self._store(self._inputs[item], lineage, first)
            self._stored(self._inputs[item], first, first + len(lineage))
        found: list[JoinResults] = []
        if plan.whole_limits and any(limit.exceeded for limit in plan.whole_limits):
            self._drain(plan, first, found)
            plan = self._prepare()
        else:
            self._store_in_order(plan, relation, len(packet), first)
        more = more and len(self._items_of[relation]) == 1
        if self.is_limited:
            found = self._join_within(plan, relation, len(packet), first)
        else:
            self._join_stored(plan, relation, len(packet), first, found, more=more)
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
        """Join the tuples that were stored from `first` on."""
        for item in self._items_of[relation]:
            if self._inputs[item].state.relation.is_stream and count:
                ts_us = self._times(self._inputs[item], first, count)
                lineage = self._admitted[item]
                self._in_parts(plan, item, lineage, ts_us, first, first, found, more=more)
        if not more and self.queues:
            self._drain(plan, first, found)

    def _store(self, each: JoinInput, lineage: NDArray[np.uint64], first: int) -> None:
        at = first - each.state.base
        target = each.lineage.values[at : at + len(lineage)]
        words = min(lineage.shape[1], self._words)
        target[:, :words] = lineage[:, :words]
        if words < self._words:
            target[:, words:] = 0

    def _times(self, each: JoinInput, first: int, count: int) -> NDArray[np.int64]:
        """Event times as the state has them: always of one layout, whatever the packet's arrays are."""
        at = first - each.state.base
        return each.state.ts[at : at + count]

    def _store_in_order(self, plan: JoinPlan, relation: str, count: int, first: int) -> None:
        for item in self._items_of[relation]:
            lane = plan.lanes.get(item)
            if lane is not None:
                state = self._inputs[item].state
                ts_us = self._times(self._inputs[item], first, count)
                lane.insert(ts_us, first, self._admitted[item], state.values, state.base)

    def past(self, seat: Seat, most: int | None = None) -> list[JoinResults]:
        """All combinations of tuples that are in the states, for a seat that was added with `past`.

        Raises:
            TooMuchFound: when more than `most` would be made on the way.
            Flood: when it takes too long.
        """
        assert isinstance(seat, JoinSeat)
        plan = self._plan or self._prepare()
        item = min(each.item for each in seat.slot.part.stream_inputs)
        each = self._inputs[item]
        mask = bitmap([seat.slot.number], self._words)
        first, head = each.state.first, each.state.head
        lineage = each.lineage.values[first - each.state.base : head - each.state.base] & mask
        ts_us = self._times(each, first, head - first)
        found: list[JoinResults] = []
        queues = self.queues
        self.queues = queues if most is None else BoundedQueues(most)
        self.watch.resume()
        try:
            self._in_parts(plan, item, lineage, ts_us, first, head, found, more=False)
            self._drain(plan, head, found)
        finally:
            self.queues = queues
            self._teaching = False
            self._paused()
        return found

    def advance(self, watermarks: Mapping[str, int]) -> list[JoinResults]:
        """Nothing waits for the watermark in this join."""
        del watermarks
        return []

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """Tuples of the relation older than this can meet no future tuple; None when nothing may be purged.

        `watermarks` by folded stream name: no future tuple of the stream is older. A stream that is not there has no
        future tuples.
        """
        if self._plan is None:
            self._prepare()
        before = FAR_US
        for name, reach_us in self._reach_us[relation].items():
            watermark = watermarks.get(name)
            if watermark is not None:
                if reach_us >= FAR_US:
                    return None
                before = min(before, watermark - reach_us)
        return max(before, BEFORE_ALL_US)

    def measure(self) -> OperatorMetrics:
        """What the join did so far."""
        return self._join_metrics()

    def _join_metrics(self) -> JoinMetrics:
        parts = list(self._parts.values())
        used = [self._inputs[item] for items in self._items_of.values() for item in items]
        used.sort(key=lambda each: each.item)
        size = 0 if self._plan is None else sum(level.nbytes for level in self._plan.levels)
        phases, orders = self.phases.metrics()
        return JoinMetrics(
            name=self.name,
            tuples_in=self._tuples_in,
            tuples_out=self._results,
            seconds=self._seconds,
            bytes=size + sum(each.lineage.nbytes for each in used),
            decisions=() if self._plan is None else self._plan.decisions(self.name),
            slots=len(self),
            checked=sum(part.checks.evaluated for part in parts),
            hosts={part.host.name: part.results for part in parts} if len(parts) > 1 else {},
            inputs=tuple(
                JoinInputMetrics(
                    each.item,
                    each.state.relation.name,
                    self._work[each.item].probes,
                    self._work[each.item].candidates,
                    self._work[each.item].found,
                    each.lineage.nbytes,
                )
                for each in used
            ),
            queues=self._queue_metrics(),
            phases=phases,
            orders=orders,
            split=self.why_apart,
        )

    def work_of_levels(self) -> Iterator[tuple[Branch, TrainSize, Work]]:
        """What came to each level so far, which levels of one history have in common, and what was done at its item."""
        for branch, size in self.queues.branches():
            yield branch, size, self._work[branch.level.target.item]

    def inherit(self, other: MultiJoin) -> None:
        """Count on from where a node was that is no more; the results of hosts that were `gather`ed are counted already."""
        if not self._tuples_in:
            self.phases = other.phases
        self._tuples_in += other._tuples_in
        self._seconds += other._seconds
        self._results += other._results - sum(part.results for part in other.parts)
        for name, items in other._items_of.items():
            for mine, theirs in zip(self._items_of.get(name, ()), items, strict=False):
                self._work[mine].add(other._work[theirs])

    def _queue_metrics(self) -> tuple[QueueMetrics, ...]:
        """The trains that met each item, by their history."""
        found: dict[tuple[str, ...], QueueMetrics] = {}
        for (*bound, target), size in self.queues.sizes().items():
            names = tuple(self._inputs[item].state.relation.name for item in (*bound, target))
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


def _without(
    lineage: NDArray[np.uint64], rows: NDArray[np.bool_], slots: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The lineage with the slots cleared in the rows."""
    words = min(lineage.shape[1], len(slots))
    cleared = lineage.copy()
    cleared[rows, :words] &= ~slots[:words]
    return cleared


def push_packet(
    state: SharedState,
    joins: Sequence[PacketJoin],
    packet: Packet,
    *,
    keep_all: bool,
    more: bool = False,
) -> list[Found]:
    """Filter a packet for every join of its relation, insert what one of them wants (all with `keep_all`), join it.

    `more`: the next packet is of this relation too, so that joins may let a part of the work wait for it. A micro-batch with several streams is pushed stream by stream in a fixed order. Few unwanted tuples are kept as well:
    picking the others out would cost more than they do.
    """
    relation = fold(state.relation.name)
    if len(joins) == 1 and not more:
        taken = joins[0].take_packet(relation, packet, keep_all=keep_all)
        if taken is not None:
            return list(taken)
    wanted = np.zeros(len(packet), np.bool_)
    for join in joins:
        wanted |= join.admit(relation, packet)
    rows = None
    if not keep_all and 2 * np.count_nonzero(wanted) < len(packet):
        rows = np.flatnonzero(wanted)
        packet = packet.take(rows)
    first = state.insert(packet)
    found: list[Found] = []
    for join in joins:
        found += join.process(relation, packet, first, rows, more=more)
    return found


def warm() -> None:
    """Compile the kernels of the join, by joining a few tuples in each of its ways."""
    for order in ("adaptive", *ORDERS):
        _warm_in(order)
    word = np.zeros(1, np.uint64)
    count_slots_of(word[:, None], 0, word, np.zeros(WORD_BITS, np.int64))


def _warm_in(order: str) -> None:
    program = compile_program(_WARM)
    states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
    joins: dict[int, MultiJoin] = {}
    for body in program.graph.bodies.values():
        if body.host is not None:
            join = joins.setdefault(body.host.number, MultiJoin(body.host, states))
            join.phases.order = order
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
