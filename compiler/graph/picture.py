"""The operators and edges that one can draw of a graph.

Everything is derived from bodies and hosts, so drawing costs nothing until somebody looks. Ids are made of what an
operator works on, or of a number the graph gave, and so are the same in every run over the same queries.

    source:B -> filter:B.pressure -> state:B -> join:0 -> deliver:q1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.lower import lower
from cqc.compiler.graph.nodes import Edge, Operator, OperatorKind
from cqc.compiler.graph.share import Shared
from cqc.compiler.meaning.normal import AllOf, AnyOf, ExpressionAtom
from cqc.compiler.wording.expressions import expression_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cqc.compiler.graph.graph import Graph
    from cqc.compiler.graph.nodes import Body, JoinHost, QueryNode
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import Formula


def draw(graph: Graph) -> tuple[tuple[Operator, ...], tuple[Edge, ...]]:
    """The picture of a graph: operators in a fixed order, sources first, deliveries last."""
    drawing = _Drawing()
    for relation in derived_relations(graph.bodies.values()):
        drawing.draw_view(relation)
    for _, body in sorted(graph.bodies.items()):
        drawing.draw_body(body)
    return drawing.operators(), tuple(drawing.edges)


def derived_relations(bodies: Iterable[Body]) -> list[Relation]:
    """The views beneath bodies, inner ones first."""
    found: dict[str, Relation] = {}

    def visit(relation: Relation) -> None:
        if relation.made_by is None or relation.name in found:
            return
        for inner in relation.made_by.inner:
            visit(inner)
        found[relation.name] = relation

    for body in bodies:
        for relation in body.relations:
            visit(relation)
    return list(found.values())


def filtered_columns(formula: Formula) -> Iterator[int]:
    """The columns whose grouped filters a formula asks."""
    match formula:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from filtered_columns(part)
        case ExpressionAtom():
            return
        case _:
            yield formula.column


def expression_atoms(formula: Formula) -> Iterator[ExpressionAtom]:
    """The conditions of a formula that need their expression evaluated."""
    match formula:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from expression_atoms(part)
        case ExpressionAtom():
            yield formula
        case _:
            return


_ORDER = {kind: at for at, kind in enumerate(OperatorKind)}


class _Drawing:
    def __init__(self) -> None:
        self._labels: dict[str, tuple[OperatorKind, str]] = {}
        self._queries: dict[str, int] = {}
        self._in_body: set[str] = set()  # what the body that is being drawn has used so far
        self._details: dict[str, str] = {}
        self._residuals: dict[tuple[str, str], str] = {}
        self._place = ""  # the view that is being drawn, whose joins have numbers of their own
        self.edges: dict[Edge, None] = {}

    def operators(self) -> tuple[Operator, ...]:
        found = [
            Operator(id_, kind, label, self._queries[id_], self._details.get(id_, ""))
            for id_, (kind, label) in self._labels.items()
        ]
        return tuple(sorted(found, key=lambda each: _ORDER[each.kind]))

    def _use(self, kind: OperatorKind, id_: str, label: str, queries: int) -> str:
        self._labels.setdefault(id_, (kind, label))
        self._queries[id_] = self._queries.get(id_, 0) + queries
        return id_

    def _use_once(self, kind: OperatorKind, id_: str, label: str, queries: int) -> str:
        """Like `_use`, for all queries of a body: a self-join reads its stream twice and counts once."""
        again = id_ in self._in_body
        self._in_body.add(id_)
        return self._use(kind, id_, label, 0 if again else queries)

    def _connect(self, sources: list[str], target: str, *, feedback: bool = False) -> None:
        for source in sources:
            self.edges[Edge(source, target, feedback)] = None

    def draw_body(self, body: Body) -> None:
        queries = list(body.queries)
        self._draw_ends(body, queries, self._draw_inside(body, len(queries)))

    def draw_view(self, relation: Relation) -> None:
        """A view, and what feeds it."""
        made_by = relation.made_by
        assert made_by is not None
        self._place = f"{relation.name}."
        shared = Shared()
        for branch in made_by.branches:
            body, _ = shared.body_of(lower(branch))
            ends = self._draw_inside(body, 0)
            view = self._use(OperatorKind.VIEW, relation.name, relation.title, 0)
            self._connect(ends, view)
        self._place = ""

    def _draw_inside(self, body: Body, queries: int) -> list[str]:
        """Everything of a body but what becomes of its results."""
        self._in_body.clear()
        if body.host is None:
            return self._draw_filters(body.relations[0], body.filters[0], queries)
        ends = [self._draw_join(body, body.host, queries)]
        for residual in body.residuals:
            text = expression_text(residual.expression, body.relations)
            place = f"{self._place}{body.host.name}"
            ends = [self._draw_residual(ends, place, text, queries)]
        return ends

    def _draw_filters(self, relation: Relation, formula: Formula, queries: int) -> list[str]:
        """From the source through the filters of each column; returns what the next operator reads from."""
        is_view = relation.made_by is not None
        kind = OperatorKind.VIEW if is_view else OperatorKind.SOURCE
        id_ = relation.name if is_view else f"source:{relation.name}"
        source = self._use_once(kind, id_, relation.title, queries)
        ends: list[str] = []
        for column in sorted(set(filtered_columns(formula))):
            name = relation.columns[column].name
            id_, label = f"filter:{relation.name}.{name}", f"{relation.title}.{name}"
            ends.append(self._use_once(OperatorKind.GROUPED_FILTER, id_, label, queries))
        for end in ends:
            self._connect([source], end)
        ends = ends or [source]
        for atom in dict.fromkeys(expression_atoms(formula)):
            text = expression_text(atom.expression, (relation,))
            ends = [self._draw_residual(ends, relation.name, text, queries)]
        return ends

    def _draw_residual(self, ends: list[str], place: str, text: str, queries: int) -> str:
        number = len([key for key in self._residuals if key[0] == place])
        id_ = self._residuals.setdefault((place, text), f"residual:{place}.{number}")
        self._use_once(OperatorKind.RESIDUAL, id_, text, queries)
        self._connect(ends, id_)
        return id_

    def _draw_join(self, body: Body, host: JoinHost, queries: int) -> str:
        label = " x ".join(relation.title for relation in host.relations)
        id_ = f"join:{self._place}{host.number}"
        join = self._use(OperatorKind.MULTI_JOIN, id_, label, queries)
        for relation, formula in zip(body.relations, body.filters, strict=True):
            ends = self._draw_filters(relation, formula, queries)
            state = self._use_once(
                OperatorKind.SHARED_STATE, f"state:{relation.name}", relation.title, queries
            )
            self._connect(ends, state)
            self._connect([state], join)
            self._connect([join], state, feedback=True)
        return join

    def _draw_ends(self, body: Body, queries: list[QueryNode], ends: list[str]) -> None:
        history = f"history:{body.number}"
        for query in queries:
            before = ends
            if query.pull is not None:
                label = " x ".join(relation.title for relation in body.relations)
                self._connect(ends, self._use(OperatorKind.HISTORY, history, label, 1))
                before = [history]
            if query.patterns:
                absence = f"absence:{query.name}"
                self._use(OperatorKind.ABSENCE, absence, query.name, absence not in self._labels)
                self._connect(before, absence)
                before = [absence]
            if query.pull is not None and query.pull.is_aggregate:
                aggregate = f"aggregate:{query.name}"
                self._use(OperatorKind.AGGREGATE, aggregate, query.name, 1)
                self._connect(before, aggregate)
                before = [aggregate]
            if query.decided is not None:
                decided = f"decided:{query.name}"
                self._use(OperatorKind.DECIDED, decided, query.name, 1)
                self._connect(before, decided)
                before = [decided]
            if query.alert is not None:
                alert = f"alert:{query.name}"
                self._use(OperatorKind.ALERT, alert, query.name, 1)
                self._connect(before, alert)
                before = [alert]
            again = f"deliver:{query.name}" in self._labels and bool(query.patterns)
            count = 0 if again else 1
            deliver = self._use(OperatorKind.DELIVER, f"deliver:{query.name}", query.name, count)
            self._connect(before, deliver)
