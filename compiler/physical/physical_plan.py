"""The physical plan of a program: every operator that will run, as data, before anything is built.

`cqc explain` prints it, and the engine's own decisions come from the same planner (`node_planner`), so that what is shown as
shared is what is shared.

    plan_of(program.graph, Strategy())   ->   PhysicalPlan(stores, filters, joins, deliveries)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.executors import executor_text, hint_of
from cqc.compiler.physical.node_planner import NodePlanner
from cqc.compiler.wording.expressions import item_names

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from cqc.compiler.graph.graph import Graph
    from cqc.compiler.physical.executors import Executor
    from cqc.compiler.physical.node_planner import Node
    from cqc.compiler.physical.strategy import Strategy


@dataclass(frozen=True, slots=True)
class StorePlan:
    """The base tuples of a stream or table, kept once for all the nodes that it feeds."""

    relation: str
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """One grouped filter for all bodies over one stream alone."""

    stream: str
    bodies: int


@dataclass(frozen=True, slots=True)
class JoinNodePlan:
    """One join node: the hosts that it serves and how it goes about it."""

    number: int
    hosts: tuple[str, ...]
    relations: tuple[str, ...]  # of the first host, as the executor speaks of them
    executor: Executor
    keeps_past: bool  # for queries with BEGIN-END
    slots: int  # bits of lineage beside every tuple
    adapts: bool  # may take another shape while it runs


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """Queries whose results are made together, because they have one body and one SELECT list."""

    queries: tuple[str, ...]
    pull: bool


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """Everything that will run."""

    stores: tuple[StorePlan, ...]
    filters: tuple[FilterPlan, ...]
    joins: tuple[JoinNodePlan, ...]
    deliveries: tuple[DeliveryPlan, ...]


def plan_of(graph: Graph, strategy: Strategy) -> PhysicalPlan:
    """The plan of a graph, as an engine that gets its queries in this order would make it."""
    planners: dict[object, NodePlanner] = {}
    seated: set[Hashable] = set()
    filters: dict[Hashable, tuple[str, int]] = {}
    deliveries: dict[Hashable, tuple[bool, list[str]]] = {}
    for query in graph.queries.values():
        alone = (
            None if strategy.sharing else query.name
        )  # with sharing off every query has operators of its own
        past = query.pull is not None
        hint = None if past else hint_of(query, strategy)
        first = (query.bodies, past, hint, alone)
        clauses = query.outputs, query.pull, query.decided
        deliveries.setdefault((first, clauses), (past, []))[1].append(query.name)
        for body in query.bodies:
            seat = (body, past, hint, alone)
            if seat in seated:
                continue
            seated.add(seat)
            if body.host is None:
                name = body.relations[0].name
                before = filters.get((name, alone), (name, 0))[1]
                filters[name, alone] = (name, before + 1)
            else:
                planner = planners.setdefault(alone, NodePlanner(strategy))
                planner.seat(body, past=past, hint=hint)
    nodes = [
        (node, planner.may_change(node) and len(node.hosts) == 1)
        for planner in planners.values()
        for node in planner
    ]
    return PhysicalPlan(
        stores=tuple(_stores([node for node, _ in nodes])),
        filters=tuple(FilterPlan(name, bodies) for name, bodies in filters.values()),
        joins=tuple(
            _node_plan(node, number, adapts=adapts) for number, (node, adapts) in enumerate(nodes)
        ),
        deliveries=tuple(
            DeliveryPlan(tuple(names), pull=past) for past, names in deliveries.values()
        ),
    )


def _node_plan(node: Node, number: int, *, adapts: bool) -> JoinNodePlan:
    hosts = sorted(node.hosts, key=lambda host: host.number)
    return JoinNodePlan(
        number=number,
        hosts=tuple(host.name for host in hosts),
        relations=tuple(item_names(hosts[0].relations)),
        executor=node.executor,
        keeps_past=node.past,
        slots=len(node.slots),
        adapts=adapts,
    )


def _stores(nodes: Sequence[Node]) -> Iterator[StorePlan]:
    fed: dict[str, list[int]] = {}
    names: dict[str, str] = {}
    for number, node in enumerate(nodes):
        for host in node.hosts:
            for relation in host.relations:
                names.setdefault(fold(relation.name), relation.name)
                among = fed.setdefault(fold(relation.name), [])
                if number not in among:
                    among.append(number)
    for folded, numbers in fed.items():
        yield StorePlan(names[folded], tuple(numbers))


def plan_lines(plan: PhysicalPlan) -> Iterator[str]:
    """The join nodes of the plan in words, one line each: what is stored and joined once for whom."""
    for node in plan.joins:
        who = ", ".join(node.hosts) if len(node.hosts) <= 4 else f"{len(node.hosts):,} joins"
        how = executor_text(node.executor, node.relations)
        also = ", over the past too" if node.keeps_past else ""
        shared = ": they have streams in common" if len(node.hosts) > 1 else ""
        adapts = ", may change its shape" if node.adapts else ""
        slots = f"{node.slots:,} slot{'' if node.slots == 1 else 's'}"
        yield f"node {node.number} for {who}{shared} ({how}{also}{adapts}; {slots})"
