"""Queries over the rows of views, answered for one window: nested SQL.

What a view is made of is kept as for every pull query (`view_rows`); when somebody asks, the rows of each view that lie in the
window are laid beside the tuples that are kept, in a state of their own, and the query's filters, joins and clauses work on
them as they work on tuples.

    SELECT AVG(n) FROM (SELECT room, COUNT(*) AS n FROM s GROUP BY room) AS x BEGIN NOW - 60 END NOW
    asked at 100: the groups of 40..100 are the rows of x
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cqc.compiler.meaning.bound import Instant, Pull
from cqc.compiler.meaning.catalog import Column as Declared
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.normal import ALWAYS
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, take
from cqc.runtime.columns.event_time import NOTHING_SEEN
from cqc.runtime.columns.packet import Packet
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.pull.pull_plan import Answer, PullPlan
from cqc.runtime.pull.pull_window import FAR_US
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery, TimeBounds
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.pull.view_rows import ViewRows

    Positions = tuple[NDArray[np.int64], ...]
    MakeCircuit = Callable[[Mapping[str, SharedState]], Circuit]

_NOW = Instant(True, 0, False)
PLAIN = Pull(_NOW, _NOW, None, False, (), None, (), None, False, True)
"""The clauses of a query that has none: its rows as they are."""


class NestedQuery:
    """A query some of whose FROM items are views.

    Args:
        query: in its own FROM order.
        sources: by item, where the rows of views come from; other items are in `states`.
        states: the tuples of streams and tables that are kept, by folded name.
        make_circuit: operators over some states, for one question.
        look: called between two steps of an answer; it may raise when that takes too long.
    """

    def __init__(
        self,
        query: NormalQuery,
        sources: Mapping[int, ViewRows],
        states: Mapping[str, SharedState],
        make_circuit: MakeCircuit,
        look: Callable[[], None],
    ) -> None:
        self._query = with_a_stream(query)
        self._sources = sources
        self._states = states
        self._make_circuit = make_circuit
        self._look = look
        self.plan = PullPlan(query.outputs, query.pull or PLAIN)
        self._timed = [at for at, item in enumerate(query.items) if item.relation.is_stream]
        self._span_us = longest_span(query.bounds, self._timed)

    def answer(self, begin_us: int, end_us: int, at_us: int) -> Answer:
        """The answer over the rows of one window, both ends inside."""
        states, rows = self._rows(begin_us, end_us, begin_us, at_us)
        for item in self._timed:
            times = states[item].ts_at(rows[item])
            inside = (times >= begin_us) & (times <= end_us)
            if not inside.all():
                rows = tuple(positions[inside] for positions in rows)
        for item, each in enumerate(self._query.items):
            if each.rows is not None:
                state = states[item]
                assert isinstance(state, SharedState)
                last = np.isin(rows[item], last_rows(state, each.rows, end_us))
                rows = tuple(positions[last] for positions in rows)
        window, fetch = np.zeros(len(rows[0]), np.int64), self._fetch(states, rows)
        laid = states[0]
        if isinstance(laid, _Laid) and laid.are_firsts and self.plan.firsts_are_all:
            return self.plan.finish_firsts(window, fetch)
        return self.plan.answer_rows(window, fetch, 1)

    def timed_rows(
        self, begin_us: int, end_us: int, at_us: int
    ) -> tuple[tuple[Column, ...], NDArray[np.int64]]:
        """The rows of a push query whose result time is inside a window, and those times."""
        oldest_us = NOTHING_SEEN
        if self._span_us is not None and begin_us > NOTHING_SEEN + self._span_us:
            oldest_us = begin_us - self._span_us
        states, rows = self._rows(oldest_us, end_us, begin_us, at_us)
        times = np.full(len(rows[0]), NOTHING_SEEN)
        for item in self._timed:
            times = np.maximum(times, states[item].ts_at(rows[item]))
        inside = (times >= begin_us) & (times <= end_us)
        rows = tuple(positions[inside] for positions in rows)
        columns = self.plan.outputs(self._fetch(states, rows), int(inside.sum()))
        return columns, times[inside]

    def all_rows(
        self, by: int, at_us: int
    ) -> tuple[NDArray[np.int64], Callable[[int, int], Column]]:
        """The event times and columns of all rows, in the order of one item's rows."""
        states, rows = self._rows(-FAR_US, FAR_US, -FAR_US, at_us)
        order = np.argsort(rows[by], kind="stable")
        rows = tuple(positions[order] for positions in rows)
        return states[by].ts_at(rows[by]), self._fetch(states, rows)

    def _rows(
        self, oldest_us: int, end_us: int, begin_us: int, at_us: int
    ) -> tuple[Sequence[_States], Positions]:
        """By FROM item, the state and the positions of the rows that satisfy the conditions."""
        query = self._query
        if len(query.items) == 1 and 0 in self._sources and query.items[0].rows is None:
            return self._alone(oldest_us, end_us, begin_us, at_us)
        states = dict(self._states)
        for at, source in self._sources.items():
            relation = query.items[at].relation
            since = oldest_us if relation.made_by and not relation.is_windowed else begin_us
            packet = source.packet(since, end_us, at_us)
            states[fold(relation.name)] = filled(relation, packet)
            self._look()
        return found_rows(query, states, self._make_circuit)

    def _alone(
        self, oldest_us: int, end_us: int, begin_us: int, at_us: int
    ) -> tuple[Sequence[_States], Positions]:
        """The same for a query over one view, whose rows need not be laid into a state to be looked at."""
        (item,) = self._query.items
        is_made = item.relation.made_by is not None and not item.relation.is_windowed
        (condition,) = self._query.filters
        if condition == ALWAYS and is_made:
            firsts = self._sources[0].firsts(self.plan, oldest_us, end_us)
            if firsts is not None:
                self._look()
                return [_Laid(firsts, are_firsts=True)], (np.arange(len(firsts)),)
        packet = self._sources[0].packet(oldest_us if is_made else begin_us, end_us, at_us)
        self._look()
        if condition == ALWAYS or not len(packet):
            return [_Laid(packet)], (np.arange(len(packet)),)
        found = StreamFilter([column.type for column in item.relation.columns])
        found.add(0, condition)
        return [_Laid(packet)], (found.match(packet).tuples_of(0),)

    def _fetch(self, states: Sequence[_States], rows: Positions) -> Callable[[int, int], Column]:
        def column(item: int, column: int) -> Column:
            self._look()
            return states[item].column(column, rows[item])

        return column


