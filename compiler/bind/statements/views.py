"""Views: the stream that a query makes, whether CREATE VIEW, WITH or a query in FROM says so; and UNION ALL.

A UNION ALL is a view with several branches. A query that is one, or that has BEGIN-END, ORDER BY or LIMIT for the whole of one,
reads that view: `SELECT .. UNION ALL SELECT .. BEGIN .. END ..` is `SELECT * FROM (branches) BEGIN .. END ..`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.nested import field_of
from cqc.compiler.bind.operators import coerce
from cqc.compiler.bind.statements.select import bind_one_select
from cqc.compiler.diagnostics.diagnostic import Severity
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.meaning.bound import Output
from cqc.compiler.meaning.catalog import Column, Relation, fold, with_fields
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.views import View
from cqc.compiler.rewrites.view_time import event_time_of
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Environment
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Query

_NUMBERS = {ColumnType.BIGINT, ColumnType.DOUBLE}
_UNION = "union"  # the name of the branches in the query over them; no user sees it


def bind_select(
    environment: Environment,
    node: syntax.Select,
    name: str,
    *,
    as_view: bool = False,
    alert: syntax.CreateQuery | None = None,
) -> tuple[Query | None, list[Diagnostic]]:
    """The bound query with everything found wrong or doubtful; the query is None when there are errors.

    `as_view`: it makes a view; `alert`: it is that of an alert (`bind_one_select`).
    """
    environment, found = _with_entries(environment, node)
    if not node.union or alert is not None:
        query, more = bind_one_select(
            environment, node, name, _sub_query, as_view=as_view, alert=alert
        )
        return (None if has_errors(found) else query), [*found, *more]
    alias = syntax.Name(_UNION, node.span)
    branches, more = _branches(environment, node)
    found += more
    if branches is None:
        return None, found
    relation, more = _relation(alias, branches, node.span)
    found += more
    if relation is None:
        return None, found
    outer = _over_union(node, alias, branches[0].outputs)
    query, more = bind_one_select(
        environment.within({_UNION: relation}), outer, name, _sub_query, as_view=as_view
    )
    return (None if has_errors(found) else query), [*found, *more]


def bind_view(
    environment: Environment,
    name: syntax.Name,
    node: syntax.Select,
    declaration: syntax.CreateView | None = None,
) -> tuple[Relation | None, list[Diagnostic]]:
    """The stream, table or rows of a window that a query makes; None when it has errors."""
    if node.union and not _tail(node):
        environment, found = _with_entries(environment, node)
        branches, more = _branches(environment, node)
    else:
        found = []
        query, more = bind_select(environment, node, name.text, as_view=True)
        branches = None if query is None else (query,)
    found += more
    if branches is None or has_errors(found):
        return None, found
    relation, more = _relation(name, branches, node.span, declaration)
    return relation, [*found, *more]


def has_errors(found: Sequence[Diagnostic]) -> bool:
    """Whether something is wrong, and not doubtful only."""
    return any(each.severity is Severity.ERROR for each in found)


def _sub_query(
    environment: Environment, name: syntax.Name, query: syntax.Select
) -> tuple[Relation | None, list[Diagnostic]]:
    return bind_view(environment, name, query)


def _with_entries(
    environment: Environment, node: syntax.Select
) -> tuple[Environment, list[Diagnostic]]:
    """The names of a WITH clause; each may use those before it."""
    found: list[Diagnostic] = []
    seen: dict[str, syntax.Name] = {}
    for entry in node.entries:
        key = fold(entry.name.text)
        if key in seen:
            detail = f"The first one is at {seen[key].span.place}."
            found.append(make("CQ020", entry.name.span, name=entry.name.text, detail=detail))
            continue
        seen[key] = entry.name
        relation, more = bind_view(environment, entry.name, entry.query)
        found += more
        environment = environment.within({key: relation})
    return environment, found


def _tail(node: syntax.Select) -> bool:
    """Whether clauses for the whole stand at the end of a UNION ALL."""
    last = node.union[-1]
    return bool(last.begin or last.every or last.order_by or last.limit)


def _branches(
    environment: Environment, node: syntax.Select
) -> tuple[tuple[Query, ...] | None, list[Diagnostic]]:
    """The branches of a UNION ALL, with outputs of the same types under the names of the first."""
    first = replace(node, entries=(), union=())
    *others, last = (first, *node.union)
    found = [each for branch in others for each in _misplaced(branch)]
    bare = replace(last, begin=None, end=None, every=None, order_by=(), limit=None)
    nodes = [*others, bare]
    is_asked = last.begin is not None or any(map(_needs_window, nodes))
    bound: list[Query] = []
    for at, branch in enumerate(nodes):
        query, more = bind_one_select(
            environment, branch, f"{_UNION}{at}", _sub_query, as_view=True, is_asked=is_asked
        )
        found += more
        bound += [] if query is None else [query]
    if len(bound) < len(nodes) or has_errors(found):
        return None, found
    if any(each.pull is None for each in bound) and any(each.pull is not None for each in bound):
        bound = []  # one of them reads rows of a window: all are asked about one
        for at, branch in enumerate(nodes):
            query, _ = bind_one_select(
                environment, branch, f"{_UNION}{at}", _sub_query, as_view=True, is_asked=True
            )
            assert query is not None
            bound.append(query)
    return _agreeing(nodes, bound, found), found


def _needs_window(node: syntax.Select) -> bool:
    if any(item.function is not None for item in node.items):
        return False  # windows are delivered by themselves
    return bool(node.distinct or node.group_by or node.having)


def _misplaced(branch: syntax.Select) -> list[Diagnostic]:
    """Clauses for the whole that stand in a branch before the last."""
    clauses: list[tuple[str, syntax.Expression | syntax.WindowEnd | syntax.OrderItem]] = []
    clauses += [("BEGIN-END", branch.begin)] if branch.begin else []
    clauses += [("EVERY", branch.every)] if branch.every else []
    clauses += [("ORDER BY", branch.order_by[0])] if branch.order_by else []
    clauses += [("LIMIT", branch.limit)] if branch.limit else []
    hint = "Move it behind the last branch, where it holds for the whole."
    return [make("CQ105", at.span, clause=clause, hint=hint) for clause, at in clauses]


def _agreeing(
    nodes: Sequence[syntax.Select], branches: Sequence[Query], found: list[Diagnostic]
) -> tuple[Query, ...] | None:
    """The branches with their outputs brought to common types; None after saying where they differ."""
    first = branches[0]
    for node, branch in zip(nodes, branches, strict=True):
        if len(branch.outputs) != len(first.outputs):
            detail = f"The first branch has {len(first.outputs)}, this one {len(branch.outputs)}."
            span = node.outputs[0].span.to(node.outputs[-1].span)
            found.append(make("CQ104", span, what="the number of outputs", detail=detail))
            return None
    types: list[ColumnType] = []
    for at, output in enumerate(first.outputs):
        given = [branch.outputs[at].expression.type for branch in branches]
        common = _common(given)
        if common is None:
            other = next(
                number for number, each in enumerate(given) if _common([given[0], each]) is None
            )
            detail = (
                f"{output.name} is {given[0].value} in the first branch, "
                f"and {given[other].value} here."
            )
            span = branches[other].outputs[at].expression.span
            hint = f"Write `CAST(... AS {given[0].value})`."
            found.append(make("CQ104", span, what="types", detail=detail, hint=hint))
            return None
        types.append(common)
    names = [output.name for output in first.outputs]
    return tuple(
        replace(
            branch,
            outputs=tuple(
                Output(name, coerce(output.expression, type_))
                for name, output, type_ in zip(names, branch.outputs, types, strict=True)
            ),
        )
        for branch in branches
    )


def _common(types: Sequence[ColumnType]) -> ColumnType | None:
    among = set(types)
    if len(among) == 1:
        return types[0]
    return ColumnType.DOUBLE if among == _NUMBERS else None


def _over_union(
    node: syntax.Select, alias: syntax.Name, outputs: Sequence[Output]
) -> syntax.Select:
    """The query that reads all outputs of the branches, with the clauses that hold for the whole."""
    last, span = node.union[-1], node.span
    columns = [
        syntax.SelectItem(
            syntax.ColumnName(None, syntax.Name(output.name, span, True), span), None, span
        )
        for output in outputs
    ]
    return replace(
        last,
        distinct=False,
        outputs=tuple(columns),
        items=(syntax.FromItem(alias, None, None, None, span),),
        join_conditions=(),
        where=None,
        window=None,
        max_window=None,
        group_by=(),
        having=None,
        span=span,
        unbounded=False,
    )


def _relation(
    name: syntax.Name,
    branches: tuple[Query, ...],
    span: Span,
    declaration: syntax.CreateView | None = None,
) -> tuple[Relation | None, list[Diagnostic]]:
    """The relation that the branches make, with its event time where it has one."""
    is_table = all(map(_reads_tables_alone, branches))
    is_windowed = not is_table and any(
        each.pull is not None and each.pull.every_us is None for each in branches
    )
    columns = [Column(each.name, each.expression.type) for each in branches[0].outputs]
    numeric = [each for each in map(_numeric_time, branches) if each is not None]
    if len(set(numeric)) > 1:
        detail = "Some branches have TIMESTAMP event time, others numbers of seconds."
        return None, [make("CQ104", span, what="how they count time", detail=detail)]
    event_time: int | None = None
    adds_time = False
    if not is_windowed and not is_table:
        without = [each for each in branches if not each.stream_items and each.pull is None]
        if without:
            detail = "The rows of a branch over tables alone have none."
            hint = "Join it with a stream, or ask with BEGIN-END."
            place = without[0].outputs[0].expression.span
            found = make("CQ104", place, what="having an event time", detail=detail, hint=hint)
            return None, [found]
        time, problem = event_time_of(name.text, branches, span)
        if time is None or problem is not None:
            return None, [] if problem is None else [problem]
        event_time, adds_time = time.position, time.is_added
        if time.is_added:
            columns.insert(0, time.column)
    whole = with_fields(columns)
    branches = tuple(_with_field_outputs(each, whole, adds_time) for each in branches)
    view = View(branches, adds_time, is_windowed, declaration, numeric[0] if numeric else None)
    relation = Relation(name.text, whole, event_time, 0, {}, ".", name.span, view)
    return relation, []


def _reads_tables_alone(branch: Query) -> bool:
    """Whether a branch has the same rows whatever the window is: nothing beneath it is a stream, and it names no instants."""
    relations = [item.relation for item in branch.all_items]
    return (branch.pull is None or branch.pull.inherits) and not any(
        relation.is_stream or relation.is_windowed for relation in relations
    )


def _with_field_outputs(branch: Query, columns: tuple[Column, ...], adds_time: bool) -> Query:
    """A branch that also gives the fields of its structs, which are columns of the view."""
    first = 1 if adds_time else 0
    outputs = list(branch.outputs)
    for column in columns[first + len(outputs) :]:
        assert column.inside is not None
        at, number = column.inside
        expression = field_of(branch, outputs[at - first].expression, number, column.type)
        outputs.append(Output(column.name, expression))
    return (
        branch if len(outputs) == len(branch.outputs) else replace(branch, outputs=tuple(outputs))
    )


def _numeric_time(query: Query) -> bool | None:
    for item in query.all_items:
        relation = item.relation
        if relation.is_stream:
            return relation.time_type is not ColumnType.TIMESTAMP
        if relation.view is not None and relation.view.numeric_time is not None:
            return relation.view.numeric_time
    return None
