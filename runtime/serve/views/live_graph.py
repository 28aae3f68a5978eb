"""The shared graph as it runs: operators and edges folded so that a hundred thousand queries fit a page, with what was counted.

    source:trades -> filter:trades -> state:trades -> join:0 -> deliver:join:0       1,000 queries

Each operator is drawn once, however many queries it serves: one filter for a stream, with its columns inside; one state; a node for
each join; and the deliveries of all queries that end at the same operator as one. Only when there are few queries each has a node of
its own. The folded form changes when queries come or go, so it is kept until then; the counts are read at every look.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.graph.picture import expression_atoms, filtered_columns
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.wording.expressions import expression_text
from cqc.runtime.metrics.operators import (
    FilterMetrics,
    HistoryMetrics,
    JoinMetrics,
    RowsJoinMetrics,
    TreeMetrics,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cqc.compiler.graph.nodes import Body, QueryNode
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import Formula
    from cqc.runtime.metrics.engine import EngineMetrics
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.serve.service import Service

_FEW = 12  # queries that are drawn one by one
_NAMED = 8  # queries of a node that are named
_MOST_PARTS = 40  # columns or conditions that are named


@dataclass(slots=True)
class Part:
    """A column of a filter, or a condition, and how many queries ask it."""

    label: str
    queries: int = 0


@dataclass(slots=True)
class Node:
    """One operator of the picture."""

    id: str
    kind: str  # source, filter, state, join, condition, history, deliver
    label: str
    queries: int = 0
    parts: dict[str, Part] = field(default_factory=dict)
    more_parts: int = 0
    names: list[str] = field(default_factory=list)  # of some of its queries
    counts: dict[str, float] = field(default_factory=dict)
    note: str = ""

    def use(self, queries: int) -> None:
        self.queries += queries

    def part(self, label: str, queries: int) -> None:
        known = self.parts.get(label)
        if known is not None:
            known.queries += queries
        elif len(self.parts) < _MOST_PARTS:
            self.parts[label] = Part(label, queries)
        else:
            self.more_parts += 1


@dataclass(slots=True)
class Line:
    """An edge: from where to where, for how many queries."""

    source: str
    target: str
    queries: int = 0
    flow: float | None = None  # what went along it so far; None where nobody counts that


class Folded:
    """The graph of some bodies."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.lines: dict[tuple[str, str], Line] = {}
        self._is_small = False
        self._delivered: set[tuple[str, str]] = set()  # delivery and query, of outer joins too

    def draw(self, bodies: Iterable[tuple[Body, list[QueryNode]]], *, is_small: bool) -> None:
        """Add the operators of some bodies with their queries; `is_small`: each query has a node of its own."""
        self._is_small = is_small
        for body, queries in bodies:
            if body.host is None:
                end = self._filters(body.relations[0], body.filters[0], len(queries))
                place = f"filter:{body.relations[0].name}"
            else:
                end = self._join(body, body.host.number, len(queries))
                place = f"join:{body.host.number}"
            self._ends(end, place, body, queries)

    def _node(self, id_: str, kind: str, label: str, queries: int) -> Node:
        node = self.nodes.get(id_)
        if node is None:
            node = self.nodes[id_] = Node(id_, kind, label)
        node.use(queries)
        return node

    def _line(self, source: str, target: str, queries: int) -> None:
        line = self.lines.setdefault((source, target), Line(source, target))
        line.queries += queries

    def _filters(self, relation: Relation, formula: Formula, queries: int) -> str:
        """Draw a stream from its source through its filter. Returns what the next operator reads from."""
        source = self._node(f"source:{relation.name}", "source", relation.title, queries).id
        columns = sorted(set(filtered_columns(formula)))
        atoms = list(dict.fromkeys(expression_atoms(formula)))
        if not columns and not atoms:
            return source
        node = self._node(f"filter:{relation.name}", "filter", relation.title, queries)
        for column in columns:
            node.part(relation.columns[column].name, queries)
        for atom in atoms:
            node.part(expression_text(atom.expression, (relation,)), queries)
        self._line(source, node.id, queries)
        return node.id

    def _join(self, body: Body, number: int, queries: int) -> str:
        label = " x ".join(relation.title for relation in body.relations)
        join = self._node(f"join:{number}", "join", label, queries)
        drawn: set[tuple[str, str]] = set()
        for relation, formula in zip(body.relations, body.filters, strict=True):
            again = relation.name in {name for name, _ in drawn}
            end = self._filters(relation, formula, 0 if again else queries)
            state = self._node(
                f"state:{relation.name}", "state", relation.title, 0 if again else queries
            )
            if (relation.name, end) not in drawn:
                self._line(end, state.id, queries)
                drawn.add((relation.name, end))
            if not again:
                self._line(state.id, join.id, queries)
        if not body.residuals:
            return join.id
        check = self._node(f"condition:{number}", "condition", label, queries)
        for residual in body.residuals:
            check.part(expression_text(residual.expression, body.relations), queries)
        self._line(join.id, check.id, queries)
        return check.id

    def _ends(self, end: str, place: str, body: Body, queries: list[QueryNode]) -> None:
        label = " x ".join(relation.title for relation in body.relations)
        for query in queries:
            before = end
            if query.pull is not None:
                before = self._node(f"history:{place}", "history", label, 1).id
                self._line(end, before, 1)
            pull = "" if query.pull is None else ":pull"
            name = query.name.partition("\0")[0]  # the parts of an outer join are its own
            id_ = f"deliver:query:{name}" if self._is_small else f"deliver:{place}{pull}"
            is_new = (id_, name) not in self._delivered
            self._delivered.add((id_, name))
            title = name if self._is_small else label
            deliver = self._node(id_, "deliver", title, int(is_new))
            if is_new and len(deliver.names) < _NAMED:
                deliver.names.append(name)
            self._line(before, deliver.id, 1)


