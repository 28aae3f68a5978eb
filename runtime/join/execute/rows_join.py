"""Joins with ROWS windows: a tuple is alive while it is among the last k of its stream.

Which tuples are the last k when a combination is completed depends on the order of event time, not of arrival: tuples are
ordered by (event time, position of the item in FROM, arrival number), and the greatest tuple of a combination completes it.
So this join waits for the watermark: what lies below it has its final place, and every settled tuple completes combinations
with a range of the other items' tuples, which two binary searches find.

    A [ROWS 2], B      A at 1, 2, 4     B at 3, 4     FROM A, B
    B at 3 completes with A at 1, 2     (two of A so far)
    B at 4 completes with A at 2, 4     (at equal time A comes before B, as in FROM)

What a tuple's own conditions say is its lineage, as in every join; tuples that no query wants are kept too, because they count
among the last k. Candidates are made some at a time, from item to item, and between two times the join looks whether it may go on (`work_watch`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning.bound import ColumnRef, Comparison, ComparisonOp
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.join.execute.result_maker import ResultMaker
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, FAR_US, bitmap
from cqc.runtime.metrics.operators import RowsJoinMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import EquiJoin
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.join.execute.executor import NodeContext, Turn
    from cqc.runtime.join.execute.metaqueues import TrainSize
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.membership import JoinMembership
    from cqc.runtime.join.membership.slots import JoinSeat
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import Work
    from cqc.runtime.state.shared_state import SharedState

_ROOM = 1 << 17  # candidates at a time
_NOWHERE = Span(SourceFile("equality", ""), 0, 0)


class _Window:
    """The tuples of one item in the order (event time, arrival), from the oldest that can still be needed."""

    def __init__(self, state: SharedState, rows: int | None) -> None:
        self.state = state
        self.rows = rows
        self.ts = np.zeros(0, np.int64)
        self.arrival = np.zeros(0, np.int64)
        self.positions = np.zeros(0, np.int64)
        self.wanted = np.zeros(0, np.bool_)  # by the item's own filter
        self.done = 0  # tuples below this index have completed their combinations

    def add(self, first: int, wanted: NDArray[np.bool_]) -> None:
        """Take the tuples that were stored from position `first` on."""
        positions = np.arange(first, first + len(wanted))
        self.ts = np.concatenate([self.ts, self.state.ts_at(positions)])
        self.arrival = np.concatenate([self.arrival, self.state.arrival_at(positions)])
        self.positions = np.concatenate([self.positions, positions])
        self.wanted = np.concatenate([self.wanted, wanted])
        order = np.lexsort((self.arrival, self.ts))
        self._pick(order)

    def drop(self, count: int) -> None:
        """Forget the oldest."""
        if count:
            self._pick(np.arange(count, len(self.ts)))
            self.done -= count

    def _pick(self, order: NDArray[np.int64]) -> None:
        self.ts, self.arrival = self.ts[order], self.arrival[order]
        self.positions, self.wanted = self.positions[order], self.wanted[order]


class RowsJoin:
    """The executor of a node with one body that has ROWS windows. Exactness first: it works by expression over ranges of candidates."""

    wants_all = ranks_last = True
    may_be_shared = starts_from_state = False

    def __init__(self, body: Body) -> None:
        self._body = body
        self._streams = [item for item, each in enumerate(body.relations) if each.is_stream]
        self._conditions = _conditions(body)
        self._windows: list[_Window] = []
        self._candidates = 0
        self._context: NodeContext
        self._maker: ResultMaker
        self._part: HostAtNode
        self._slot: NDArray[np.uint64]  # the lineage of what the only slot wants

    def name(self, members: JoinMembership) -> str:
        """By its relations: it is of one query alone."""
        del members
        return f"rows({', '.join(relation.name for relation in self._body.relations)})"

    def prepare(self, context: NodeContext) -> None:
        """Work for the body, which sits there by now; rows of tables may be there before it."""
        self._context = context
        self._maker = ResultMaker(context)
        self._part = context.members.parts[0]
        (slot,) = context.plan.of(self._part).numbers
        self._slot = bitmap([slot], context.plan.words)[None, :]
        if self._windows:
            return
        self._windows = [
            _Window(state, rows)
            for state, rows in zip(self._part.states, self._body.rows, strict=True)
        ]
        for each in self._part.inputs:
            state = each.state
            if not state.relation.is_stream and len(state):
                live = slice(state.first - state.base, state.head - state.base)
                self.stored(each.item, state.first, each.lineage.values[live])

    def forget(self) -> None:
        """The only body stays until the node goes."""

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> list[JoinResults] | None:
        """Packets are stored before it is known whether the join wants them."""

    def stored(self, item: int, first: int, lineage: NDArray[np.uint64]) -> None:
        """Take new tuples into their window: whether the body wants them or not, they count among the last k."""
        words = min(lineage.shape[1], self._slot.shape[1])
        wanted: NDArray[np.bool_] = np.any(lineage[:, :words] & self._slot[:, :words], axis=1)
        self._windows[item].add(first, wanted)

    def join(
        self, relation: str, count: int, admitted: Mapping[int, NDArray[np.uint64]], turn: Turn
    ) -> None:
        """Combinations come with the watermark."""

    def drain(self, turn: Turn) -> None:
        """What waits, waits for the watermark."""

    def begin_again(self) -> None:
        """Nothing is found in the middle of a packet."""

    def packet_done(self, rows: int) -> None:
        """Nothing is left to do."""

    def past(self, seat: JoinSeat, most: int | None) -> list[JoinResults]:
        """Which tuples were the last k in the past is not known any more."""
        raise AssertionError("a query with ROWS windows is not asked for its past")

    def advance(self, watermarks: Mapping[str, int]) -> list[JoinResults]:
        """The combinations completed by tuples that are now below the watermark of all the body's streams."""
        names = {fold(self._body.relations[item].name) for item in self._streams}
        settled_us = min((watermarks[name] for name in names if name in watermarks), default=FAR_US)
        found: list[JoinResults] = []
        for item in self._streams:
            window = self._windows[item]
            ready = int(np.searchsorted(window.ts, settled_us))
            lasts = np.arange(window.done, ready)
            window.done = max(ready, window.done)
            lasts = lasts[window.wanted[lasts]]
            if len(lasts):
                found += self._complete(item, lasts)
        for item in self._streams:
            self._forget(item, settled_us)
        return found

    def _complete(self, item: int, lasts: NDArray[np.int64]) -> list[JoinResults]:
        """The combinations whose greatest tuple is one of `lasts` of the item."""
        others = [other for other in range(len(self._windows)) if other != item]
        ranges = {other: self._range(item, other, lasts) for other in others}
        return self._extend({item: lasts}, np.arange(len(lasts)), others, ranges)

    def _extend(
        self,
        chosen: dict[int, NDArray[np.int64]],
        rows: NDArray[np.int64],
        others: Sequence[int],
        ranges: Mapping[int, tuple[NDArray[np.int64], NDArray[np.int64]]],
    ) -> list[JoinResults]:
        """Extend combinations by all other items, one after the other, few enough at a time."""
        if not others or not len(rows):
            return self._whole(chosen) if len(rows) else []
        other, rest = others[0], others[1:]
        begin, end = ranges[other]
        limits = self._context.limits
        found = []
        for part in _parts(np.maximum(end[rows] - begin[rows], 0)):
            some = {item: indexes[part] for item, indexes in chosen.items()}
            extended, left = self._expand(some, rows[part], other, begin, end)
            if limits.watch.clock() > limits.watch.look_at:
                limits.look(self._context.members, self._slot, 1)
            found += self._extend(extended, left, rest, ranges)
        return found

    def _range(
        self, item: int, other: int, lasts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The tuples of `other` that are alive at each of the item's tuples: [begin, end) in its window."""
        window, last_ts = self._windows[other], self._windows[item].ts[lasts]
        if not window.state.relation.is_stream:
            return np.zeros(len(lasts), np.int64), np.full(len(lasts), len(window.ts))
        earlier = self._body.order[other] < self._body.order[item]
        end = np.searchsorted(window.ts, last_ts, side="right" if earlier else "left")
        begin = np.zeros(len(lasts), np.int64)
        if window.rows is not None:
            begin = np.maximum(end - window.rows, 0)
        most = self._body.bounds.most_us[other][item]
        if most is not None:
            back_us = min(most, FAR_US)
            oldest = np.maximum(last_ts, BEFORE_ALL_US + max(back_us, 0)) - back_us
            begin = np.maximum(begin, np.searchsorted(window.ts, oldest))
        return begin, end

    def _expand(
        self,
        chosen: dict[int, NDArray[np.int64]],
        rows: NDArray[np.int64],
        item: int,
        begin: NDArray[np.int64],
        end: NDArray[np.int64],
    ) -> tuple[dict[int, NDArray[np.int64]], NDArray[np.int64]]:
        """Extend combinations by every alive tuple of one more item, and keep those that meet the conditions."""
        counts = np.maximum(end[rows] - begin[rows], 0)
        repeat = np.repeat(np.arange(len(rows)), counts)
        offset = np.arange(len(repeat)) - np.repeat(np.cumsum(counts) - counts, counts)
        extended = {other: indexes[repeat] for other, indexes in chosen.items()}
        extended[item] = begin[rows][repeat] + offset
        self._candidates += len(repeat)
        keep = self._windows[item].wanted[extended[item]]
        for other in chosen:
            keep &= self._inside(item, other, extended)
        extended = {each: indexes[keep] for each, indexes in extended.items()}
        rows = rows[repeat][keep]
        for expression, items in self._conditions:
            if item in items and items <= extended.keys() and len(rows):
                holds = self._part.checks.is_true(expression, self._positions(extended))
                extended = {each: indexes[holds] for each, indexes in extended.items()}
                rows = rows[holds]
        return extended, rows

    def _inside(
        self, item: int, other: int, chosen: dict[int, NDArray[np.int64]]
    ) -> NDArray[np.bool_]:
        most = self._body.bounds.most_us
        distance = self._windows[item].ts[chosen[item]] - self._windows[other].ts[chosen[other]]
        inside = np.ones(len(distance), np.bool_)
        upper, lower = most[other][item], most[item][other]
        if upper is not None:
            inside &= distance <= upper
        if lower is not None:
            inside &= -distance <= lower
        return inside

    def _positions(self, chosen: dict[int, NDArray[np.int64]]) -> NDArray[np.int64]:
        """Where the tuples of combinations are in their states; 0 for items that are not bound yet."""
        count = len(next(iter(chosen.values())))
        positions = np.zeros((len(self._windows), count), np.int64)
        for item, indexes in chosen.items():
            positions[item] = self._windows[item].positions[indexes]
        return positions

    def _whole(self, chosen: dict[int, NDArray[np.int64]]) -> list[JoinResults]:
        """Combinations of all items are results."""
        positions = self._positions(chosen)
        times = [self._windows[item].ts[chosen[item]] for item in self._streams]
        lineage = np.repeat(self._slot, positions.shape[1], axis=0)
        return self._maker.rank(self._part, positions, np.maximum.reduce(times), lineage)

    def _forget(self, item: int, settled_us: int) -> None:
        """Drop what no future tuple can meet: not among the last k any more, or too old for every window."""
        window = self._windows[item]
        needless = 0
        if window.rows is not None:
            needless = window.done - window.rows
        others = [other for other in self._streams if other != item]
        limits = [self._body.bounds.most_us[item][other] for other in others]
        bounded = [limit for limit in limits if limit is not None]
        if len(bounded) == len(limits):
            oldest_us = max(settled_us - max(bounded, default=0), BEFORE_ALL_US)
            needless = max(needless, int(np.searchsorted(window.ts, oldest_us)))
        window.drop(max(0, min(needless, window.done)))

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """Tuples of the relation older than this are not needed any more."""
        del watermarks  # `advance` has dropped what they allow
        items = self._context.members.items_of[relation]
        windows = [self._windows[item] for item in items]
        return min((int(window.ts[0]) for window in windows if len(window.ts)), default=FAR_US)

    def measure(self, split: str) -> RowsJoinMetrics:
        """How many combinations were looked at."""
        del split  # its node has one host
        members, counts = self._context.members, self._context.counts
        size = sum(each.lineage.nbytes for each in members.used_inputs)
        for each in self._windows:
            size += each.ts.nbytes + each.arrival.nbytes + each.positions.nbytes
        return RowsJoinMetrics(
            name=self.name(members),
            tuples_in=counts.tuples_in,
            tuples_out=counts.results,
            seconds=counts.seconds,
            bytes=int(size),
            candidates=self._candidates,
        )

    def work_of_levels(self) -> Iterator[tuple[Branch, TrainSize, Work]]:
        """There are no routes."""
        return iter(())


def _parts(totals: NDArray[np.int64]) -> list[slice]:
    """Cut rows into parts with few enough candidates each."""
    ends = np.cumsum(totals) // _ROOM
    starts = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(totals)]
    return [slice(begin, end) for begin, end in pairwise(starts) if begin < end]


def _conditions(body: Body) -> list[tuple[Expression, frozenset[int]]]:
    found: list[tuple[Expression, frozenset[int]]] = [
        (_equality(body, edge), frozenset((edge.left_item, edge.right_item)))
        for edge in body.equi_joins
    ]
    found += [
        (theta.expression, frozenset((theta.left_item, theta.right_item)))
        for theta in body.theta_joins
    ]
    found += [(residual.expression, frozenset(residual.items)) for residual in body.residuals]
    return found


def _equality(body: Body, edge: EquiJoin) -> Expression:
    def column(item: int, number: int) -> ColumnRef:
        return ColumnRef(item, number, body.relations[item].columns[number].type, _NOWHERE)

    left = column(edge.left_item, edge.left_column)
    right = column(edge.right_item, edge.right_column)
    return Comparison(left, ComparisonOp.EQ, right, _NOWHERE)
