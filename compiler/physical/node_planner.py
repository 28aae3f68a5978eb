"""Which join node serves which host: decided when a body comes or goes, by the compiler and by a running engine alike.

Hosts that have a stream in common are served by one flat node: a packet is filtered, stored and started once for all of
them. But every slot widens the lineage of every tuple at its node, so a node with many slots takes no more hosts.

    B x T  comes:   node 0 for B x T
    T x H  comes:   node 0 for B x T and T x H      T is stored once
    K x L  comes:   node 1 for K x L
    H x K  comes:   node 0 for all four             node 1 is absorbed

While an engine runs, a node may take another executor (`reshape`), and hosts that cost less apart are split (`regroup`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.executors import Flat, Rows, choose_executor

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.compiler.physical.executors import Executor, Hint
    from cqc.compiler.physical.strategy import Strategy

MOST_SLOTS = 1024


@dataclass(slots=True, eq=False)
class Node:
    """A join node as planned: the hosts that it serves, and how it goes about it."""

    number: int
    executor: Executor
    past: bool  # of pull queries, which also see tuples from before their registration
    hint: Hint
    bodies: dict[JoinHost, int] = field(default_factory=dict)  # how many seats each host has here
    slots: Counter[Hashable] = field(default_factory=Counter)
    siblings: list[Node] = field(default_factory=list)  # itself, and those it was split from

    @property
    def is_open(self) -> bool:
        """Whether other hosts may come to this node."""
        return isinstance(self.executor, Flat) and self.hint is None

    @property
    def is_apart(self) -> bool:
        """Whether the node was split from others."""
        return len(self.siblings) > 1

    @property
    def hosts(self) -> tuple[JoinHost, ...]:
        return tuple(self.bodies)

    @property
    def relations(self) -> dict[str, None]:
        """Folded names of the streams and tables that feed the node, each once."""
        return dict.fromkeys(fold(each.name) for host in self.bodies for each in host.relations)


@record
class Placement:
    """Where a body goes, and what that changes."""

    node: Node
    node_is_new: bool = False
    host_is_new: bool = False  # at a node that was there
    absorbed: tuple[Node, ...] = ()  # nodes that became part of it


class NodePlanner:
    """The join nodes of a query set."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._numbers = itertools.count()
        self._nodes: dict[Node, None] = {}
        self._node_of: dict[tuple[JoinHost, bool, Hint], Node] = {}
        self._open_at: dict[str, dict[Node, None]] = {}  # by folded relation name

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def node_of(self, body: Body, *, past: bool, hint: Hint) -> Node:
        """The node that serves a body without ROWS windows."""
        assert body.host is not None
        return self._node_of[body.host, past, hint]

    def seat(self, body: Body, *, past: bool, hint: Hint) -> Placement:
        """Find the node of a body, or plan one."""
        host = body.host
        assert host is not None
        if body.rows and not past:  # a pull query applies ROWS when it is asked
            node = self._new(Rows(), past=past, hint=None)
            self._add(node, host)
            return self._count(Placement(node, node_is_new=True), body)
        node_there = self._node_of.get((host, past, hint))
        if node_there is not None:
            return self._count(Placement(node_there), body)
        # What pull queries keep is asked for by a window of its own: only the flat join answers over the past.
        executor = Flat() if past else choose_executor(host, self._strategy, hint)
        is_open = isinstance(executor, Flat) and hint is None
        near = self._near(host, past=past) if is_open else []
        if near:
            node, *others = near
            for other in others:
                self._absorb(node, other)
            placement = Placement(node, host_is_new=True, absorbed=tuple(others))
        else:
            placement = Placement(self._new(executor, past=past, hint=hint), node_is_new=True)
        self._add(placement.node, host)
        self._node_of[host, past, hint] = placement.node
        return self._count(placement, body)

    def unseat(self, body: Body, node: Node) -> bool:
        """Take one seat of a body away from its node; whether nobody is left there."""
        host = body.host
        assert host is not None
        key = _slot_key(body)
        node.slots[key] -= 1
        if not node.slots[key]:
            del node.slots[key]
        node.bodies[host] -= 1
        if not node.bodies[host]:
            del node.bodies[host]
            key_of_host = (host, node.past, node.hint)
            if (
                self._node_of.get(key_of_host) is node
            ):  # a join with ROWS windows may be of the same host
                del self._node_of[key_of_host]
            left = node.relations
            own = {fold(each.name) for each in host.relations}
            self._close(node, [name for name in own if name not in left])
        if not node.bodies:
            self._drop(node)
        return not node.bodies

    def may_change(self, node: Node) -> bool:
        """Whether the node may take another shape while it runs."""
        strategy = self._strategy
        is_free = strategy.join == "auto" and strategy.routing == "selectivity"
        first = next(iter(node.bodies), None)
        has_shapes = first is not None and len(first.relations) > 2
        return is_free and has_shapes and not node.past and node.hint is None

    def reshape(self, node: Node, executor: Executor) -> None:
        """Let a node go about its work in another way."""
        node.executor = executor

    def regroup(self, nodes: Sequence[Node], groups: Iterable[Iterable[int]]) -> list[Node]:
        """Serve the hosts of some nodes, by their numbers, in other groups, each by a node of its own."""
        first = nodes[0]
        old = {host: node for node in nodes for host in node.bodies}
        siblings: list[Node] = []
        for numbers in groups:
            among = set(numbers)
            new = self._new(Flat(), past=first.past, hint=None, siblings=siblings)
            for host in [each for each in old if each.number in among]:
                self._add(new, host)
                new.bodies[host] = old[host].bodies[host]
                self._node_of[host, first.past, None] = new
            for node in nodes:
                own = {
                    key: count for key, count in node.slots.items() if _host_of(key) in new.bodies
                }
                new.slots.update(own)
        for node in nodes:
            self._close(node, node.relations)
            self._drop(node)
        return siblings

    def _near(self, host: JoinHost, *, past: bool) -> list[Node]:
        """The open nodes over streams of the host that have room for it, the largest first."""
        if not self._strategy.sharing:
            return []
        found = dict.fromkeys(
            node
            for relation in host.relations
            if relation.is_stream
            for node in self._open_at.get(fold(relation.name), ())
            if node.is_open and node.past == past
        )
        apart = [node for node in found if len(node.slots) < MOST_SLOTS and node.is_apart]
        if apart:
            # Those stay apart: the host goes to the one with most of its streams, of several to the smallest.
            names = {fold(relation.name) for relation in host.relations}
            return [
                max(apart, key=lambda node: (len(names & node.relations.keys()), -len(node.slots)))
            ]
        near: list[Node] = []
        room = MOST_SLOTS
        for node in sorted(found, key=lambda node: len(node.slots), reverse=True):
            if len(node.slots) < room and not node.is_apart:
                near.append(node)
                room -= len(node.slots)
        return near

    def _new(
        self, executor: Executor, *, past: bool, hint: Hint, siblings: list[Node] | None = None
    ) -> Node:
        among = [] if siblings is None else siblings
        node = Node(next(self._numbers), executor, past, hint, siblings=among)
        among.append(node)
        self._nodes[node] = None
        return node

    def _add(self, node: Node, host: JoinHost) -> None:
        node.bodies[host] = 0
        if not isinstance(node.executor, Rows) and node.hint is None:
            for relation in host.relations:
                self._open_at.setdefault(fold(relation.name), {})[node] = None

    def _count(self, placement: Placement, body: Body) -> Placement:
        assert body.host is not None
        placement.node.bodies[body.host] += 1
        placement.node.slots[_slot_key(body)] += 1
        return placement

    def _absorb(self, node: Node, other: Node) -> None:
        for host, seats in other.bodies.items():
            self._add(node, host)
            node.bodies[host] = seats
            self._node_of[host, node.past, None] = node
        node.slots.update(other.slots)
        self._close(other, other.relations)
        self._drop(other)

    def _close(self, node: Node, names: Iterable[str]) -> None:
        """No host of the node is over these relations any more."""
        for name in names:
            among = self._open_at.get(name, {})
            among.pop(node, None)
            if not among:
                self._open_at.pop(name, None)

    def _drop(self, node: Node) -> None:
        self._nodes.pop(node, None)
        if node in node.siblings:
            node.siblings.remove(node)


def _slot_key(body: Body) -> Hashable:
    """Bodies of one family have one slot, whatever their constants."""
    return (body.host, body.family.number) if body.family is not None else (body.host, body)


def _host_of(key: Hashable) -> object:
    assert isinstance(key, tuple)
    return key[0]