class _States(Protocol):
    """Where the rows of an item are."""

    def ts_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Their event times."""

    def column(self, column: int, positions: NDArray[np.int64]) -> Column:
        """The values of a column."""


class _Laid:
    """The rows of one view as they came, or those alone that are the first of their partition."""

    def __init__(self, packet: Packet, *, are_firsts: bool = False) -> None:
        self._packet = packet
        self.are_firsts = are_firsts

    def ts_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Their event times."""
        times: NDArray[np.int64] = self._packet.ts_us[positions]
        return times

    def column(self, column: int, positions: NDArray[np.int64]) -> Column:
        """The values of a column; those of all rows are not copied."""
        values = self._packet.columns[column]
        is_all = len(positions) == len(self._packet) and bool((np.diff(positions) == 1).all())
        return values if is_all else take(values, positions)


def found_rows(
    query: NormalQuery, states: Mapping[str, SharedState], make_circuit: MakeCircuit
) -> tuple[list[SharedState], Positions]:
    """By FROM item, the state and the positions of the rows that satisfy the conditions of a query."""
    states = dict(states)
    for item in query.items:
        name = fold(item.relation.name)
        if len(item.relation.columns) > len(states[name].relation.columns):
            # Tables alone: one of them stands for a stream.
            states[name] = filled(item.relation, states[name].packet())
    own = [states[fold(item.relation.name)] for item in query.items]
    if len(own) == 1:
        state = own[0]
        found = StreamFilter([column.type for column in state.relation.columns])
        found.add(0, query.filters[0])
        if not len(state):
            return own, (np.zeros(0, np.int64),)
        return own, (found.match(state.packet()).tuples_of(0) + state.first,)
    circuit = make_circuit(states)
    node, seat = circuit.add(query, past=True)
    try:
        parts = []
        for each in circuit.past(node):
            rows = each.rows_of(seat)
            parts.append(tuple(each.positions[place][rows] for place in node.positions))
    finally:
        circuit.remove(query.name)
    nothing = np.zeros(0, np.int64)
    if not parts:
        return own, tuple(nothing for _ in own)
    return own, tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def longest_span(bounds: TimeBounds, timed: Sequence[int]) -> int | None:
    """How far the event times of a combination can lie apart; None when nothing bounds that."""
    spans = [bounds.most_us[first][second] for first in timed for second in timed]
    known = [span for span in spans if span is not None]
    return max(known, default=0) if len(known) == len(spans) else None


def last_rows(state: SharedState, count: int, end_us: int) -> NDArray[np.int64]:
    """The positions of the last tuples of a stream inside an END bound."""
    positions = np.arange(state.first, state.head)
    times = state.ts_at(positions)
    positions, times = positions[times <= end_us], times[times <= end_us]
    order = np.lexsort((positions, times))
    return positions[order[len(order) - min(count, len(order)) :]]


def filled(relation: Relation, packet: Packet) -> SharedState:
    """A state with the rows of a view."""
    state = SharedState(relation)
    if len(relation.columns) > len(packet.columns):  # the time of `with_a_stream`
        zeros = Column(ColumnType.BIGINT, np.zeros(len(packet), np.int64))
        packet = Packet((*packet.columns, zeros), packet.ts_us, packet.arrival)
    if len(packet):
        state.insert(packet)
    return state


def with_a_stream(query: NormalQuery) -> NormalQuery:
    """A join begins with a stream: where there are only rows of windows and tables, let the first rows be one, all at 0."""
    if len(query.items) == 1 or any(item.relation.is_stream for item in query.items):
        return query
    windowed = [item.relation for item in query.items if item.relation.is_windowed]
    relation = windowed[0] if windowed else query.items[0].relation
    timed = replace(
        relation,
        columns=(*relation.columns, Declared("", ColumnType.BIGINT)),
        event_time=len(relation.columns),
    )
    items = list(query.items)
    most = [list(row) for row in query.bounds.most_us]
    for at, item in enumerate(query.items):
        if item.relation.name == relation.name:
            items[at] = replace(item, relation=timed)
            most[at][at] = 0
    bounds = replace(query.bounds, most_us=tuple(map(tuple, most)))
    return replace(query, items=tuple(items), bounds=bounds)
