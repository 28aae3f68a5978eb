"""One SELECT, clause by clause, to a bound query.

The order is that of what depends on what: FROM makes the names, the SELECT list the outputs that GROUP BY, HAVING
and ORDER BY may name. A mistake in one clause does not keep the others from being checked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.decided import (
    bind_decided,
    groups_windows,
    is_decided,
    split_where,
    unbounded_overs,
)
from cqc.compiler.bind.expression import bind_condition, conjunction
from cqc.compiler.bind.from_clause import bind_from
from cqc.compiler.bind.literals import duration_us
from cqc.compiler.bind.outer_joins import (
    bind_joins,
    check_absent_views,
    check_preserved,
    place_windows,
)
from cqc.compiler.bind.outputs import bind_outputs
from cqc.compiler.bind.pull_clauses import bind_pull
from cqc.compiler.bind.scope import Environment, Scope
from cqc.compiler.bind.statements.alerts import bind_alert, check_alert, warn_of_silence
from cqc.compiler.bind.sub_queries import bind_questions, split_questions
from cqc.compiler.bind.table_functions import without_unnests
from cqc.compiler.bind.times.instant_comparisons import compare_instants
from cqc.compiler.bind.window_clause import bind_window
from cqc.compiler.bind.window_items import as_views, both_conditions, with_session_view
from cqc.compiler.diagnostics.diagnostic import Severity
from cqc.compiler.meaning.bound import Decision, Query, overs_in
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax.join_hint import HintError, find_hint, read_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import BindSubQuery
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.alerts import Alert
    from cqc.compiler.meaning.bound import Decided, Expression, Item, JoinShape, Output, Pull
    from cqc.compiler.syntax import tree as syntax


def bind_one_select(
    environment: Environment,
    node: syntax.Select,
    name: str,
    bind_sub_query: BindSubQuery,
    *,
    as_view: bool,
    is_asked: bool = False,
    alert: syntax.CreateQuery | None = None,
) -> tuple[Query | None, list[Diagnostic]]:
    """One SELECT without WITH and UNION, with everything found wrong or doubtful; the query is None when there are errors.

    `as_view`: it makes a view, whose window may be that of its readers, and which may be over tables alone. `is_asked`: its
    window is that of its readers, whatever its clauses are. `alert`: the statement whose query it is.
    """
    scope = Scope(environment, bind_sub_query, may_have_no_stream=as_view)
    if alert is None and node.alert is not None:
        hint = "Write `CREATE ALERT name AS SELECT ...`."
        scope.report("CQ170", node.alert.span, clause=node.alert.first, hint=hint)
    if alert is not None and not check_alert(scope, alert):
        return None, scope.diagnostics
    query = _bind(scope, node, name, as_view=as_view, is_asked=is_asked, statement=alert)
    beyond_push = any(each.code in ("CQ137", "CQ138") for each in scope.diagnostics)
    if query is None and as_view and not is_asked and beyond_push:
        # OVER beyond what push allows: the window is that of the readers.
        return bind_one_select(environment, node, name, bind_sub_query, as_view=True, is_asked=True)
    return query, scope.diagnostics


def _bind(
    scope: Scope,
    node: syntax.Select,
    name: str,
    *,
    as_view: bool,
    is_asked: bool,
    statement: syntax.CreateQuery | None = None,
) -> Query | None:
    items = bind_from(scope, node.items, node.joins)
    node = without_unnests(node)
    by_window = groups_windows(scope, node) and node.begin is None and not is_asked
    is_nested = as_view and _is_nested(node) and not by_window
    scope.is_pull = node.begin is not None or is_asked or is_nested
    scope.groups_windows = by_window or (bool(node.group_by) and any(scope.windows))
    tree = bind_joins(scope, node.joins) if node.joins and items is not None else None
    ordinary, questions = split_questions(node.where)
    where = _where(scope, node, ordinary)
    window = _window(scope, node)
    max_window_us = None if node.max_window is None else _max_window(scope, node.max_window)
    scope.over_allowed = True
    outputs = bind_outputs(scope, node.outputs)
    scope.over_allowed = False
    pull: Pull | None = None
    decided: Decided | None = None
    alert: Alert | None = None
    windowed = [item for item in items or () if item.relation.is_windowed]
    is_pull = _has_pull_clauses(scope, node) or is_asked or bool(as_view and windowed)
    if statement is not None:
        if items is None:
            return None
        is_pull = False
        if windowed:
            _refuse_windowed(scope, windowed[0])
        alert = bind_alert(scope, statement, items, outputs)
    elif is_decided(scope, node):
        if items is None:
            return None
        is_pull = False
        where, kept = split_where(scope, where)
        decided = bind_decided(scope, node, items, outputs)
        decided = None if decided is None else replace(decided, kept=kept)
        if windowed:
            _refuse_windowed(scope, windowed[0])
        has_more = len(items) > 1 or tree is not None or bool(questions)
        if decided is not None and decided.decision is Decision.ROWS and has_more:
            where = both_conditions(where, decided.kept, node.span)
            items, decided = as_views(items), None
        elif decided is not None and decided.decision is Decision.SESSIONS and len(items) > 1:
            items, where, decided = with_session_view(items, where, decided)
        if decided is not None and (tree is not None or questions):
            _refuse_absence(scope, node)
    elif items is None and any(item.function is not None for item in node.items):
        return None  # what else is wrong depends on the window
    elif is_pull:
        pull = bind_pull(scope, node, outputs, _numeric_time(scope), as_view=as_view)
    elif windowed:
        _refuse_windowed(scope, windowed[0])
    exists = bind_questions(scope, questions, pull=is_pull) if items is not None else ()
    if tree is not None and items is not None:
        tree, window = place_windows(scope, tree, window)
        check_preserved(scope, tree, items, pull=is_pull, what="an outer join")
    if items is not None and exists is not None:
        check_absent_views(scope, exists, pull=is_pull)
    is_wrong = any(each.severity is Severity.ERROR for each in scope.diagnostics)
    if items is None or outputs is None or exists is None or is_wrong:
        return None
    if pull is not None:
        _warn_if_empty(scope, node, name, pull)
    hint = None if tree is not None or exists else _join_hint(scope, node, items, pull)
    if alert is not None:
        assert statement is not None
        warn_of_silence(scope, name, alert, (statement.name or node).span)
    if decided is not None:
        _warn_of_keys(scope, node, name, decided, outputs)
    return Query(
        name,
        tuple(items),
        outputs,
        where,
        window,
        max_window_us,
        pull,
        node.span,
        hint,
        node.unbounded,
        decided=decided,
        tree=tree,
        exists=exists,
        alert=alert,
    )


def _refuse_absence(scope: Scope, node: syntax.Select) -> None:
    """Windows and OVER read rows that are there: what outer joins and EXISTS find is a view for them."""
    hint = "Make the join, or the query with EXISTS, a view, and read that."
    what = "an outer join or EXISTS beside windows or OVER"
    scope.report("CQ145", node.items[0].span, what=what, hint=hint)


def _is_nested(node: syntax.Select) -> bool:
    """Whether a view without BEGIN-END takes the window of its readers, because of a clause that needs one."""
    if any(item.function is not None for item in node.items):
        return False
    arranged = node.distinct or node.order_by or node.limit
    return bool(node.group_by or node.having or arranged) and node.every is None


def _refuse_windowed(scope: Scope, item: Item) -> None:
    """A push query cannot read rows that are those of a window."""
    detail = f"{item.alias} groups, sorts or limits the rows of a window, and this query has none."
    hint = (
        "Give the view `BEGIN AFTER NOW - 1 MINUTE END NOW EVERY 1 MINUTE` (or TUMBLE), "
        "or this query a BEGIN-END clause."
    )
    scope.report("CQ100", item.span, name=item.alias, detail=detail, hint=hint)


def _warn_of_keys(
    scope: Scope,
    node: syntax.Select,
    name: str,
    decided: Decided,
    outputs: tuple[Output, ...],
) -> None:
    """Keys that nothing bounds are allowed, and worth a word."""
    shown = [output.expression for output in outputs]
    unbounded = unbounded_overs(decided, overs_in(*shown, decided.qualify))
    if unbounded:
        detail = "Neither RANGE nor KEY_IDLE says when a key can be forgotten."
        hint = "Write `SET KEY_IDLE = 1 DAY;` to let a key that was silent for so long start anew."
        scope.report("CQ147", unbounded[0].span, name=name, detail=detail, hint=hint)


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
        or node.qualify
    )


def _where(
    scope: Scope, node: syntax.Select, ordinary: Sequence[syntax.Expression]
) -> Expression | None:
    """The ordinary conditions of WHERE and the ON conditions, as one condition."""
    scope.aggregate_forbidden = "ON"
    conditions = [bind_condition(scope, on, "ON") for on in node.join_conditions]
    scope.aggregate_forbidden = "WHERE"
    conditions += [bind_condition(scope, each, "WHERE") for each in ordinary]
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
    beneath = [
        relation.view.numeric_time for relation in scope.relations if relation and relation.view
    ]
    return next((numeric for numeric in beneath if numeric is not None), None)


def _warn_if_empty(scope: Scope, node: syntax.Select, name: str, pull: Pull) -> None:
    """A window that ends before it begins is allowed, and surely not meant."""
    begin, end = pull.begin, pull.end
    if begin.from_now is not end.from_now or node.begin is None:
        return
    touching = begin.offset_us == end.offset_us and (begin.exclusive or end.exclusive)
    if begin.offset_us > end.offset_us or touching:
        detail = "Its window ends before it begins."
        scope.report("CQ090", node.begin.span, name=name, detail=detail)
