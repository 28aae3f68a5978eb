"""Joins with ROWS windows: a tuple is alive while it is among the last k of its stream.

Which tuples are the last k when a combination is completed depends on the order of event time, not of arrival: tuples are
ordered by (event time, position of the item in FROM, arrival number), and the greatest tuple of a combination completes it.
So this join waits for the watermark: what lies below it has its final place, and every settled tuple completes combinations
with a range of the other items' tuples, which two binary searches find.

    A [ROWS 2], B      A at 1, 2, 4     B at 3, 4     FROM A, B
    B at 3 completes with A at 1, 2     (two of A so far)
    B at 4 completes with A at 2, 4     (at equal time A comes before B, as in FROM)

Candidates are made some at a time, from item to item, and between two times the join looks whether it may go on (`work_watch`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning.bound import ColumnRef, Comparison, ComparisonOp
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt.work_watch import REMOVED, SlotSeconds, WorkWatch, too_long
from cqc.runtime.expressions.compile_expression import compile_expression
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.lineage.matches import Matches, SlotRows
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, FAR_US
from cqc.runtime.metrics.operators import RowsJoinMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import EquiJoin
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.expressions.compile_expression import Compiled
    from cqc.runtime.lineage.matches import Seat
    from cqc.runtime.state.shared_state import SharedState

_ROOM = 1 << 17  # candidates at a time
_NOWHERE = Span(SourceFile("equality", ""), 0, 0)


@dataclass(slots=True, eq=False)
class RowsSeat:
    """The body of a ROWS join."""

    body: Body
    results: int = 0
    slot_number: int = 0  # the only one of its operator
    key: int = 0  # there is only one at its operator
    seconds: float = 0.0

    @property
    def source(self) -> RowsSeat:
        return self


class RowsFound:
    """Combinations that the watermark completed."""

    def __init__(
        self,
        seat: RowsSeat,
        states: Sequence[SharedState],
        positions: NDArray[np.int64],
        ts_us: NDArray[np.int64],
    ) -> None:
        self._seat = seat
        self._states = states
        self._positions = positions
        self._ts_us = ts_us

    def __len__(self) -> int:
        return len(self._ts_us)

    @property
    def ts_us(self) -> NDArray[np.int64]:
        return self._ts_us

    @property
    def positions(self) -> Sequence[NDArray[np.int64]]:
        return list(self._positions)

    @property
    def source(self) -> RowsSeat:
        return self._seat

    def matches(self, keys: NDArray[np.int64]) -> Matches:
        return Matches(
            keys, np.full(len(keys), len(self)), np.tile(np.arange(len(self)), len(keys))
        )

    def hits(self) -> Sequence[RowsSeat]:
        return [self._seat] if len(self) else []

    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        del seat  # there is only one
        return np.arange(len(self))

    def by_slot(self) -> SlotRows:
        count = len(self)
        nothing = np.zeros(1, np.int64)
        return SlotRows(self._seat, nothing, nothing, nothing + count, np.arange(count))

    def seats_at(self, slot: int) -> Sequence[Seat]:
        del slot  # there is only one
        return [self._seat]

    def column(self, item: int, column: int, rows: NDArray[np.int64] | None) -> Column:
        positions = self._positions[item]
        return self._states[item].column(column, positions if rows is None else positions[rows])


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

    def add(self, packet: Packet, first: int, wanted: NDArray[np.bool_]) -> None:
        self.ts = np.concatenate([self.ts, packet.ts_us])
        self.arrival = np.concatenate([self.arrival, packet.arrival])
        self.positions = np.concatenate([self.positions, np.arange(first, first + len(packet))])
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


@dataclass(frozen=True, slots=True)
class _Condition:
    compiled: Compiled
    items: frozenset[int]


class RowsJoin:
    """One body with ROWS windows. Exactness first: it works by expression over ranges of candidates."""

    def __init__(self, body: Body, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name."""
        self.seat = RowsSeat(body)
        self._body = body
        self._states = [states[fold(relation.name)] for relation in body.relations]
        self._windows = [
            _Window(state, rows) for state, rows in zip(self._states, body.rows, strict=True)
        ]
        self._items_of: dict[str, list[int]] = {}
        for item, relation in enumerate(body.relations):
            self._items_of.setdefault(fold(relation.name), []).append(item)
        self._streams = [item for item, each in enumerate(body.relations) if each.is_stream]
        self._filters = []
        for relation, formula in zip(body.relations, body.filters, strict=True):
            own = StreamFilter(tuple(column.type for column in relation.columns))
            own.add(0, formula)
            self._filters.append(own)
        self._conditions = [
            _Condition(compile_expression(expression), items)
            for expression, items in _conditions(body)
        ]
        for item, state in enumerate(self._states):
            if not state.relation.is_stream and len(state):
                packet = state.packet()
                self._windows[item].add(packet, state.first, self._wanted(item, packet))
        self._tuples_in = 0
        self._candidates = 0
        self._seconds = 0.0
        self.watch = WorkWatch()
        self.silenced: dict[RowsSeat, str] = {}  # its only seat, and why, when it must leave
        # Told by the owner: one of the queries it is for, and whether all of them go.
        self.query_at: Callable[[int], str] = lambda slot: ""
        self.left_by: Callable[[set[str]], list[RowsSeat]] = lambda queries: []
        self._slot_seconds = SlotSeconds()

    def __len__(self) -> int:
        return 1

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return sum(condition.compiled.failures for condition in self._conditions)

    def take_packet(self, relation: str, packet: Packet, *, keep_all: bool) -> None:
        """Packets are stored before it is known whether the join wants them."""

    def admit(self, relation: str, packet: Packet) -> NDArray[np.bool_]:
        """Every tuple counts for the last k of its stream, whether the query's conditions want it or not."""
        del relation
        return np.ones(len(packet), np.bool_)

    def process(
        self,
        relation: str,
        packet: Packet,
        first: int,
        rows: NDArray[np.int64] | None = None,
        *,
        more: bool = False,
    ) -> list[RowsFound]:
        """Take in a packet that was inserted at position `first`; its combinations come with the watermark."""
        del rows, more
        started = perf_counter()
        for item in self._items_of[relation]:
            self._windows[item].add(packet, first, self._wanted(item, packet))
        self._tuples_in += len(packet)
        self._seconds += perf_counter() - started
        return []

    def _wanted(self, item: int, packet: Packet) -> NDArray[np.bool_]:
        wanted: NDArray[np.bool_] = self._filters[item].match(packet).by_tuple()[:, 0] != 0
        return wanted

    def advance(self, watermarks: Mapping[str, int]) -> list[RowsFound]:
        """The combinations completed by tuples that are now below the watermark of all the body's streams."""
        if self.silenced:
            return []
        self.watch.resume()
        try:
            return self._advance(watermarks)
        except Flood as flood:
            self.silenced[self.seat] = flood.why
            return []
        finally:
            self.watch.pause()

    def _advance(self, watermarks: Mapping[str, int]) -> list[RowsFound]:
        names = {fold(self._body.relations[item].name) for item in self._streams}
        settled_us = min((watermarks[name] for name in names if name in watermarks), default=FAR_US)
        started = perf_counter()
        found: list[RowsFound] = []
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
        self._seconds += perf_counter() - started
        return found

    def _complete(self, item: int, lasts: NDArray[np.int64]) -> list[RowsFound]:
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
    ) -> list[RowsFound]:
        """Extend combinations by all other items, one after the other, few enough at a time."""
        if not others or not len(rows):
            return self._found(chosen) if len(rows) else []
        other, rest = others[0], others[1:]
        begin, end = ranges[other]
        found = []
        for part in _parts(np.maximum(end[rows] - begin[rows], 0)):
            some = {item: indexes[part] for item, indexes in chosen.items()}
            extended, left = self._expand(some, rows[part], other, begin, end)
            if self.watch.clock() > self.watch.look_at:
                self._look()
            found += self._extend(extended, left, rest, ranges)
        return found

    def _look(self) -> None:
        """A few milliseconds have passed.

        Raises:
            Flood: when it takes too long, or nobody wants it.
            Halted: when everything has to stop.
        """
        watch = self.watch
        spent = self._slot_seconds.of(watch.turn, 1)
        seconds = watch.taken()
        self.seat.seconds += seconds
        spent += seconds
        if watch.dropped and self.left_by(watch.dropped):
            raise Flood([0], REMOVED)
        if watch.most_seconds is not None and spent[0] > watch.most_seconds:
            raise Flood([0], too_long(watch.most_seconds))
        if watch.is_time_to_tell():
            watch.busiest = self.query_at(0)

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
        for condition in self._conditions:
            if item in condition.items and condition.items <= extended.keys() and len(rows):
                holds = self._holds(condition, extended, len(rows))
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

    def _holds(
        self, condition: _Condition, chosen: dict[int, NDArray[np.int64]], count: int
    ) -> NDArray[np.bool_]:
        def fetch(item: int, column: int) -> Column:
            window = self._windows[item]
            return window.state.column(column, window.positions[chosen[item]])

        return condition.compiled.is_true(fetch, count)

    def _found(self, chosen: dict[int, NDArray[np.int64]]) -> list[RowsFound]:
        positions = np.array(
            [self._windows[item].positions[chosen[item]] for item in range(len(self._windows))]
        )
        if not positions.shape[1]:
            return []
        times = [self._windows[item].ts[chosen[item]] for item in self._streams]
        self.seat.results += positions.shape[1]
        return [RowsFound(self.seat, self._states, positions, np.maximum.reduce(times))]

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
        windows = [self._windows[item] for item in self._items_of[relation]]
        return min((int(window.ts[0]) for window in windows if len(window.ts)), default=FAR_US)

    def measure(self) -> RowsJoinMetrics:
        """What the join did so far."""
        size = sum(
            each.ts.nbytes + each.arrival.nbytes + each.positions.nbytes for each in self._windows
        )
        return RowsJoinMetrics(
            name=f"rows({', '.join(relation.name for relation in self._body.relations)})",
            tuples_in=self._tuples_in,
            tuples_out=self.seat.results,
            seconds=self._seconds,
            bytes=int(size),
            candidates=self._candidates,
        )


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
