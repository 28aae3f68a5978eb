"""Outer joins and EXISTS over the rows of views, and views with them, answered for one window.

Each pattern of such a query is an ordinary one over the states that the question is about (`nested_query`). In a query that is
asked everything is judged inside its window (`absent_body`). A view that a push query would read has its own meaning
whoever reads it: its rows are decided as the engine decides them (`absence_node`), as if the input ended now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.absence.absence_node import AbsenceNode
from cqc.runtime.absence.decided_rows import DecidedSeat
from cqc.runtime.columns.columns import null_column
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.pull.absent_body import NOT_THERE, AbsentBody, column_with_nulls
from cqc.runtime.pull.nested_query import PLAIN, filled, found_rows, last_rows, with_a_stream
from cqc.runtime.pull.pull_plan import PullPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.absence import Pattern
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.pull.nested_query import MakeCircuit, Positions
    from cqc.runtime.pull.pull_plan import Answer
    from cqc.runtime.pull.view_rows import ViewRows
    from cqc.runtime.state.shared_state import SharedState


class _Part:
    """The combinations of a pattern that one question is about."""

    def __init__(self, body: object, rows: Positions) -> None:
        self.body = body
        self._rows = rows

    def rows(self, begin_us: int, end_us: int) -> Positions:
        del begin_us, end_us
        return self._rows


class NestedAbsence:
    """A query with outer joins or EXISTS, put together when somebody asks; it answers what `NestedQuery` does.

    Args:
        query: with patterns.
        sources: by folded name, where the rows of views come from; other items are in `states`.
        states: the tuples of streams and tables that are kept, by folded name.
        make_circuit: operators over some states, for one question.
        look: called between two steps of an answer.
        since: by folded name, the position before which tuples of a stream do not count.
    """

    def __init__(
        self,
        query: NormalQuery,
        sources: Mapping[str, ViewRows],
        states: Mapping[str, SharedState],
        make_circuit: MakeCircuit,
        look: Callable[[], None],
        since: Mapping[str, int],
    ) -> None:
        self._query = query
        self._patterns = list(all_patterns(query.patterns))
        self._sources = sources
        self._states = states
        self._make_circuit = make_circuit
        self._look = look
        self._since = since
        self.plan = PullPlan(query.outputs, query.pull or PLAIN)

    def answer(self, begin_us: int, end_us: int, at_us: int) -> Answer:
        """The answer over the rows of one window, both ends inside."""
        states = self._filled(begin_us, begin_us, end_us, at_us)
        parts = []
        for pattern in self._patterns:
            own, rows = self._found(pattern, states)
            parts.append((_Part(None, self._inside(pattern, own, rows, begin_us, end_us)), None))
        from_items = [states[fold(item.relation.name)] for item in self._query.items]
        orders = [tuple(range(len(pattern.items))) for pattern in self._patterns]
        ordered = [(part, order) for (part, _), order in zip(parts, orders, strict=True)]
        body = AbsentBody(self._query.patterns, ordered, from_items)  # type: ignore[arg-type]
        found = body.rows(begin_us, end_us)
        window = np.zeros(len(found[0]), np.int64)
        return self.plan.answer_rows(window, self._fetch(from_items, found), 1)

    def timed_rows(
        self, begin_us: int, end_us: int, at_us: int
    ) -> tuple[tuple[Column, ...], NDArray[np.int64]]:
        """The rows of a push query whose result time is inside a window, and those times."""
        states = self._filled(NOTHING_SEEN, begin_us, end_us, at_us)
        node = AbsenceNode(self._query.patterns, states)
        rule = node.add_rule(self._query.patterns)
        for place, pattern in enumerate(self._patterns):
            _, rows = self._found(pattern, states)
            if len(rows[0]):
                node.find(place, rule, rows)
            if any(pattern is each for each in self._query.patterns):
                node.deliver(place, DecidedSeat(None, rule, place))  # type: ignore[arg-type]
        delivered = [at for at, each in enumerate(self._patterns) if self._is_own(each)]
        decided = node.advance(dict.fromkeys(node.streams, ALL_SEEN), at_end=True)
        from_items = [states[fold(item.relation.name)] for item in self._query.items]
        rows_of: list[list[NDArray[np.int64]]] = [[] for _ in from_items]
        times: list[NDArray[np.int64]] = []
        for found in decided:
            at = next(at for at in delivered if id(node.places[at]) == found.source)
            inside = (found.ts_us >= begin_us) & (found.ts_us <= end_us)
            times.append(found.ts_us[inside])
            held = dict(zip(self._patterns[at].items, found.positions, strict=True))
            missing = np.full(int(inside.sum()), NOT_THERE, np.int64)
            for item, parts in enumerate(rows_of):
                parts.append(held[item][inside] if item in held else missing)
        if not times:
            empty = tuple(null_column(each.expression.type, 0) for each in self._query.outputs)
            return empty, np.zeros(0, np.int64)
        rows = tuple(np.concatenate(parts) for parts in rows_of)
        columns = self.plan.outputs(self._fetch(from_items, rows), len(rows[0]))
        return columns, np.concatenate(times)

    def _is_own(self, pattern: Pattern) -> bool:
        return any(pattern is each for each in self._query.patterns)

    def _filled(
        self, oldest_us: int, begin_us: int, end_us: int, at_us: int
    ) -> dict[str, SharedState]:
        """The states of everything that the query reads, those of views with the rows that the question is about."""
        states = dict(self._states)
        for pattern in self._patterns:
            for item in with_a_stream(pattern.query).items:
                relation, name = item.relation, fold(item.relation.name)
                if name in self._sources and states.get(name) is self._states.get(name):
                    since = begin_us if relation.is_windowed else oldest_us
                    packet = self._sources[name].packet(since, end_us, at_us)
                    states[name] = filled(relation, packet)
                    self._look()
        return states

    def _found(
        self, pattern: Pattern, states: Mapping[str, SharedState]
    ) -> tuple[list[SharedState], Positions]:
        """The combinations of a pattern, by item."""
        query = with_a_stream(pattern.query)
        found, rows = found_rows(query, states, self._make_circuit)
        if self._since:
            kept = np.ones(len(rows[0]), np.bool_)
            for item, positions in zip(query.items, rows, strict=True):
                kept &= positions >= self._since.get(fold(item.relation.name), 0)
            rows = tuple(each[kept] for each in rows)
        self._look()
        return found, rows

    def _inside(
        self,
        pattern: Pattern,
        states: Sequence[SharedState],
        rows: Positions,
        begin_us: int,
        end_us: int,
    ) -> Positions:
        kept = np.ones(len(rows[0]), np.bool_)
        for item, state, positions in zip(pattern.query.items, states, rows, strict=True):
            if item.relation.is_stream:
                times = state.ts_at(positions)
                kept &= (times >= begin_us) & (times <= end_us)
            if item.rows is not None:
                kept &= np.isin(positions, last_rows(state, item.rows, end_us))
        return rows if kept.all() else tuple(each[kept] for each in rows)

    def _fetch(
        self, states: Sequence[SharedState], rows: Positions
    ) -> Callable[[int, int], Column]:
        def column(item: int, column: int) -> Column:
            self._look()
            return column_with_nulls(states[item], column, rows[item])

        return column
