"""Queries with outer joins or EXISTS: their patterns sit at filters and joins like any query, and nodes decide about the rows.

A pattern is registered under the name of its query with a number, which no query can have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cqc.compiler.graph.nodes import QueryNode
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.absence.absence_node import AbsenceNode, shape_of
from cqc.runtime.absence.decided_rows import DecidedSeat
from cqc.runtime.absence.item_seats import ItemSeat, item_filtered_alike
from cqc.runtime.absence.targets import Target, Targets

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from cqc.compiler.meaning.absence import Pattern
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.deliver.deliver import Deliveries
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.join.execute.join_node import JoinNode
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.state.shared_state import SharedState

_BETWEEN = "\0"


def query_name(part: str) -> str:
    """The name of the query that a pattern is of."""
    return part.split(_BETWEEN, 1)[0]


@dataclass(slots=True, eq=False)
class AbsentQuery:
    """A query that runs."""

    node: QueryNode
    at: AbsenceNode
    rule: int
    shape: Hashable
    parts: list[tuple[str, Seat, Target]]
    delivered: list[tuple[QueryNode, DecidedSeat]]

    @property
    def results(self) -> int:
        """How many rows were decided for it."""
        return sum(seat.results for _, seat in self.delivered)


class AbsentQueries:
    """All of them, in one engine."""

    def __init__(
        self,
        states: Mapping[str, SharedState],
        circuit: Circuit,
        deliveries: Deliveries,
        *,
        sharing: bool,
    ) -> None:
        self._states = states
        self._circuit = circuit
        self._deliveries = deliveries
        self._sharing = sharing
        self._nodes: dict[Hashable, AbsenceNode] = {}
        # By the view that their rows become; None: they are delivered.
        self._feeding: dict[str | None, list[AbsenceNode]] = {}
        self._deliver_to: dict[str, Deliveries] = {}
        self._targets = Targets()
        self._users_of: dict[str, int] = {}  # streams of which every tuple is kept
        self._beside_joins: dict[str, int] = {}  # of which joins tell which tuples wait
        self.queries: dict[str, AbsentQuery] = {}

    def __len__(self) -> int:
        return len(self.queries)

    def __contains__(self, name: str) -> bool:
        return name in self.queries

    # Queries come and go

    def add(
        self, query: NormalQuery, deliveries: Deliveries | None = None, feeds: str | None = None
    ) -> QueryNode:
        """Answer a push query from now on.

        Args:
            query: its patterns are over streams that are there.
            deliveries: who gets the rows, where it is not those who drain.
            feeds: the view (folded name) whose rows they are.
        """
        shape = (feeds, shape_of(query.patterns), None if self._sharing else query.name)
        node = self._nodes.get(shape)
        if node is None:
            node = self._nodes[shape] = AbsenceNode(query.patterns, self._states)
            self._feeding.setdefault(feeds, []).append(node)
        self._deliver_to[query.name] = deliveries or self._deliveries
        rule = node.add_rule(query.patterns)
        parts: list[tuple[str, Seat, Target]] = []
        delivered: list[tuple[QueryNode, DecidedSeat]] = []
        joins: dict[int, tuple[str, QueryNode]] = {}  # by pattern
        for place, pattern in enumerate(all_patterns(query.patterns)):
            name = f"{query.name}{_BETWEEN}{place}"
            beside = self._beside(pattern, joins)
            part, seat = self._circuit.add(replace(pattern.query, name=name), beside=beside)
            joins[id(pattern)] = name, part
            target = Target(node, place, rule, part.positions)
            self._targets.listen(seat, target)
            parts.append((name, seat, target))
            if any(pattern is each for each in query.patterns):
                delivered.append(self._deliver(query, pattern, part, node, place, rule))
        made = QueryNode(
            query.name,
            delivered[0][0].body,
            query.outputs,
            query.pull,
            delivered[0][0].positions,
            query.items,
            query.span,
            destinations=query.destinations,
            patterns=query.patterns,
        )
        self.queries[query.name] = AbsentQuery(made, node, rule, shape, parts, delivered)
        for stream, users in self._streams_of(parts):
            users[stream] = users.get(stream, 0) + 1
        return made

    def _beside(
        self, pattern: Pattern, joins: Mapping[int, tuple[str, QueryNode]]
    ) -> tuple[str, int] | None:
        """The part of the query over a join, and its item, whose tuples are the rows of a pattern; None: it needs a filter."""
        for mark in (mark for guard in pattern.guards for mark in guard.marks):
            at = item_filtered_alike(pattern, mark)
            if at is not None:
                name, part = joins[id(mark)]
                join = self._circuit.join(name)
                if join is not None and join not in self._circuit.row_joins:
                    return name, part.positions[at]
        return None

    def _streams_of(
        self, parts: Iterable[tuple[str, Seat, Target]]
    ) -> Iterator[tuple[str, dict[str, int]]]:
        """The streams over which patterns sit alone, and where these are counted."""
        for _, seat, target in parts:
            if len(target.order) == 1:
                users = self._beside_joins if isinstance(seat, ItemSeat) else self._users_of
                yield fold(seat.body.relations[0].name), users

    def _deliver(
        self,
        query: NormalQuery,
        pattern: Pattern,
        part: QueryNode,
        node: AbsenceNode,
        place: int,
        rule: int,
    ) -> tuple[QueryNode, DecidedSeat]:
        own_place = node.places[place]
        own_place.counts.clear(rule)
        seat = DecidedSeat(part.body, rule, id(own_place), own_place.counts)
        node.deliver(place, seat)
        count = len(pattern.items)
        # The rows of a node have their items in the order of the pattern.
        own = QueryNode(
            query.name,
            part.body,
            pattern.query.outputs,
            None,
            tuple(range(count)),
            pattern.query.items,
            query.span,
        )
        self._deliver_to[query.name].add(own, seat)
        return own, seat

    def remove(self, name: str) -> None:
        """Forget a query."""
        gone = self.queries.pop(name)
        deliveries = self._deliver_to.pop(name)
        for node, decided in gone.delivered:
            deliveries.remove(node, decided)
        for part, seat, target in gone.parts:
            self._targets.unlisten(seat, target)
            self._circuit.remove(part)
        gone.at.remove_rule(gone.rule)
        if not len(gone.at):
            del self._nodes[gone.shape]
            for nodes in self._feeding.values():
                if gone.at in nodes:
                    nodes.remove(gone.at)
        for stream, users in self._streams_of(gone.parts):
            users[stream] -= 1

    def parts(self, name: str) -> list[str]:
        """The names under which the patterns of a query sit at operators."""
        return [part for part, _, _ in self.queries[name].parts]

    # Data

    def receive(self, found: Found) -> None:
        """Note what an operator has found for patterns."""
        self._targets.receive(found)

    def receive_stored(self, state: SharedState, joins: Iterable[JoinNode], first: int) -> None:
        """Note the tuples stored from position `first` on that wait because they meet the conditions of a join on the stream."""
        for join in joins:
            for part in join.parts:
                for position, each in enumerate(part.inputs):
                    source = part.host, position
                    if each.state is state and self._targets.listens(source):
                        table, bits = join.members.table.numbering, join.asked(each.item, first)
                        self._targets.receive_stored(source, table, first, bits)

    def advance(
        self, watermarks: Mapping[str, int], *, at_end: bool, feeds: str | None = None
    ) -> list[Found]:
        """What the watermarks decide after a micro-batch, of queries that feed a view (None: that are delivered)."""
        return [
            found
            for node in self._feeding.get(feeds, ())
            for found in node.advance(watermarks, at_end=at_end)
        ]

    def sources(self, name: str) -> set[Hashable]:
        """The sources of what is decided for a query."""
        return {seat.source for _, seat in self.queries[name].delivered}

    @property
    def fed_views(self) -> list[str]:
        """The views whose rows are decided here."""
        return [name for name, nodes in self._feeding.items() if name is not None and nodes]

    def needs(self, stream: str) -> bool:
        """Whether all tuples of a stream (folded name) that a filter lets pass must be kept for a while."""
        return self._users_of.get(stream, 0) > 0

    def asks_joins(self, stream: str) -> bool:
        """Whether joins tell which tuples of a stream (folded name) wait."""
        return self._beside_joins.get(stream, 0) > 0

    def limits(self, stream: str, watermarks: Mapping[str, int]) -> list[int | None]:
        """Before which event time nobody needs tuples of a stream; None: all are needed."""
        return [
            node.before_us(watermarks) for node in self._nodes.values() if stream in node.streams
        ]

    def forget(self, watermarks: Mapping[str, int]) -> None:
        """Give up what is past."""
        for node in self._nodes.values():
            node.forget(watermarks)

    # Going on elsewhere

    def save(self) -> dict[str, list[str]]:
        """What must be remembered beside the base tuples, by query."""
        found = {name: each.at.save(each.rule) for name, each in self.queries.items()}
        return {name: saved for name, saved in found.items() if saved}

    def load(self, saved: Mapping[str, list[str]]) -> None:
        """Go on where another engine was."""
        for name, texts in saved.items():
            if name in self.queries:
                query = self.queries[name]
                query.at.load(query.rule, texts)

    @property
    def nodes(self) -> list[AbsenceNode]:
        """The nodes that run."""
        return list(self._nodes.values())
