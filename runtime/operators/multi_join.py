"""The n-ary join of a host: every body over the same relations with the same equalities, answered by one pass.

A packet of one stream is filtered for all bodies at once, which gives each tuple its lineage, a bit for every slot that
still wants it. The tuples go into the stream's shared state, their lineage beside them, and then meet the states of the
other items one after the other (M-Join, Juggler's multi-join). At each step the lineage of a partial combination shrinks to
the slots whose windows and conditions all its tuples meet; combinations that no slot wants are never made. Conditions over
several items that no index answers are evaluated last, once for each distinct expression.

    R.a = S.a, S.b = T.b     slot 0: R.x > 5, window 10 s     slot 1: S.x < 3, window 2 s
    new S(a=1, b=2, x=1) {0,1} -> R(a=1, x=9) 4 s older {0} -> T(b=2) {0}: one result, of slot 0

Exactly once: a packet is inserted first, then joined with what the other states hold, so a combination appears when the
last of its tuples is processed. Where a relation is in FROM twice, items before the one that starts see only tuples from
before the packet: a combination with several new tuples is made by the first item that has one.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.catalog import fold
from cqc.compiler.types import ColumnType
from cqc.runtime.columns import Column
from cqc.runtime.found import OperatorCount
from cqc.runtime.operators.item_filter import ItemFilter
from cqc.runtime.operators.join_checks import JoinChecks
from cqc.runtime.operators.join_level import JoinInput, Work
from cqc.runtime.operators.join_plan import JoinPlan
from cqc.runtime.operators.join_results import JoinResults
from cqc.runtime.operators.join_slots import JoinSeat, SlotTable
from cqc.runtime.operators.lanes import Lane
from cqc.runtime.operators.member_ranks import rank_members
from cqc.runtime.operators.probe import count_slots, finish_rows, keep_rows, mark_wanted, start_rows
from cqc.runtime.operators.rank_lineage import BEFORE_ALL_US, FAR_US, WORD_BITS, bitmap, word_count
from cqc.runtime.operators.shared_state import SharedState
from cqc.runtime.packet import Packet

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.runtime.found import Found, PacketJoin, Seat
    from cqc.runtime.operators.join_level import Rows
    from cqc.runtime.operators.join_plan import Path

# How many tuples start a join at a time, between these two, so that its partial combinations stay near a size.
_LEAST_PART, _MOST_PART = 64, 16_384
_ROWS_AT_ONCE = 1 << 20


class MultiJoin:
    """One host at run time. Bodies come and go between packets."""

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name."""
        self.name = host.name
        self._equi_joins = host.equi_joins
        self._words = 1
        self._inputs = tuple(
            self._input(item, states[fold(relation.name)])
            for item, relation in enumerate(host.relations)
        )
        self._states = [each.state for each in self._inputs]
        self._items_of: dict[str, list[int]] = {}
        for item, relation in enumerate(host.relations):
            self._items_of.setdefault(fold(relation.name), []).append(item)
        self._filters = [
            ItemFilter(tuple(column.type for column in relation.columns))
            for relation in host.relations
        ]
        self._table = SlotTable()
        self._plan: JoinPlan | None = None
        # By relation: how much later than its tuples those of other streams may be.
        self._reach_us: dict[str, list[tuple[str, int]]] = {}
        self._orders: dict[int, tuple[int, ...]] = {}
        self._checks = JoinChecks(self._inputs, self._equi_joins)
        self._admitted: dict[int, NDArray[np.uint64]] = {}
        self._counts = np.zeros(WORD_BITS, np.int64)
        self._work = [Work() for _ in self._inputs]
        self._part_rows = _LEAST_PART
        self._tuples_in = 0
        self._results = 0
        self._seconds = 0.0

    def __len__(self) -> int:
        return len(self._table)

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return self._checks.failures

    # Bodies come and go

    def add(self, body: Body, *, past: bool = False) -> JoinSeat:
        """Serve a body: it sees tuples inserted from now on, with `past` also those that are in the states."""
        self._clear_soiled()
        seat, is_new = self._table.place(body, self._epoch(past=past))
        self._plan = None
        if is_new:
            self._widen(word_count(self._table.size))
            for each, formula in zip(self._inputs, body.filters, strict=True):
                self._filters[each.item].add(seat.slot.number, formula)
                if past or not each.state.relation.is_stream:
                    self._backfill(each, seat)
        return seat

    def remove(self, seat: Seat) -> None:
        """Stop serving a body; what only it used is freed."""
        assert isinstance(seat, JoinSeat)
        self._plan = None
        if self._table.leave(seat):
            for each in self._filters:
                each.remove(seat.slot.number)

    def close(self) -> None:
        """Give back the lanes in the shared states; the join is not used any more."""
        for each in self._inputs:
            each.state.detach(each.lineage)

    def set_order(self, start: int, order: tuple[int, ...]) -> None:
        """In which order a new tuple of item `start` meets the other items; changes the cost, not the answer."""
        self._orders[start] = order
        self._plan = None

    def _input(self, item: int, state: SharedState) -> JoinInput:
        lane = Lane(np.zeros((state.capacity, self._words), np.uint64))
        state.attach(lane)
        return JoinInput(item, state, lane)

    def _epoch(self, *, past: bool) -> Hashable:
        streams = [each.state for each in self._inputs if each.state.relation.is_stream]
        if past or not any(len(state) for state in streams):
            return past
        return past, tuple(state.head for state in streams)

    def _widen(self, words: int) -> None:
        if words <= self._words:
            return
        for each in self._inputs:
            wider = np.zeros((each.state.capacity, words), np.uint64)
            wider[:, : self._words] = each.lineage.values
            each.lineage.values = wider
        self._words = words
        self._counts = np.zeros(words * WORD_BITS, np.int64)

    def _clear_soiled(self) -> None:
        soiled = self._table.take_soiled()
        if soiled:
            kept = ~bitmap(soiled, self._words)
            for each in self._inputs:
                each.lineage.values &= kept

    def _backfill(self, each: JoinInput, seat: JoinSeat) -> None:
        """Let a slot see the tuples that a state already holds."""
        state = each.state
        if not len(state):
            return
        own = ItemFilter(tuple(column.type for column in state.relation.columns))
        own.add(0, seat.body.filters[each.item])
        packet = state.packet()
        wanted = own.match(packet)[:, 0] & np.uint64(1)
        for column in _required_columns(seat.body, each.item):
            valid = packet.columns[column].valid
            if valid is not None:
                wanted[~valid] = 0
        word, bit = divmod(seat.slot.number, WORD_BITS)
        live = slice(state.first - state.base, state.head - state.base)
        each.lineage.values[live, word] |= wanted << np.uint64(bit)

    def _prepare(self) -> JoinPlan:
        slots = list(self._table.slots.values())
        for slot in slots:
            slot.arrange()
        plan = JoinPlan(
            self._inputs, self._equi_joins, slots, self._words, self._orders, self._work
        )
        self._plan = plan
        names = {item: name for name, items in self._items_of.items() for item in items}
        self._reach_us = {
            name: [
                (names[other], us) for item in items for other, us in plan.reach_us(item).items()
            ]
            for name, items in self._items_of.items()
        }
        return plan

    # Packets

    def admit(self, relation: str, packet: Packet) -> NDArray[np.bool_]:
        """Filter a packet; TRUE where some body wants the tuple. `process` follows with what was inserted of it."""
        started = perf_counter()
        plan = self._plan or self._prepare()
        wanted = np.zeros(len(packet), np.bool_)
        for item in self._items_of[relation]:
            lineage = self._filters[item].match(packet)
            for required in plan.required[item]:
                valid = packet.columns[required.column].valid
                if valid is not None:
                    lineage = _without(lineage, ~valid, required.slots)
            self._admitted[item] = lineage
            mark_wanted(lineage, wanted)
        self._tuples_in += len(packet)
        self._seconds += perf_counter() - started
        return wanted

    def process(
        self, relation: str, packet: Packet, first: int, rows: NDArray[np.int64] | None = None
    ) -> list[JoinResults]:
        """Join a packet that was inserted at position `first`; `rows` are its rows in the packet that was admitted."""
        started = perf_counter()
        plan = self._plan or self._prepare()
        for item in self._items_of[relation]:
            lineage = self._admitted[item]
            if rows is not None:
                lineage = self._admitted[item] = lineage[rows]
            self._store(self._inputs[item], lineage, first)
        if plan.whole_limits and any(limit.exceeded for limit in plan.whole_limits):
            plan = self._prepare()
        else:
            self._store_in_order(plan, relation, len(packet), first)
        found = []
        for item in self._items_of[relation]:
            if self._inputs[item].state.relation.is_stream and len(packet):
                ts_us = self._times(self._inputs[item], first, len(packet))
                found += self._in_parts(plan, item, self._admitted[item], ts_us, first, first)
        self._seconds += perf_counter() - started
        return found

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

    def _in_parts(
        self,
        plan: JoinPlan,
        item: int,
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
        first: int,
        packet_first: int,
    ) -> list[JoinResults]:
        """Start with so many tuples at a time that the partial combinations of the last part would fit again."""
        found: list[JoinResults] = []
        begin = 0
        while begin < len(ts_us):
            part = slice(begin, begin + self._part_rows)
            found += self._start(
                plan, item, lineage[part], ts_us[part], first + begin, packet_first
            )
            begin = part.stop
            peak = max((level.rows.count for level in plan.current_levels(item)), default=0)
            self._part_rows = _part_rows(self._part_rows, peak)
        return found

    def _start(
        self,
        plan: JoinPlan,
        item: int,
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
        first: int,
        packet_first: int | None = None,
    ) -> list[JoinResults]:
        path = plan.path(item, ts_us)
        rows = path.start
        if len(ts_us) > rows.room:
            rows.resize(2 * len(ts_us))
        rows.count = start_rows(lineage, ts_us, first, rows.positions, rows.ts, rows.lineage)
        packet_first = first if packet_first is None else packet_first
        for level in path.levels:
            probes = rows.count
            if not probes:
                return []
            rows = level.extend(rows, packet_first)
            plan.observe(item, level, probes, rows.count)
        return self._finish(plan, path, rows) if rows.count else []

    def _finish(self, plan: JoinPlan, path: Path, rows: Rows) -> list[JoinResults]:
        positions, ts_us, lineage = finish_rows(
            rows.count, rows.positions, rows.ts, rows.lineage, path.places, path.stream_places
        )
        if plan.checks or self._checks.text_edges:
            self._checks.apply(positions, lineage, plan.checks, plan.check_slots)
            kept = keep_rows(lineage)
            if len(kept) < len(lineage):
                positions, lineage, ts_us = positions[:, kept], lineage[kept], ts_us[kept]
        if not len(ts_us):
            return []
        count_slots(lineage, len(lineage), self._counts)
        counts = self._counts[: self._table.size].copy()
        ranges = rank_members(
            plan, self._table, self._states, self._checks, positions, lineage, counts
        )
        self._results += len(ts_us)
        return [
            JoinResults(self._states, positions, ts_us, lineage, counts, self._table.slots, ranges)
        ]

    def past(self, seat: Seat) -> list[JoinResults]:
        """All combinations of tuples that are in the states, for a seat that was added with `past`."""
        assert isinstance(seat, JoinSeat)
        plan = self._plan or self._prepare()
        item = plan.starts[0]
        each = self._inputs[item]
        mask = bitmap([seat.slot.number], self._words)
        first, head = each.state.first, each.state.head
        lineage = each.lineage.values[first - each.state.base : head - each.state.base] & mask
        ts_us = self._times(each, first, head - first)
        return self._in_parts(plan, item, lineage, ts_us, first, head)

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
        for name, reach_us in self._reach_us[relation]:
            watermark = watermarks.get(name)
            if watermark is not None:
                if reach_us >= FAR_US:
                    return None
                before = min(before, watermark - reach_us)
        return max(before, BEFORE_ALL_US)

    def measure(self) -> OperatorCount:
        """What the join did so far."""
        detail = {"slots": len(self), "checked": self._checks.evaluated}
        for each, work in zip(self._inputs, self._work, strict=True):
            name = f"{each.item}:{each.state.relation.name}"
            detail[f"{name} probes"] = work.probes
            detail[f"{name} candidates"] = work.candidates
            detail[f"{name} found"] = work.found
            detail[f"{name} bytes"] = each.lineage.nbytes
        paths = [] if self._plan is None else self._plan.paths
        size = sum(level.nbytes for path in paths for level in path.levels)
        size += sum(each.lineage.nbytes for each in self._inputs)
        return OperatorCount(self.name, self._tuples_in, self._results, self._seconds, size, detail)


