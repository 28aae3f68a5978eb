"""Views as streams: who feeds each, in which order they are made, and for whom.

A view is made for the query that reads it: only base tuples that came after the reader's registration count. So there is one
*instance* of a view for all readers that were registered between the same two tuples, with a name that says when, and the
branches of the view are queries of the circuit that feed it. What they find becomes a packet of the instance, which goes the
way of every packet. Instances are made in the order of levels: an inner one is there before an outer one reads it.

    view:3f2a@0      read by all queries of a program
    view:3f2a@120.7  read by a query that came after 120 and 7 tuples of the two streams beneath

Views that differ in the conditions of their branches alone are one instance where their readers can tell them apart: each row has one
more column, which says of which view it is (`view_kinds`), and a reader asks for its own. So a thousand views of one kind cost what
their rows cost.

    view:c41d@kind   rows of view:3f2a@0 and view:90b1@0
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.graph.derive import OF_KIND
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.columns import Column, concatenate, take
from cqc.runtime.columns.event_time import time_column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.columns.unnested import unnested
from cqc.runtime.deliver.deliver import Deliveries
from cqc.runtime.engine.derived_tables import DerivedTables
from cqc.runtime.engine.view_kinds import has_kind, kind_of, member_number, of_member, reads_kinds
from cqc.runtime.filter.selections import SelectionSeat
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.pull.view_rows import row_times

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.absence import Pattern
    from cqc.compiler.meaning.bound import Item
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.deliver.results import ResultGroup
    from cqc.runtime.engine.absent_queries import AbsentQueries
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.engine.relations import Relations
    from cqc.runtime.lineage.matches import Found
    from cqc.runtime.pull.pull_queries import PullQueries
    from cqc.runtime.windows.decided_queries import DecidedQueries

Rows = tuple[tuple[Column, ...], "NDArray[np.int64]"]  # outputs, and the event time of each row


@dataclass(slots=True, eq=False)
class Feed:
    """A branch of a view as a query of the circuit."""

    node: QueryNode


@dataclass(slots=True, eq=False)
class Instance:
    """A view as it is made for some readers."""

    name: str  # folded
    relation: Relation
    feeds: dict[str, Feed] = field(default_factory=dict)  # by name
    users: int = 0  # queries, and branches of other views, that read it
    waiting: list[Rows] = field(default_factory=list)  # rows of this micro-batch
    # Of several views that are one instance: the number of each, by the name of a query that feeds it; and whether there are several.
    number_of: dict[str, int] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    is_kind: bool = False
    has_decided: bool = False  # some feed waits for the watermark
    has_patterns: bool = False  # some feed asks for what is not there

    @property
    def periodic(self) -> list[Feed]:
        """The branches with EVERY."""
        if self.is_kind:
            return []
        return [feed for feed in self.feeds.values() if feed.node.pull is not None]


@dataclass(slots=True, eq=False)
class Member:
    """One of several views that are one instance."""

    instance: Instance
    number: int
    feeds: list[str] = field(default_factory=list)
    users: int = 0


class DerivedStreams:
    """The views that some push query reads, and the queries that feed them."""

    def __init__(
        self,
        relations: Relations,
        circuit: Circuit,
        pulls: PullQueries,
        absent: AbsentQueries,
        decided: DecidedQueries,
    ) -> None:
        self._decided = decided
        self.tables = DerivedTables(relations, circuit, pulls)
        self._relations = relations
        self._circuit = circuit
        self._pulls = pulls
        self._absent = absent
        self._instances: dict[str, Instance] = {}  # inner ones first
        self._members: dict[str, Member] = {}  # by the name that the view's own instance would have
        self._reads: dict[str, str] = {}  # the member that a query reads
        # The filters whose findings feed views, and the feeds that are answered by other operators; None: not known.
        self._sources: set[Hashable] | None = None
        self._moving: list[Feed] = []
        self._fed: dict[str, Instance] = {}  # by the name of the query that feeds it
        self._feeds = Deliveries()
        self._found: list[Found] = []
        self.is_still = False  # while tuples are replayed: what they make was made before

    def __len__(self) -> int:
        return len(self._instances)

    def __iter__(self) -> Iterator[Instance]:
        """The instances, inner ones first."""
        return iter(list(self._instances.values()))

    @property
    def failures(self) -> int:
        """Outputs that gave NULL where Spark's ANSI mode would have failed."""
        return self._feeds.plans.failures

    # Queries come and go

    def attach(self, query: NormalQuery, since: Mapping[str, int]) -> NormalQuery:
        """The query over instances of the views it reads, which are made from now on."""
        if query.patterns:
            return self._attach_patterns(query, since)
        if not any(map(_is_made, query.items)):
            return query
        if self._circuit.is_sharing and reads_kinds(query) and has_kind(query.items[0].relation):
            return self._attach_member(query, since)
        return replace(
            query,
            items=tuple(
                item
                if not _is_made(item)
                else replace(item, relation=self._use(item.relation, since))
                for item in query.items
            ),
        )

    def _attach_member(self, query: NormalQuery, since: Mapping[str, int]) -> NormalQuery:
        """The query over the instance that its view is a part of."""
        (item,) = query.items
        own = self._own_name(item.relation, since)
        member = self._members.get(own)
        if member is None:
            member = self._members[own] = self._new_member(own, item.relation, since)
        member.users += 1
        self._reads[query.name] = own
        return of_member(query, member.instance.relation, member.number)

    def _new_member(self, own: str, relation: Relation, since: Mapping[str, int]) -> Member:
        assert relation.made_by is not None
        branches = [
            self.attach(replace(branch, name=f"{own}/{number}{OF_KIND}"), since)
            for number, branch in enumerate(relation.made_by.branches)
        ]
        kind = kind_of(relation, branches)
        instance = self._instances.get(fold(kind.name))
        if instance is None:
            instance = self._declare(kind)
            instance.is_kind = True
        number = member_number(own)
        while number in instance.numbers:
            number += 1  # two names with one number are not to be expected, and would be wrong
        instance.numbers.add(number)
        member = Member(instance, number)
        for branch in branches:
            self._feed(branch, since, instance)
            instance.number_of[branch.name] = number
            member.feeds.append(branch.name)
        instance.users += 1
        return member

    def _attach_patterns(self, query: NormalQuery, since: Mapping[str, int]) -> NormalQuery:
        """The same for a query with outer joins or EXISTS: all its patterns read the same instances."""
        made = {
            fold(item.relation.name): item.relation
            for pattern in all_patterns(query.patterns)
            for item in pattern.query.items
            if _is_made(item)
        }
        if not made:
            return query
        instances = {name: self._use(relation, since) for name, relation in made.items()}

        def moved(item: Item) -> Item:
            found = instances.get(fold(item.relation.name))
            return item if found is None else replace(item, relation=found)

        def over(pattern: Pattern) -> Pattern:
            guards = tuple(
                replace(
                    guard,
                    marks=tuple(map(over, guard.marks)),
                    streams=tuple(
                        fold(instances[name].name) if name in instances else name
                        for name in guard.streams
                    ),
                )
                for guard in pattern.guards
            )
            items = tuple(map(moved, pattern.query.items))
            return replace(pattern, query=replace(pattern.query, items=items), guards=guards)

        patterns = tuple(map(over, query.patterns))
        return replace(query, items=tuple(map(moved, query.items)), patterns=patterns)

    def leave(self, node: QueryNode) -> None:
        """A query that was attached leaves: forget the views that nobody reads any more."""
        own = self._reads.pop(node.name, None)
        if own is not None:
            self._leave_member(own)
            return
        names = [fold(item.relation.name) for item in node.items]
        if node.patterns:  # which read each view once, together
            names = list(
                dict.fromkeys(
                    fold(item.relation.name)
                    for pattern in all_patterns(node.patterns)
                    for item in pattern.query.items
                )
            )
        for name in names:
            instance = self._instances.get(name)
            if instance is None:
                self.tables.leave(name)
                continue
            instance.users -= 1
            if not instance.users:
                self._drop(instance)

    def _use(self, relation: Relation, since: Mapping[str, int]) -> Relation:
        made_by = relation.made_by
        assert made_by is not None
        if not relation.is_stream:
            return self.tables.use(relation)
        name = self._own_name(relation, since)
        instance = self._instances.get(fold(name))
        if instance is None:
            instance = self._make(replace(relation, name=name), since)
        instance.users += 1
        return instance.relation

    def _own_name(self, relation: Relation, since: Mapping[str, int]) -> str:
        assert relation.made_by is not None
        came = [since.get(base, 0) for base in relation.made_by.bases]
        moment = ".".join(map(str, came)) if any(came) else "0"
        return f"{relation.name}@{moment}"

    def _leave_member(self, own: str) -> None:
        member = self._members[own]
        member.users -= 1
        if member.users:
            return
        del self._members[own]
        instance = member.instance
        instance.numbers.remove(member.number)
        for name in member.feeds:
            del instance.number_of[name]
            self._drop_feed(instance, name)
        instance.users -= 1
        if not instance.users:
            self._drop(instance)

    def _make(self, relation: Relation, since: Mapping[str, int]) -> Instance:
        made_by = relation.made_by
        assert made_by is not None
        branches = [
            self.attach(replace(branch, name=f"{relation.name}/{number}"), since)
            for number, branch in enumerate(made_by.branches)
        ]
        instance = self._declare(relation)
        for branch in branches:
            self._feed(branch, since, instance)
        return instance

    def _declare(self, relation: Relation) -> Instance:
        name = self._relations.declare_derived(relation)
        self._circuit.declare(name)
        self._pulls.declare(name)
        instance = self._instances[name] = Instance(name, relation)
        return instance

    def _feed(self, branch: NormalQuery, since: Mapping[str, int], instance: Instance) -> None:
        """Let a branch feed an instance."""
        node = self._feeding(branch, since, instance.name)
        instance.feeds[branch.name] = Feed(node)
        instance.has_decided |= node.decided is not None
        instance.has_patterns |= bool(node.patterns)
        self._fed[branch.name] = instance
        self._sources = None

    def _feeding(self, branch: NormalQuery, since: Mapping[str, int], view: str) -> QueryNode:
        is_first = not any(since.values())
        is_asked = branch.pull is not None
        if branch.patterns and not is_asked:
            return self._absent.add(branch, self._feeds, view)
        if is_asked and (
            branch.patterns or any(item.relation.is_windowed for item in branch.items)
        ):
            node = self._circuit.add_aside(branch)
            self._pulls.add_nested(node, branch, self._circuit, from_now=not is_first)
            return node
        node, seat = self._circuit.add(
            branch, past=is_asked and is_first, alone=is_asked and not is_first
        )
        if branch.decided is not None:
            self._decided.add(node, seat, since, view)
        elif branch.pull is None:
            self._feeds.add(node, seat)
        else:
            self._pulls.add(node, seat, self._circuit, from_now=not is_first)
        return node

    def _drop(self, instance: Instance) -> None:
        del self._instances[instance.name]
        for name in list(instance.feeds):
            self._drop_feed(instance, name)
        self._circuit.undeclare(instance.name)
        self._pulls.undeclare(instance.name)
        self._decided.forget_view(instance.name)
        self._relations.drop_derived(instance.name)

    def _drop_feed(self, instance: Instance, name: str) -> None:
        node = instance.feeds.pop(name).node
        del self._fed[name]
        self._sources = None
        if node.patterns and node.pull is None:
            self._absent.remove(name)
            self.leave(node)
            return
        if node.decided is not None:
            self._decided.remove(node)
        elif node.pull is None:
            self._feeds.remove(node, self._circuit.seat(name))
        else:
            self._pulls.remove(node, self._circuit)
        self._circuit.remove(name)
        self.leave(node)

    # Rows are made

    def receive(self, found: Sequence[Found]) -> None:
        """Keep what operators found, as far as it feeds views."""
        if self._instances and not self.is_still:
            self._found += found

    def collect(self, instance: Instance) -> Packet | None:
        """The rows of a view that this micro-batch makes; everything that it reads is complete."""
        self._hand_out()
        names = {feed.node.name: feed for feed in instance.periodic}
        if names:
            for block in self._pulls.due(names.__contains__):
                pull = names[block.query].node.pull
                assert pull is not None
                times = row_times(pull, block.times_us)
                instance.waiting.append((block.own_columns(), times))
        if instance.has_decided:
            self._relations.settle_idle()
            for group in self._decided.due_for(instance.name, self._relations.watermark_of):
                self._take(instance, group, None)
        if not instance.waiting:
            return None
        rows, instance.waiting = instance.waiting, []
        return self._packet(instance, rows)

    def _hand_out(self) -> None:
        """Bring what was found to the views that it feeds."""
        if not self._found:
            return
        found, self._found = self._found, []
        sources = self._sources_now()
        mine = [each for each in found if each.source in sources]
        for group in self._feeds.deliver_all(mine):
            if not len(group):
                continue
            by_instance: dict[str, list[int]] = {}
            for at, query in enumerate(group.queries):
                by_instance.setdefault(self._fed[query].name, []).append(at)
            for name, own in by_instance.items():
                self._take(self._instances[name], group, own if len(by_instance) > 1 else None)

    def _sources_now(self) -> set[Hashable]:
        """The operators whose findings feed views; joins may be put together anew, filters are what they are."""
        if self._sources is None:
            self._sources, self._moving = set(), []
            for instance in self._instances.values():
                for name, feed in instance.feeds.items():
                    if feed.node.pull is not None or feed.node.decided is not None:
                        continue
                    seat = None if feed.node.patterns else self._circuit.seat(name)
                    if isinstance(seat, SelectionSeat):
                        self._sources.add(seat.source)
                    else:
                        self._moving.append(feed)
        sources = self._sources
        for feed in self._moving:
            if feed.node.patterns:
                sources = sources | self._absent.sources(feed.node.name)
            else:
                sources = sources | {self._circuit.seat(feed.node.name).source}
        return sources

    def _take(self, instance: Instance, group: ResultGroup, own: list[int] | None) -> None:
        """Rows of some queries that feed an instance (None: all of a group) wait for their packet."""
        ends = group.ends
        counts = np.diff(ends, prepend=0)
        queries, picks, times_us = group.queries, group.picks, group.times_us
        if own is not None:
            at = np.array(own, np.int64)
            queries = [group.queries[number] for number in own]
            offsets = np.repeat(ends[at] - np.cumsum(counts[at]), counts[at])
            rows = offsets + np.arange(len(offsets))
            counts, picks, times_us = counts[at], picks[rows], times_us[rows]
        columns = tuple(take(column, picks) for column in group.columns)
        if instance.is_kind:
            numbers = [instance.number_of[query] for query in queries]
            columns = (*columns, count_column(np.repeat(np.array(numbers, np.int64), counts)))
        instance.waiting.append((columns, times_us))

    def _packet(self, instance: Instance, rows: Sequence[Rows]) -> Packet:
        columns = [
            concatenate([outputs[at] for outputs, _ in rows]) for at in range(len(rows[0][0]))
        ]
        times = np.concatenate([each for _, each in rows])
        order = np.argsort(times, kind="stable")
        times = times[order]
        columns = [take(column, order) for column in columns]
        relation = instance.relation
        assert relation.made_by is not None
        if relation.made_by.unnest is not None:
            columns, times = unnested(relation, relation.made_by.unnest, columns, times)
        if relation.made_by.adds_time:
            columns.insert(0, time_column(times, relation.time_type))
        first = self._relations.derived[instance.name].number(len(times))
        return Packet(tuple(columns), times, np.arange(first, first + len(times)))


def _is_made(item: Item) -> bool:
    """Whether an item is a view whose rows come as tuples; those of a window are found when they are asked for."""
    return item.relation.made_by is not None and not item.relation.is_windowed