class LiveGraph:
    """The folded graph of a service, kept as long as its queries stay."""

    def __init__(self) -> None:
        self._folded: Folded | None = None
        self._version = -1

    def look(self, service: Service) -> Folded:
        """The graph with its counts, in the engine's thread."""
        registry = service.registry
        if self._folded is None or self._version != registry.version:
            self._folded, self._version = Folded(), registry.version
            for group in service.engine.circuit.groups:
                bodies = group.graph.bodies.values()
                pairs = ((body, list(body.queries)) for body in bodies)
                self._folded.draw(pairs, is_small=len(registry) <= _FEW)
        for node in self._folded.nodes.values():
            node.counts, node.note = {}, ""
        _count(self._folded.nodes, service, service.engine.metrics())
        _count_flows(self._folded)
        return self._folded


def path_of(service: Service, name: str) -> Folded:
    """The operators of one query alone, in the engine's thread.

    Raises:
        Refusal: when there is no such query.
    """
    entry = service.registry.find(name)
    found = Folded()
    if entry.stopped:
        return found
    node = service.engine.node(entry.name)
    found.draw([(body, [node]) for body in node.bodies], is_small=len(service.registry) <= _FEW)
    return found


def _count(nodes: Mapping[str, Node], service: Service, measured: EngineMetrics) -> None:
    for name, count in measured.streams.items():
        _set(nodes, f"source:{name}", out=count.read, late=count.late, rejected=count.rejected)
    for state in measured.states:
        _set(nodes, f"state:{state.name}", kept=state.tuples, bytes=state.bytes, out=state.taken)
    for operator in measured.operators:
        match operator:
            case FilterMetrics(name=name):
                _add_to(nodes, f"filter:{name[len('filters(') : -1]}", operator)
            case HistoryMetrics():
                _count_history(nodes, operator)
            case JoinMetrics() | TreeMetrics() | RowsJoinMetrics():
                _count_join(nodes, operator)
            case _:
                pass
    found: Counter[str] = Counter()
    invoked: Counter[str] = Counter()
    shown = {fold(id_): id_ for id_ in nodes}
    for entry in service.registry:
        if entry.place.operator:
            ending = "" if entry.kind == "push" else ":pull"
            delivery = f"deliver:{entry.place.operator}{ending}"
            found[delivery] += entry.results
            invoked[delivery] += entry.invocations
            own = f"deliver:query:{entry.name}"
            _set(nodes, own, out=entry.results, invoked=entry.invocations)
    for name, number in found.items():
        _set(nodes, shown.get(name, ""), out=number, invoked=invoked[name])


def _count_flows(graph: Folded) -> None:
    """What went along each edge, where that is known.

    An operator that reads from one place alone got from there all that it took; what it took from each of several is counted nowhere,
    except that a state with one reader gave it everything. What a source has read says nothing of its edges: some is rejected or late.
    """
    before = Counter(target for _, target in graph.lines)
    after = Counter(source for source, _ in graph.lines)
    for line in graph.lines.values():
        source, target = graph.nodes[line.source], graph.nodes[line.target]
        line.flow = None
        if before[line.target] == 1:
            is_out = target.kind in ("state", "deliver")  # of a state: the tuples that it took
            line.flow = target.counts.get("out" if is_out else "in")
        elif after[line.source] == 1 and source.kind == "state":
            line.flow = source.counts.get("out")


def _count_history(nodes: Mapping[str, Node], operator: HistoryMetrics) -> None:
    """What is kept of some streams; where several joins are over the same ones, it is not told which keeps how much."""
    label = operator.name.removeprefix("history(").removesuffix(")").replace(", ", " x ")
    same = [each for each in nodes.values() if each.kind == "history" and each.label == label]
    if len(same) == 1:
        _add_to(nodes, same[0].id, operator)
        same[0].counts["kept"] = operator.rows


def _count_join(nodes: Mapping[str, Node], operator: OperatorMetrics) -> None:
    """A join node may serve several joins of the graph; each has its results, and the time is the node's."""
    numbers = operator.name.removeprefix("join").split("+")
    hosts = operator.hosts if isinstance(operator, JoinMetrics) else {}
    for number in numbers:
        id_ = f"join:{number}"
        if id_ not in nodes:
            continue
        _add_to(nodes, id_, operator)
        if len(numbers) > 1:
            nodes[id_].counts["out"] = hosts.get(f"join{number}", 0)
            nodes[id_].note = f"one node with {len(numbers) - 1} other joins"
        if isinstance(operator, TreeMetrics):
            nodes[id_].note = f"tree {operator.shape}"


def _add_to(nodes: Mapping[str, Node], id_: str, operator: OperatorMetrics) -> None:
    counts = nodes[id_].counts if id_ in nodes else {}
    counts["in"] = counts.get("in", 0) + operator.tuples_in
    counts["out"] = counts.get("out", 0) + operator.tuples_out
    counts["seconds"] = counts.get("seconds", 0.0) + operator.seconds
    counts["bytes"] = counts.get("bytes", 0) + operator.bytes


def _set(nodes: Mapping[str, Node], id_: str, **counts: float) -> None:
    if id_ in nodes:
        nodes[id_].counts |= counts
