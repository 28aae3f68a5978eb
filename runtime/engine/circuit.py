"""The running operators of a query set: what the shared graph describes, with state.

Adding and removing a query go through the graph and the planner of join nodes, which say what is new and what is gone; only
that is built or dropped.
With sharing off every query has a graph, a filter and a join of its own, over the same base tuples.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.graph.derive import is_derived
from cqc.compiler.graph.graph import Graph
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.executors import Rows, Tree, choose_executor, hint_of
from cqc.compiler.physical.node_planner import NodePlanner
from cqc.runtime.absence.item_seats import ItemSeat
from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.filter.selections import Selections, SelectionSeat
from cqc.runtime.join.choice.build_join import JoinOptions, build_join
from cqc.runtime.join.choice.shape_trials import ShapeTrials
from cqc.runtime.join.choice.split_trials import SharedNodes
from cqc.runtime.join.membership.slots import JoinSeat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cqc.compiler.graph.nodes import Body, JoinHost, QueryNode
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.compiler.physical.executors import Hint
    from cqc.compiler.physical.node_planner import Node
    from cqc.compiler.physical.strategy import Strategy
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode
    from cqc.runtime.join.membership.slots import Member
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.state.shared_state import SharedState

# A push query sees tuples from its registration on, so queries with one body share its seat at a join only when no tuple
# came between their registrations: the epoch holds how many had come. A pull query sees the past as well.
Epoch = tuple[int, ...]


@record
class SeatKey:
    """What queries have in common that share a seat."""

    body: Body
    past: bool
    hint: Hint
    epoch: Epoch
    alone: str = ""  # the only query that may have the seat
    beside: tuple[str, int] | None = None  # the query and the item whose tuples are its rows


@dataclass(slots=True, eq=False)
class Seated:
    """A seat, how many queries use it, and the node of the join it is at (None: a single-stream body)."""

    seat: Seat
    node: Node | None
    users: int = 1


@dataclass(slots=True, eq=False)
class Group:
    """Queries that share one graph and its operators: all of them, or a single one with sharing off."""

    planner: NodePlanner
    graph: Graph = field(default_factory=Graph)
    selections: dict[str, Selections] = field(default_factory=dict)  # by folded stream name
    seats: dict[SeatKey, Seated] = field(default_factory=dict)
    key_of: dict[str, SeatKey] = field(default_factory=dict)  # by query name

    def node(self, key: SeatKey) -> Node | None:
        """The join node of a seat; nodes of hosts that share them may become others while they run."""
        node = self.seats[key].node
        if node is None or isinstance(node.executor, Rows):
            return node
        return self.planner.node_of(key.body, past=key.past, hint=key.hint)


class Circuit:
    """All operators, and which of them each stream feeds."""

    def __init__(
        self, states: Mapping[str, SharedState], strategy: Strategy, *, counts_only: bool = False
    ) -> None:
        """`counts_only`: of push queries nobody asks for more than how many results they have."""
        self._states = states
        self._counts_only = counts_only
        self._strategy = strategy
        self._sharing = strategy.sharing
        self._shared = Group(NodePlanner(strategy))
        self._groups: dict[str, Group] = {}  # by query name
        self._aside: dict[str, QueryNode] = {}  # queries over the rows of views
        self._selections_of: dict[str, list[Selections]] = {name: [] for name in states}
        self._joins_of: dict[str, list[JoinNode]] = {name: [] for name in states}
        self._built: dict[Node, JoinNode] = {}  # the join that does the work of each planned node
        self._past_joins: set[JoinNode] = set()  # the joins of pull queries
        self.row_joins: list[JoinNode] = []  # the joins that wait for the watermark
        self.most_found: int | None = None  # see `bound`
        self.watch = WorkWatch()  # of all joins
        # Nodes that may change their shape, with the planner that knows them.
        self._trials: dict[Node, tuple[ShapeTrials, NodePlanner]] = {}
        # With the joins of the hosts that are together with its own, or were before they were split.
        self._shared_nodes: dict[JoinNode, SharedNodes] = {}
        self._failures_of_gone = 0

    @property
    def is_sharing(self) -> bool:
        """Whether queries share operators."""
        return self._sharing

    def declare(self, name: str) -> None:
        """Be ready for queries over one more stream or table, whose state is there by now."""
        self._selections_of[name] = []
        self._joins_of[name] = []

    def undeclare(self, name: str) -> None:
        """Forget a view that no query reads any more."""
        del self._selections_of[name], self._joins_of[name]

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

    def joins_of(self, relation: str) -> list[JoinNode]:
        """The joins that a stream or table feeds (folded name)."""
        return self._joins_of[relation]

    def add(
        self,
        normal: NormalQuery,
        *,
        past: bool | None = None,
        alone: bool = False,
        beside: tuple[str, int] | None = None,
    ) -> tuple[QueryNode, Seat]:
        """Build what the query needs and nobody has yet; returns its node and where its body sits.

        `past`: it sees tuples that are there already, as queries with BEGIN-END do. `alone`: what is kept of its results is
        nobody else's. `beside`: its rows are the tuples of an item, in host order, of a query that is over a join (`item_seats`).
        """
        group = self._shared if self._sharing else Group(NodePlanner(self._strategy))
        query = group.graph.add(normal).query
        self._groups[query.name] = group
        past = query.pull is not None if past is None else past
        hint = None if past else hint_of(query, self._strategy)
        epoch = self._epoch(query.body, past=past)
        key = SeatKey(query.body, past, hint, epoch, query.name if alone else "", beside)
        seated = group.seats.get(key)
        if seated is None:
            group.seats[key] = seated = self._seat(group, key)
        else:
            seated.users += 1
        group.key_of[query.name] = key
        return query, seated.seat

    def add_aside(self, normal: NormalQuery) -> QueryNode:
        """Know a query that no operator here answers: its rows are put together when somebody asks."""
        query = Graph().add(normal).query
        self._aside[query.name] = query
        return query

    def remove(self, name: str) -> None:
        """Drop what only this query used."""
        if self._aside.pop(name, None) is not None:
            return
        group = self._groups.pop(name)
        group.graph.remove(name)
        key = group.key_of.pop(name)
        seated = group.seats[key]
        seated.users -= 1
        if not seated.users:
            self._unseat(group, seated, key)
            del group.seats[key]

    def past(self, query: QueryNode, most: int | None = None) -> Sequence[Found]:
        """What the body of a pull query finds in the tuples that are already there.

        Raises:
            TooMuchFound: when a join would make more than `most` combinations.
        """
        join, seat = self.join(query.name), self.seat(query.name)
        if join is not None:
            return join.past(seat, most)
        assert isinstance(seat, SelectionSeat)
        state = self._states[fold(query.body.relations[0].name)]
        return [self._selections_with(seat).past(seat, state.packet(), state.first)]

    def bound(self, most: int) -> None:
        """Let a slot of a join find so much in one packet, and be silenced when it finds more.

        What it may take, its watch says.
        """
        self.most_found = most
        for join in self._joins():
            join.limits.most_found = most

    def silenced(self) -> dict[str, str]:
        """The queries that were silenced, and why: until they leave they get no complete answers."""
        if self.most_found is None and self.watch.most_seconds is None:
            return {}
        found: dict[str, str] = {}
        for join in [join for join in self._joins() if join.limits.silenced]:
            silenced = join.limits.silenced
            for name in self._groups:
                seat = self.seat(name)
                if self.join(name) is not join or not isinstance(seat, JoinSeat):
                    continue
                if why := silenced.get(seat.member):
                    found[name.split("\0", 1)[0]] = why  # a pattern is of a query
            silenced.clear()
        return found

    def _watched(self, join: JoinNode) -> None:
        """Let a join look at the engine's watch, and know its queries by their names."""
        limits = join.limits
        limits.watch = self.watch
        limits.most_found = self.most_found
        limits.query_at = lambda slot: self._query_at(join, slot)
        limits.left_by = lambda queries: self._left_by(join, queries)

    def _query_at(self, join: JoinNode, slot: int) -> str:
        names = (name for name in self._groups if self.join(name) is join)
        found = next((name for name in names if self.seat(name).slot_number == slot), "")
        return found.split("\0", 1)[0]  # a pattern is of a query

    def _left_by(self, join: JoinNode, queries: set[str]) -> list[Member]:
        """The members at a join for which nobody is left when some queries go."""
        going: Counter[Seat] = Counter()
        users: dict[Seat, int] = {}
        for name in queries & self._groups.keys():
            group = self._groups[name]
            seated = group.seats[group.key_of[name]]
            if self.join(name) is join:
                going[seated.seat] += 1
                users[seated.seat] = seated.users
        left = {seat for seat, count in going.items() if count == users[seat]}
        return [
            seat.member
            for seat in left
            if isinstance(seat, JoinSeat) and left.issuperset(seat.member.seats)
        ]

    def suspend(self, seat: SelectionSeat) -> None:
        """Find nothing for a body over one stream until `resume`."""
        self._selections_with(seat).suspend(seat)

    def resume(self, seat: SelectionSeat) -> None:
        """Serve a suspended body again."""
        self._selections_with(seat).resume(seat)

    def limiting_joins_of(self, relation: str) -> list[JoinNode]:
        """The joins whose windows say how long tuples are needed; what pull queries need, their retention says."""
        return [join for join in self._joins_of[relation] if join not in self._past_joins]

    def relations_used(self) -> set[str]:
        """Folded names of the streams and tables that some query speaks of."""
        return {
            name
            for name in self._states
            if not is_derived(name) and (self._selections_of[name] or self._joins_of[name])
        }

    def query(self, name: str) -> QueryNode:
        """The node of a query that runs."""
        if name in self._aside:
            return self._aside[name]
        return self._groups[name].graph.queries[fold(name)]

    def seat(self, name: str) -> Seat:
        """Where the body of a query sits."""
        group = self._groups[name]
        return group.seats[group.key_of[name]].seat

    def seconds(self, name: str) -> float:
        """Work that was credited to the body of a query so far; queries of one body have it together."""
        if name in self._aside:
            return 0.0
        group = self._groups[name]
        seated = group.seats[group.key_of[name]]
        return seated.seat.seconds / seated.users

    def kept_bytes(self, queries: Iterable[str] | None = None) -> dict[str, int]:
        """What the joins keep beside the tuples, by query: each has a part of its join.

        Args:
            queries: all that are over joins, and maybe others; every query by default.
        """
        found: dict[str, int] = {}
        by_join: dict[JoinNode, list[str]] = {}
        for name in self._groups if queries is None else queries:
            join = self.join(name) if name in self._groups else None
            if join is not None:
                by_join.setdefault(join, []).append(name)
        for join, names in by_join.items():
            found |= dict.fromkeys(names, join.measure().bytes // len(names))
        return found

    def join(self, name: str) -> JoinNode | None:
        """The join that answers a query; None for a query over one stream."""
        if name in self._aside:
            return None
        group = self._groups[name]
        node = group.node(group.key_of[name])
        return None if node is None else self._built[node]

    @property
    def nodes(self) -> Iterator[tuple[Node, JoinNode]]:
        """The planned join nodes with the joins that do their work."""
        yield from self._built.items()

    def measure(self) -> list[OperatorMetrics]:
        """Counters of every operator."""
        filters = [each.measure() for among in self._selections_of.values() for each in among]
        return [*filters, *(self._measure(join) for join in self._joins())]

    def _measure(self, join: JoinNode) -> OperatorMetrics:
        """The counters of a join, with what was decided about its shape and about who shares it."""
        found = join.measure()
        decided = [
            trials.decision
            for node, (trials, _) in self._trials.items()
            if self._built[node] is join
        ]
        nodes = self._shared_nodes.get(join)
        if nodes is not None and nodes.joins[0] is join:  # once for all that share
            decided.append(nodes.trials.decision)
        known = [each for each in decided if each is not None]
        return replace(found, decisions=(*known, *found.decisions)) if known else found

    @property
    def failures(self) -> int:
        """Conditions that gave NULL where Spark's ANSI mode would have failed, those of queries that have left included."""
        filters = [each for among in self._selections_of.values() for each in among]
        found = sum(each.failures for each in filters) + sum(
            each.failures for each in self._joins()
        )
        return self._failures_of_gone + found

    def adapt(self) -> None:
        """Between two micro-batches: give joins the shape that costs least, and split those whose hosts cost less apart."""
        for nodes in dict.fromkeys(self._shared_nodes.values()):
            if nodes.has_several_hosts and nodes.trials.is_due(nodes):
                if nodes.trials.look(nodes):
                    started = perf_counter()
                    self._regroup(nodes)
                    nodes.trials.moved(nodes, perf_counter() - started)
                nodes.tell()
        for node, (trials, planner) in list(self._trials.items()):
            join = self._built[node]
            if join in self._shared_nodes and self._shared_nodes[join].trials.is_open:
                continue  # one trial at a time
            if trials.is_due(join) and trials.look(join):
                started = perf_counter()
                self._reshape(planner, node, trials.arm)
                trials.moved(self._built[node], perf_counter() - started)

    def _reshape(self, planner: NodePlanner, node: Node, shape: Shape | None) -> None:
        """Put another join in the place of one for a single host: of a shape, or (None) as it was planned first."""
        join = self._built[node]
        assert join.alone is not None
        host = join.alone.host
        executor = choose_executor(host, self._strategy)
        if shape is not None:
            executor = Tree(shape, self._strategy.feedback)
        planner.reshape(node, executor)
        new = self._new_join(node, host)
        new.adopt(join)
        for name in join.relations:
            among = self._joins_of[name]
            among[among.index(join)] = new
        if join in self._shared_nodes:
            nodes = self._shared_nodes[new] = self._shared_nodes.pop(join)
            nodes.joins[nodes.joins.index(join)] = new
        self._built[node] = new

    def _regroup(self, nodes: SharedNodes) -> None:
        """Serve hosts that share nodes in the groups that are now wanted: one join for each, from the base tuples."""
        planner = self._shared.planner  # hosts share nodes nowhere else
        old = nodes.joins
        before = [node for node, join in self._built.items() if join in old]
        groups = nodes.wanted_groups()
        hosts = {host.number: host for node in before for host in node.hosts}
        after = planner.regroup(before, groups)
        counted: set[JoinNode] = set()
        nodes.joins = []
        for node, numbers in zip(after, groups, strict=True):
            new = self._new_join(node, hosts[min(numbers)])
            for join in old:
                if any(part.host.number in numbers for part in join.parts):
                    new.gather(join, numbers)
                    if join not in counted:
                        new.inherit(join)
                        counted.add(join)
            nodes.joins.append(new)
            self._built[node] = new
        for node in before:
            self._drop(node)
        for node, new in zip(after, nodes.joins, strict=True):
            for name in new.relations:
                self._joins_of[name].append(new)
            self._shared_nodes[new] = nodes
            self._note_chances(planner, node)

    def _note_chances(self, planner: NodePlanner, node: Node) -> None:
        """Note what a node that was just built may become."""
        if node.past:
            self._past_joins.add(self._built[node])
        if planner.may_change(node):
            self._trials[node] = ShapeTrials(), planner

    def _drop(self, node: Node) -> None:
        """Forget the join of a node that serves nobody any more."""
        join = self._built[node]
        del self._built[node]
        for name in join.relations:
            self._joins_of[name].remove(join)
        self._past_joins.discard(join)
        self._trials.pop(node, None)
        nodes = self._shared_nodes.pop(join, None)
        if nodes is not None and join in nodes.joins:
            nodes.joins.remove(join)
            nodes.trials.note(nodes)
        join.close()
        self._failures_of_gone += join.failures

    def _new_join(self, node: Node, host: JoinHost, body: Body | None = None) -> JoinNode:
        """The join of a node; `body` where it serves one alone."""
        options = JoinOptions(
            self._strategy.order,
            one_at_a_time=self._strategy.packet == 1,
            counts_only=self._counts_only and not node.past,
        )
        join = build_join(host, node.executor, self._states, options, body)
        self._watched(join)
        return join

    def _joins(self) -> list[JoinNode]:
        return list(dict.fromkeys(join for among in self._joins_of.values() for join in among))

    def _epoch(self, body: Body, *, past: bool) -> Epoch:
        if body.host is None or past:
            return ()
        streams = [self._states[fold(each.name)] for each in body.relations if each.is_stream]
        return tuple(state.head for state in streams)

    def _seat(self, group: Group, key: SeatKey) -> Seated:
        body = key.body
        if key.beside is not None:
            name, position = key.beside
            return Seated(ItemSeat(body, self.seat(name), position), None)
        if body.host is None:
            return Seated(self._selections(group, body).add(body), None)
        placement = group.planner.seat(body, past=key.past, hint=key.hint)
        node = placement.node
        if isinstance(node.executor, Rows):
            rows_join = self._built[node] = self._new_join(node, body.host, body)
            self.row_joins.append(rows_join)
            self._connect(rows_join, body.host)
            return Seated(rows_join.add(body), node)
        if placement.node_is_new:
            self._build(group.planner, node, body.host)
        elif placement.host_is_new:
            self._take(node, body.host, placement.absorbed)
        return Seated(self._built[node].add(body, past=key.past), node)

    def _build(self, planner: NodePlanner, node: Node, host: JoinHost) -> None:
        join = self._built[node] = self._new_join(node, host)
        self._connect(join, host)
        if node.is_open and self._sharing:
            self._shared_nodes[join] = SharedNodes([join])
        self._note_chances(planner, node)

    def _take(self, node: Node, host: JoinHost, absorbed: Sequence[Node]) -> None:
        """One more host for a node that is there; it may need streams of other nodes, which then become part of it."""
        join = self._built[node]
        before = join.relations
        for other in absorbed:
            self._absorb(node, other)
        join.take(host)
        for name in join.relations - before:
            self._joins_of[name].append(join)
        self._measure_anew(join)

    def _unseat(self, group: Group, seated: Seated, key: SeatKey) -> None:
        if key.beside is not None:
            return
        body, node = key.body, group.node(key)
        if node is None:
            self._leave_selections(group, seated.seat, body)
            return
        join = self._built[node]
        is_empty = group.planner.unseat(body, node)
        if isinstance(node.executor, Rows):
            self.row_joins.remove(join)
            self._drop(node)
            return
        before = join.relations
        join.remove(seated.seat)
        gone = before - join.relations
        for name in gone:
            self._joins_of[name].remove(join)
        if is_empty:
            self._drop(node)
        elif gone:
            self._measure_anew(join)

    def _leave_selections(self, group: Group, seat: Seat, body: Body) -> None:
        stream = fold(body.relations[0].name)
        selections = group.selections[stream]
        assert isinstance(seat, SelectionSeat)
        selections.remove(seat)
        if not len(selections):
            self._selections_of[stream].remove(group.selections.pop(stream))
            self._failures_of_gone += selections.failures

    def _selections_with(self, seat: SelectionSeat) -> Selections:
        stream = fold(seat.body.relations[0].name)
        return next(each for each in self._selections_of[stream] if each.holds(seat))

    def _selections(self, group: Group, body: Body) -> Selections:
        stream = fold(body.relations[0].name)
        if stream not in group.selections:
            group.selections[stream] = Selections(body.relations[0], self._strategy.routing)
            self._selections_of[stream].append(group.selections[stream])
        return group.selections[stream]

    def _measure_anew(self, join: JoinNode) -> None:
        """Other streams feed the join: what a tuple costs is measured from here on."""
        nodes = self._shared_nodes.get(join)
        if nodes is not None:
            nodes.trials.note(nodes)

    def _absorb(self, node: Node, other: Node) -> None:
        """A host that needs the streams of two joins makes them one."""
        join, absorbed = self._built[node], self._built[other]
        for name in absorbed.relations:
            self._joins_of[name].remove(absorbed)
        join.absorb(absorbed)
        self._past_joins.discard(absorbed)
        self._trials.pop(other, None)
        self._shared_nodes.pop(absorbed, None)
        del self._built[other]

    def _connect(self, join: JoinNode, host: JoinHost) -> None:
        for name in dict.fromkeys(fold(relation.name) for relation in host.relations):
            self._joins_of[name].append(join)
