"""One SELECT, clause by clause, to a bound query.

The order is that of what depends on what: FROM makes the names, the SELECT list the outputs that GROUP BY, HAVING
and ORDER BY may name. A mistake in one clause does not keep the others from being checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_condition, conjunction
from cqc.compiler.bind.from_clause import bind_from
from cqc.compiler.bind.instant_comparisons import compare_instants
from cqc.compiler.bind.literals import duration_us
from cqc.compiler.bind.outputs import bind_outputs
from cqc.compiler.bind.pull_clauses import bind_pull
from cqc.compiler.bind.scope import Environment, Scope
from cqc.compiler.bind.window_clause import bind_window
from cqc.compiler.meaning.bound import Query
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax.join_hint import HintError, find_hint, read_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Expression, Item, JoinShape, Pull
    from cqc.compiler.syntax import tree as syntax


def bind_select(
    environment: Environment, node: syntax.Select, name: str
) -> tuple[Query | None, list[Diagnostic]]:
    """The bound query with everything found wrong or doubtful; the query is None when there are errors."""
    scope = Scope(environment)
    return _bind(scope, node, name), scope.diagnostics


def _bind(scope: Scope, node: syntax.Select, name: str) -> Query | None:
    items = bind_from(scope, node.items)
    where = _where(scope, node)
    window = _window(scope, node)
    max_window_us = None if node.max_window is None else _max_window(scope, node.max_window)
    outputs = bind_outputs(scope, node.outputs)
    pull: Pull | None = None
    if _has_pull_clauses(scope, node):
        pull = bind_pull(scope, node, outputs, _numeric_time(scope))
    if items is None or outputs is None or scope.diagnostics:
        return None
    if pull is not None:
        _warn_if_empty(scope, node, name, pull)
    hint = _join_hint(scope, node, items, pull)
    return Query(name, tuple(items), outputs, where, window, max_window_us, pull, node.span, hint)


def _join_hint(
    scope: Scope, node: syntax.Select, items: Sequence[Item], pull: Pull | None
) -> str | JoinShape | None:
    comment = find_hint(node.span)
    if comment is None:
        return None
    try:
        return read_hint(comment.text, items, pull)
    except HintError as error:
        scope.report("CQ091", comment, detail=error.detail, hint=error.hint)
        return None


def _has_pull_clauses(scope: Scope, node: syntax.Select) -> bool:
    """Whether the query has BEGIN-END, or anything that needs it."""
    return bool(
        node.begin
        or scope.first_aggregate
        or node.distinct
        or node.group_by
        or node.having
        or node.order_by
        or node.limit
        or node.every
    )


def _where(scope: Scope, node: syntax.Select) -> Expression | None:
    """WHERE and the ON conditions, as one condition."""
    scope.aggregate_forbidden = "ON"
    conditions = [bind_condition(scope, on, "ON") for on in node.join_conditions]
    scope.aggregate_forbidden = "WHERE"
    if node.where is not None:
        conditions.append(bind_condition(scope, node.where, "WHERE"))
    scope.aggregate_forbidden = None
    known = [_on_instants(scope, condition) for condition in conditions if condition is not None]
    if not known:
        return None
    return known[0] if len(known) == 1 else conjunction(known, node.span)


def _on_instants(scope: Scope, condition: Expression) -> Expression:
    """Only between streams whose time is a number can the values differ from the instants they stand for."""
    if not scope.numeric_time or len(scope.relations) == 1:
        return condition
    return compare_instants(condition, scope.is_event_time)


def _window(scope: Scope, node: syntax.Select) -> Expression | None:
    if node.window is None:
        return None
    scope.aggregate_forbidden = "WINDOW"
    window = bind_window(scope, node.window)
    scope.aggregate_forbidden = None
    return None if window is None else _on_instants(scope, window)


def _max_window(scope: Scope, node: syntax.Duration) -> int | None:
    us = duration_us(scope, node)
    if us is not None and us < 0:
        scope.report("CQ053", node.span, clause="MAXWINDOW", requirement="that is not negative")
        return None
    return us


def _numeric_time(scope: Scope) -> bool | None:
    """Whether event time is a number, or None where no stream says so."""
    for relation, shaky in zip(scope.relations, scope.shaky, strict=True):
        if relation is not None and not shaky and relation.is_stream:
            return relation.time_type is not ColumnType.TIMESTAMP
    return None


def _warn_if_empty(scope: Scope, node: syntax.Select, name: str, pull: Pull) -> None:
    """A window that ends before it begins is allowed, and surely not meant."""
    begin, end = pull.begin, pull.end
    if begin.from_now is not end.from_now or node.begin is None:
        return
    touching = begin.offset_us == end.offset_us and (begin.exclusive or end.exclusive)
    if begin.offset_us > end.offset_us or touching:
        detail = "Its window ends before it begins."
        scope.report("CQ090", node.begin.span, name=name, detail=detail)
