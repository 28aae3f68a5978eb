"""The graph for people: streams, joins and queries, what is shared by whom, and why each condition is where it is.

Of a few dozen queries every one is shown with its conditions by class, the time between each pair of streams and the
history each stream keeps. Of more the first are, and the rest is summed up: streams and joins are always complete.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from cqc.compiler.emit.explain_query import kept_text, query_lines
from cqc.compiler.graph.graph import Graph
from cqc.compiler.graph.nodes import Direction, ThresholdKind
from cqc.compiler.graph.picture import derived_relations, expression_atoms, filtered_columns
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.normal import ALWAYS
from cqc.compiler.physical.physical_plan import plan_lines, plan_of
from cqc.compiler.physical.strategy import Strategy
from cqc.compiler.wording.expressions import (
    duration_text,
    expression_text,
    item_names,
    name_text,
    path_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cqc.compiler.graph.nodes import Body, Family, JoinHost
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.program import Program

_MOST_QUERIES = 40  # shown one by one
_MOST_NAMES = 4
_MOST_FAMILIES = 10


def emit(
    program: Program,
    notes: Mapping[str, str] | None = None,
    strategy: Strategy | None = None,
) -> str:
    """The whole explanation, with the join nodes that will run under a strategy.

    `notes` are appended to the lines of operators, by operator id (`filter:B.temp`).
    """
    views = derived_relations(program.graph.bodies.values())
    graph = _with_feeds(program, views)
    measured = notes or {}
    lines = [_headline(program.graph), ""]
    relations = program.catalog.relations.values()
    by_relation = _bodies_by_relation(graph)
    streams = [each for each in relations if each.is_stream]
    tables = [each for each in relations if not each.is_stream]
    if streams:
        lines += ["Streams", *_indent(_relations(streams, by_relation, measured)), ""]
    if tables:
        lines += ["Tables", *_indent(_relations(tables, by_relation, measured)), ""]
    if program.catalog.views or views:
        lines += ["Views", *_indent(_views(program, views, by_relation, measured)), ""]
    if graph.hosts:
        lines += ["Joins", *_indent(_hosts(graph, measured)), ""]
        plan = plan_of(graph, strategy or Strategy())
        lines += ["Runs as", *_indent(plan_lines(plan)), ""]
    if program.graph.queries:
        lines += ["Queries", *_indent(_queries(program.graph, measured))]
    return "\n".join(lines).rstrip() + "\n"


def _with_feeds(program: Program, views: Sequence[Relation]) -> Graph:
    """The graph with the branches of views among the queries, as they run; a branch has the name of its view."""
    if not views:
        return program.graph
    graph = Graph()
    for query in program.graph.queries.values():
        graph.add(program.graph.normal(query.name))
    for view in views:
        assert view.made_by is not None
        for branch in view.made_by.branches:
            name = f"view {view.title}"
            while fold(name) in graph.queries:
                name += "'"
            graph.add(replace(branch, name=name))
    return graph


def _views(
    program: Program,
    views: Sequence[Relation],
    by_relation: Mapping[str, list[Body]],
    notes: Mapping[str, str],
) -> Iterator[str]:
    """The views that are made, by level; then those that are not."""
    made = {fold(view.title) for view in views}
    for view in sorted(views, key=lambda each: each.made_by.level if each.made_by else 0):
        assert view.made_by is not None
        kind = "a stream" if view.is_stream else "a table"
        if view.is_windowed:
            kind = "rows of the window asked about"
        beneath = " and ".join(view.made_by.bases) or "tables"
        columns = ", ".join(f"{name_text(c.name)} {c.type.value}" for c in view.declared)
        users = _users(by_relation.get(view.name, []))
        note = _note(notes, "source", view.name)
        yield (
            f"level {view.made_by.level}: {name_text(view.title)} ({columns}), {kind} over {beneath}:"
            f" read by {users}{note}"
        )
        if view.is_stream:
            yield from _indent(_filters(view, by_relation.get(view.name, []), notes))
    for name, relation in program.catalog.views.items():
        if name not in made:
            shown = name_text(relation.name)
            yield f"{shown}: merged into its readers, or read by no query"


def _headline(graph: Graph) -> str:
    queries, bodies, joins = len(graph.queries), len(graph.bodies), len(graph.hosts)
    shared = ""
    if bodies < queries:
        shared = (
            " with the same conditions"
            if bodies == 1
            else f" with {bodies:,} different sets of conditions"
        )
    joined = f", {_count(joins, 'join')}" if joins else ""
    return f"{_count(queries, 'query', 'queries')}{shared}{joined}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _bodies_by_relation(graph: Graph) -> dict[str, list[Body]]:
    found: dict[str, list[Body]] = {}
    for _, body in sorted(graph.bodies.items()):
        for name in dict.fromkeys(relation.name for relation in body.relations):
            found.setdefault(name, []).append(body)
    return found


def _shared(bodies: Sequence[Body]) -> str:
    """`shared by 3 queries (a, b, c)`, `for 1 query (a)`."""
    users = _users(bodies)
    return f"for {users}" if users.startswith("1 ") else f"shared by {users}"


def _users(bodies: Sequence[Body]) -> str:
    """`3 queries (a, b, c)`, long lists cut."""
    count = sum(len(body.users) if isinstance(body.users, dict) else 1 for body in bodies)
    names = list(islice((query.name for body in bodies for query in body.queries), _MOST_NAMES))
    if any(next(body.queries).patterns for body in bodies):  # which have several bodies
        everyone = dict.fromkeys(query.name for body in bodies for query in body.queries)
        count, names = len(everyone), list(islice(everyone, _MOST_NAMES))
    if count > len(names):
        names[-1] = f"{count - len(names) + 1:,} more"
    return f"{_count(count, 'query', 'queries')} ({', '.join(names)})"


def _relations(
    relations: Sequence[Relation], by_relation: Mapping[str, list[Body]], notes: Mapping[str, str]
) -> Iterator[str]:
    for relation in relations:
        bodies = by_relation.get(relation.name, [])
        columns = ", ".join(f"{name_text(c.name)} {c.type.value}" for c in relation.declared)
        late = f", up to {duration_text(relation.delay_us)} late" if relation.delay_us else ""
        users = f"read by {_users(bodies)}" if bodies else "read by no query"
        yield f"{name_text(relation.name)} ({columns}){late}: {users}{_note(notes, 'source', relation.name)}"
        yield from _indent(_filters(relation, bodies, notes))
        joining = [body for body in bodies if body.host is not None and body.has_push]
        if joining and relation.is_stream:
            kept = kept_text(relation, joining)
            note = _note(notes, "state", relation.name)
            yield f"  state {_shared(joining)}: keeps {kept}{note}"
        elif any(body.host is not None for body in bodies):
            yield f"  held in memory for the joins{_note(notes, 'state', relation.name)}"
        if relation.is_stream and any(body.has_pull for body in bodies):
            yield "  history kept for BEGIN-END queries, as long as RETENTION says"


def _note(notes: Mapping[str, str], kind: str, label: str) -> str:
    note = notes.get(f"{kind}:{label}")
    return f"  [{note}]" if note else ""


def _filters(relation: Relation, bodies: Sequence[Body], notes: Mapping[str, str]) -> Iterator[str]:
    by_column: dict[int, list[Body]] = {}
    residuals: Counter[str] = Counter()
    unfiltered: list[Body] = []
    for body in bodies:
        formulas = [
            formula
            for each, formula in zip(body.relations, body.filters, strict=True)
            if each.name == relation.name
        ]
        for column in sorted({c for formula in formulas for c in filtered_columns(formula)}):
            by_column.setdefault(column, []).append(body)
        for formula in formulas:
            for atom in expression_atoms(formula):
                residuals[expression_text(atom.expression, (relation,))] += 1
        if body.host is None and formulas == [ALWAYS]:
            unfiltered.append(body)
    for column, users in sorted(by_column.items()):
        name = relation.columns[column].name
        note = _note(notes, "filter", f"{relation.name}.{name}")
        yield f"filter on {path_text(relation, column)}, {_shared(users)}{note}"
    shown = list(residuals)[:_MOST_FAMILIES]
    for text in shown:
        yield f"condition on several columns or a function, evaluated once: {text}"
    if len(residuals) > len(shown):
        yield f"{len(residuals) - len(shown):,} more such conditions"
    if unfiltered:
        yield f"unfiltered, every tuple: {_users(unfiltered)}"


def _hosts(graph: Graph, notes: Mapping[str, str]) -> Iterator[str]:
    for _, host in sorted(graph.hosts.items()):
        inputs = " x ".join(name_text(relation.title) for relation in host.relations)
        users = _shared([body for _, body in sorted(host.bodies.items())])
        inside = "" if host.parent is None else f", part of {host.parent.name}"
        note = _note(notes, "join", str(host.number))
        yield f"{host.name}: {inputs}{inside}, {users}{note}"
        yield from _indent(_equalities(host))
        families = [family for _, family in sorted(host.families.items())]
        lists = [family for family in families if len(family.ranked) > 1]
        for family in lists[:_MOST_FAMILIES]:
            yield f"  {_family_text(host, family)}"
        if len(lists) > _MOST_FAMILIES:
            yield f"  {len(lists) - _MOST_FAMILIES:,} more predicate lists"


def _equalities(host: JoinHost) -> Iterator[str]:
    for each in host.classes:
        columns = [_column(host, item, column) for item, column in each]
        yield f"by hash on {' = '.join(columns)}"


def _column(host: JoinHost, item: int, column: int) -> str:
    own = name_text(host.relations[item].columns[column].name)
    return f"{item_names(host.relations)[item]}.{own}"


def _family_text(host: JoinHost, family: Family) -> str:
    shape = family.predicate_list
    left = _column(host, shape.left_item, shape.left_column)
    right = _column(host, shape.right_item, shape.right_column)
    sign = "<" if shape.direction is Direction.BELOW else ">"
    low, high = family.ranked[0].threshold, family.ranked[-1].threshold
    if shape.kind is ThresholdKind.SLOPE:
        condition = f"{left} {sign} k * {right}"
    else:
        slope = "" if shape.slope == 1 else f"{shape.slope:g} * "
        condition = f"{left} {sign} {slope}{right} + k"
    return (
        f"predicate list {condition}, k from {low:g} to {high:g}: "
        f"{_count(len(family.ranked), 'member')} ordered by coverage"
    )


def _queries(graph: Graph, notes: Mapping[str, str]) -> Iterator[str]:
    for node in islice(graph.queries.values(), _MOST_QUERIES):
        yield from query_lines(node, _note(notes, "deliver", node.name))
    left_out = len(graph.queries) - _MOST_QUERIES
    if left_out > 0:
        yield f"... and {_count(left_out, 'more query', 'more queries')}"
        yield from _indent(_summary(graph))


def _summary(graph: Graph) -> Iterator[str]:
    """What all queries are, in counts."""
    classes: Counter[str] = Counter()
    for node in graph.queries.values():
        body = node.body
        classes["with outer joins or EXISTS"] += bool(node.patterns)
        classes["over one stream" if body.host is None else "joins"] += 1
        classes["with BEGIN-END"] += node.pull is not None
        classes["with theta conditions"] += bool(body.theta_joins)
        classes["with residual conditions"] += bool(body.residuals)
        classes["that can never match"] += not body.can_match
    counts = [f"{number:,} {what}" for what, number in classes.items() if number]
    yield f"in all: {', '.join(counts)}"