def _part_rows(rows: int, peak: int) -> int:
    """How many tuples to start with next, when `rows` of them led to `peak` partial combinations."""
    if peak > _ROWS_AT_ONCE:
        return max(1, rows * _ROWS_AT_ONCE // peak)
    return min(_MOST_PART, max(4 * rows, _LEAST_PART)) if 8 * peak < _ROWS_AT_ONCE else rows


def _without(
    lineage: NDArray[np.uint64], rows: NDArray[np.bool_], slots: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The lineage with the slots cleared in the rows."""
    words = min(lineage.shape[1], len(slots))
    cleared = lineage.copy()
    cleared[rows, :words] &= ~slots[:words]
    return cleared


def _required_columns(body: Body, item: int) -> set[int]:
    ends = [(edge.left_item, edge.left_column) for edge in body.equi_joins]
    ends += [(edge.right_item, edge.right_column) for edge in body.equi_joins]
    ends += [(theta.left_item, theta.left_column) for theta in body.theta_joins]
    ends += [(theta.right_item, theta.right_column) for theta in body.theta_joins]
    return {column for end_item, column in ends if end_item == item}


def push_packet(
    state: SharedState, joins: Sequence[PacketJoin], packet: Packet, *, keep_all: bool
) -> list[Found]:
    """Filter a packet for every join of its relation, insert what one of them wants (all with `keep_all`), join it.

    A micro-batch with several streams is pushed stream by stream in a fixed order. Few unwanted tuples are kept as well:
    picking the others out would cost more than they do.
    """
    relation = fold(state.relation.name)
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
        found += join.process(relation, packet, first, rows)
    return found


def warm() -> None:
    """Compile the kernels of the join, by joining a few tuples in each of its ways."""
    program = compile_program(_WARM)
    states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
    joins: dict[int, MultiJoin] = {}
    for body in program.graph.bodies.values():
        if body.host is not None:
            join = joins.setdefault(body.host.number, MultiJoin(body.host, states))
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
