"""Views as streams: who feeds each, in which order they are made, and for whom.

A view is made for the query that reads it: only base tuples that came after the reader's registration count. So there is one
*instance* of a view for all readers that were registered between the same two tuples, with a name that says when, and the
branches of the view are queries of the circuit that feed it. What they find becomes a packet of the instance, which goes the
way of every packet. Instances are made in the order of levels: an inner one is there before an outer one reads it.

    view:3f2a@0      read by all queries of a program
    view:3f2a@120.7  read by a query that came after 120 and 7 tuples of the two streams beneath
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.columns import Column, concatenate, take
from cqc.runtime.columns.event_time import time_column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.columns.unnested import unnested
from cqc.runtime.deliver.deliver import Deliveries
from cqc.runtime.engine.derived_tables import DerivedTables
from cqc.runtime.pull.view_rows import row_times

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.absence import Pattern
    from cqc.compiler.meaning.bound import Item
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
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
    feeds: list[Feed] = field(default_factory=list)
    users: int = 0  # queries, and branches of other views, that read it
    waiting: list[Rows] = field(default_factory=list)  # rows of this micro-batch

    @property
    def periodic(self) -> list[Feed]:
        """The branches with EVERY."""
        return [feed for feed in self.feeds if feed.node.pull is not None]


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
        return replace(
            query,
            items=tuple(
                item
                if not _is_made(item)
                else replace(item, relation=self._use(item.relation, since))
                for item in query.items
            ),
        )

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
        came = [since.get(base, 0) for base in made_by.bases]
        moment = ".".join(map(str, came)) if any(came) else "0"
        name = f"{relation.name}@{moment}"
        instance = self._instances.get(fold(name))
        if instance is None:
            instance = self._make(replace(relation, name=name), since)
        instance.users += 1
        return instance.relation

    def _make(self, relation: Relation, since: Mapping[str, int]) -> Instance:
        made_by = relation.made_by
        assert made_by is not None
        branches = [self.attach(branch, since) for branch in made_by.branches]
        name = self._relations.declare_derived(relation)
        self._circuit.declare(name)
        self._pulls.declare(name)
        instance = Instance(name, relation)
        for number, branch in enumerate(branches):
            own = f"{relation.name}/{number}"
            instance.feeds.append(self._feed(replace(branch, name=own), since, name))
            self._fed[own] = instance
        self._instances[name] = instance
        return instance

    def _feed(self, branch: NormalQuery, since: Mapping[str, int], view: str) -> Feed:
        is_first = not any(since.values())
        is_asked = branch.pull is not None
        if branch.patterns and not is_asked:
            return Feed(self._absent.add(branch, self._feeds, view))
        if is_asked and (
            branch.patterns or any(item.relation.is_windowed for item in branch.items)
        ):
            node = self._circuit.add_aside(branch)
            self._pulls.add_nested(node, branch, self._circuit, from_now=not is_first)
            return Feed(node)
        node, seat = self._circuit.add(
            branch, past=is_asked and is_first, alone=is_asked and not is_first
        )
        if branch.decided is not None:
            self._decided.add(node, seat, since, is_feed=True)
        elif branch.pull is None:
            self._feeds.add(node, seat)
        else:
            self._pulls.add(node, seat, self._circuit, from_now=not is_first)
        return Feed(node)

    def _drop(self, instance: Instance) -> None:
        del self._instances[instance.name]
        for feed in instance.feeds:
            del self._fed[feed.node.name]
            if feed.node.patterns and feed.node.pull is None:
                self._absent.remove(feed.node.name)
                self.leave(feed.node)
                continue
            if feed.node.decided is not None:
                self._decided.remove(feed.node)
            elif feed.node.pull is None:
                self._feeds.remove(feed.node, self._circuit.seat(feed.node.name))
            else:
                self._pulls.remove(feed.node, self._circuit)
            self._circuit.remove(feed.node.name)
            self.leave(feed.node)
        self._circuit.undeclare(instance.name)
        self._pulls.undeclare(instance.name)
        self._relations.drop_derived(instance.name)

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
        waits = {feed.node.name for feed in instance.feeds if feed.node.decided is not None}
        if waits:
            for block in self._decided.due(self._relations.watermarks(), waits):
                instance.waiting.append((block.own_columns(), block.times_us))
        if not instance.waiting:
            return None
        rows, instance.waiting = instance.waiting, []
        return self._packet(instance, rows)

    def _hand_out(self) -> None:
        """Bring what was found to the views that it feeds."""
        if not self._found:
            return
        found, self._found = self._found, []
        sources: set[Hashable] = set()
        for instance in self._instances.values():
            for feed in instance.feeds:
                if feed.node.patterns and feed.node.pull is None:
                    sources |= self._absent.sources(feed.node.name)
                elif feed.node.pull is None and feed.node.decided is None:
                    sources.add(self._circuit.seat(feed.node.name).source)
        mine = [each for each in found if each.source in sources]
        for group in self._feeds.deliver_all(mine):
            for block in group.blocks():
                self._fed[block.query].waiting.append((block.own_columns(), block.times_us))

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
