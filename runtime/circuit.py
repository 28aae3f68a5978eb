"""The running operators of a query set: what the shared graph describes, with state.

Adding and removing a query go through the graph, which says what is new and what is gone; only that is built or dropped.
With sharing off every query has a graph, a filter and a join of its own, over the same base tuples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.catalog import fold
from cqc.compiler.graph.graph import Graph
from cqc.runtime.operators.multi_join import MultiJoin
from cqc.runtime.operators.row_windows import RowsJoin
from cqc.runtime.operators.selections import Selections, SelectionSeat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cqc.compiler.graph.nodes import Body, Change, JoinHost, QueryNode
    from cqc.compiler.normal import NormalQuery
    from cqc.runtime.found import Found, OperatorCount, Seat
    from cqc.runtime.operators.shared_state import SharedState

Join = MultiJoin | RowsJoin


@dataclass(slots=True, eq=False)
class Group:
    """Queries that share one graph: all of them, or a single one with sharing off."""

    graph: Graph = field(default_factory=Graph)
    selections: dict[str, Selections] = field(default_factory=dict)  # by folded stream name
    joins: dict[tuple[int, bool], Join] = field(
        default_factory=dict
    )  # by host number and "keeps the past"
    row_joins: dict[Body, RowsJoin] = field(default_factory=dict)
    seats: dict[tuple[Body, bool], Seat] = field(
        default_factory=dict
    )  # by body and "keeps the past"


class Circuit:
    """All operators, and which of them each stream feeds."""

    def __init__(self, states: Mapping[str, SharedState], *, sharing: bool) -> None:
        self._states = states
        self._sharing = sharing
        self._shared = Group()
        self._groups: dict[str, Group] = {}  # by query name
        self._selections_of: dict[str, list[Selections]] = {name: [] for name in states}
        self._joins_of: dict[str, list[Join]] = {name: [] for name in states}
        self._past_joins: set[Join] = set()  # the joins of pull queries
        self.row_joins: list[RowsJoin] = []  # the joins that wait for the watermark

    @property
    def groups(self) -> Iterator[Group]:
        """Every group of queries once."""
        if self._sharing:
            yield self._shared
        else:
            yield from self._groups.values()

    def selections_of(self, stream: str) -> list[Selections]:
        """The single-stream operators that a stream feeds (folded name)."""
        return self._selections_of[stream]

    def joins_of(self, relation: str) -> list[Join]:
        """The joins that a stream or table feeds (folded name)."""
        return self._joins_of[relation]

    def add(self, normal: NormalQuery) -> tuple[QueryNode, Seat]:
        """Build what the query needs and nobody has yet; returns its node and where its body sits."""
        group = self._shared if self._sharing else Group()
        change = group.graph.add(normal)
        self._groups[change.query.name] = group
        body, past = change.query.body, change.query.pull is not None
        seat = group.seats.get((body, past))
        if seat is None:
            seat = self._seat(group, body, past=past)
            group.seats[body, past] = seat
        return change.query, seat

    def remove(self, name: str) -> Change:
        """Drop what only this query used."""
        group = self._groups.pop(name)
        change = group.graph.remove(name)
        body = change.query.body
        past = change.query.pull is not None
        still_used = any((query.pull is not None) == past for query in body.queries)
        if not still_used or change.body_is_new:
            self._unseat(group, body, past=past)
        return change

    def past(self, query: QueryNode) -> Sequence[Found]:
        """What the body of a pull query finds in the tuples that are already there."""
        body, seat, group = query.body, self.seat(query), self._groups[query.name]
        if body.host is not None:
            join = group.joins[body.host.number, True]
            assert isinstance(join, MultiJoin)
            return join.past(seat)
        stream = fold(body.relations[0].name)
        assert isinstance(seat, SelectionSeat)
        state = self._states[stream]
        return [group.selections[stream].past(seat, state.packet(), state.first)]

    def suspend(self, seat: SelectionSeat) -> None:
        """Find nothing for a body over one stream until `resume`."""
        self._selections_with(seat).suspend(seat)

    def resume(self, seat: SelectionSeat) -> None:
        """Serve a suspended body again."""
        self._selections_with(seat).resume(seat)

    def _selections_with(self, seat: SelectionSeat) -> Selections:
        stream = fold(seat.body.relations[0].name)
        return next(each for each in self._selections_of[stream] if each.holds(seat))

    def limiting_joins_of(self, relation: str) -> list[Join]:
        """The joins whose windows say how long tuples are needed; what pull queries need, their retention says."""
        return [join for join in self._joins_of[relation] if join not in self._past_joins]

    def relations_used(self) -> set[str]:
        """Folded names of the streams and tables that some query speaks of."""
        return {name for name in self._states if self._selections_of[name] or self._joins_of[name]}

    def query(self, name: str) -> QueryNode:
        """The node of a query that runs."""
        return self._groups[name].graph.queries[fold(name)]

    def seat(self, query: QueryNode) -> Seat:
        """Where the body of a query sits."""
        return self._groups[query.name].seats[query.body, query.pull is not None]

    def measure(self) -> list[OperatorCount]:
        """Counters of every operator."""
        found: list[OperatorCount] = []
        for group in self.groups:
            found += [selections.measure() for selections in group.selections.values()]
            found += [join.measure() for join in group.joins.values()]
            found += [join.measure() for join in group.row_joins.values()]
        return found

    def _seat(self, group: Group, body: Body, *, past: bool) -> Seat:
        if body.host is None:
            return self._selections(group, body).add(body)
        if body.rows and not past:  # a pull query applies ROWS when it is asked
            join = RowsJoin(body, self._states)
            group.row_joins[body] = join
            self.row_joins.append(join)
            self._connect(join, body)
            return join.seat
        return self._join(group, body.host, past=past).add(body, past=past)

    def _unseat(self, group: Group, body: Body, *, past: bool) -> None:
        seat = group.seats.pop((body, past))
        if body.host is None:
            stream = fold(body.relations[0].name)
            selections = group.selections[stream]
            assert isinstance(seat, SelectionSeat)
            selections.remove(seat)
            if not len(selections):
                self._selections_of[stream].remove(group.selections.pop(stream))
        elif body.rows and not past:
            rows_join = group.row_joins.pop(body)
            self.row_joins.remove(rows_join)
            self._disconnect(rows_join, body)
        else:
            join = group.joins[body.host.number, past]
            join.remove(seat)
            if not len(join):
                del group.joins[body.host.number, past]
                self._past_joins.discard(join)
                self._disconnect(join, body)

    def _selections(self, group: Group, body: Body) -> Selections:
        stream = fold(body.relations[0].name)
        if stream not in group.selections:
            group.selections[stream] = Selections(body.relations[0])
            self._selections_of[stream].append(group.selections[stream])
        return group.selections[stream]

    def _join(self, group: Group, host: JoinHost, *, past: bool) -> Join:
        key = (host.number, past)
        if key not in group.joins:
            group.joins[key] = MultiJoin(host, self._states)
            self._connect(group.joins[key], host)
            if past:
                self._past_joins.add(group.joins[key])
        return group.joins[key]

    def _connect(self, join: Join, what: Body | JoinHost) -> None:
        for name in dict.fromkeys(fold(relation.name) for relation in what.relations):
            self._joins_of[name].append(join)

    def _disconnect(self, join: Join, what: Body | JoinHost) -> None:
        for name in dict.fromkeys(fold(relation.name) for relation in what.relations):
            self._joins_of[name].remove(join)
