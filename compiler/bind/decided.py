"""Queries whose rows wait for the watermark: TUMBLE, HOP and SESSION in FROM, OVER and QUALIFY without BEGIN-END.

What such a query makes of its rows, and so when a row is decided, follows from what it groups and partitions by:

    GROUP BY window_end, k                          the groups of each window, when it is past
    OVER (PARTITION BY window_end ORDER BY x)       all rows of a window, when it is past
    OVER (PARTITION BY k RANGE 5 MINUTES PRECEDING) the rows up to each row, when no row before it can come any more
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.checks.grouping import check_grouped, check_selected, sets_of
from cqc.compiler.bind.expression import conjunction
from cqc.compiler.bind.from_clause import whole_number_at_least
from cqc.compiler.bind.pull_clauses import (
    bind_group_by,
    bind_having,
    bind_order_by,
    bind_qualify,
    check_push,
)
from cqc.compiler.meaning.bound import (
    And,
    ColumnRef,
    Decided,
    Decision,
    EndKind,
    Literal,
    OverFunction,
    PassedEnd,
    WindowKind,
    children,
    overs_in,
)
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.window_columns import other_ends
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.bound import Expression, Item, Output, Over, TableWindow


def is_decided(scope: Scope, node: syntax.Select) -> bool:
    """Whether the query is one of these."""
    by_over = not scope.is_pull and (scope.overs or node.qualify or scope.groups_windows)
    return bool(any(scope.windows) or by_over)


def groups_windows(scope: Scope, node: syntax.Select) -> bool:
    """Whether GROUP BY holds a window column, as far as one can see before its keys are bound: alone, by name or number."""
    if node.group_by and any(scope.windows):
        return True
    return any(
        isinstance(key, syntax.ColumnName) and _names_window(scope, key)
        for item in node.group_by
        for keys in sets_of(item)
        for each in keys
        for key in (each, _meant(node, each))
    )


def _meant(node: syntax.Select, key: syntax.Expression) -> syntax.Expression:
    """The expression behind the name or the number of an output."""
    for number, output in enumerate(node.outputs, 1):
        if not isinstance(output, syntax.SelectItem):
            continue
        name = None if output.name is None else fold(output.name.text)
        bare = key if isinstance(key, syntax.ColumnName) and key.qualifier is None else None
        if bare is not None and fold(bare.column.text) == name:
            return output.expression
        if isinstance(key, syntax.NumberLiteral) and key.text == str(number):
            return output.expression
    return key


def _names_window(scope: Scope, key: syntax.ColumnName) -> bool:
    name = fold(key.column.text)
    for item in scope.own_items:
        if key.qualifier is not None and scope.by_alias.get(fold(key.qualifier.text)) != item:
            continue
        found = (scope.columns[item] or {}).get(name)
        if found is not None:
            return scope.is_window_column(ColumnRef(item, *found, key.span))
    return False


def bind_decided(
    scope: Scope, node: syntax.Select, items: Sequence[Item], outputs: tuple[Output, ...] | None
) -> Decided | None:
    """What is made of the rows; None when something is wrong."""
    found = len(scope.diagnostics)
    if node.begin is not None or node.every is not None:
        _refuse_window(scope, node)
        return None
    group_by, sets = bind_group_by(scope, node, outputs)
    if group_by is None:
        return None
    is_aggregate = (
        bool(node.group_by) or node.having is not None or scope.first_aggregate is not None
    )
    by, end = _deciding_item(scope, items, group_by)
    window = scope.windows[by]
    keys = _with_both_ends(scope, group_by)
    if is_aggregate:
        scope.grouped = frozenset(keys)
    having = bind_having(scope, node)
    qualify = bind_qualify(scope, node)
    order_by = bind_order_by(scope, node, outputs)
    limit = None if node.limit is None else whole_number_at_least(scope, node.limit, "LIMIT", 0)
    if len(scope.diagnostics) > found or outputs is None:
        return None
    shown = [output.expression for output in outputs]
    conditions = [each for each in (having, qualify) if each is not None]
    sorting = [order.expression for order in order_by]
    overs = overs_in(*shown, *conditions, *sorting)
    if end is None and window is None:
        end = _end_of_partitions(scope, overs)
    is_grouped = any(_is_window(scope, key) for key in group_by)
    if is_aggregate and is_grouped:
        check_grouped(scope, [*shown, *conditions, *sorting], frozenset(keys))
    if node.distinct:
        check_selected(scope, sorting, frozenset(shown))
    _check_clauses(scope, node, items, by, group_by, sets, is_aggregate=is_aggregate)
    if len(scope.diagnostics) > found:
        return None
    decision = _decision(scope, node, items, by, overs, is_aggregate=is_aggregate)
    if decision is None:
        return None
    kind, waits = decision
    of_view = items[by].relation.view is not None and kind is Decision.RUNNING
    return Decided(
        kind,
        by,
        window,
        None,
        node.distinct,
        keys,
        having,
        qualify,
        order_by,
        limit,
        is_aggregate,
        waits or of_view,
        scope.environment.key_idle_us if kind is Decision.RUNNING else None,
        of_view,
        _whole_sets(scope, group_by, keys, sets),
        end if kind in (Decision.GROUPS, Decision.COMPLETE) else None,
    )


def split_where(
    scope: Scope, where: Expression | None
) -> tuple[Expression | None, Expression | None]:
    """The conditions on tuples, and those that speak of window columns: they are asked of each window of a tuple."""
    if where is None or not any(scope.windows):
        return where, None
    parts = where.operands if isinstance(where, And) else (where,)
    late = [part for part in parts if any(map(scope.is_own_window, _columns(part)))]
    early = [part for part in parts if part not in late]
    return (
        conjunction(early, where.span) if early else None,
        conjunction(late, where.span) if late else None,
    )


def _columns(expression: Expression) -> Iterator[ColumnRef]:
    if isinstance(expression, ColumnRef):
        yield expression
    for part in children(expression):
        yield from _columns(part)


def _is_window(scope: Scope, expression: Expression) -> bool:
    return isinstance(expression, ColumnRef) and scope.is_window_column(expression)


def _deciding_item(
    scope: Scope, items: Sequence[Item], group_by: Sequence[Expression]
) -> tuple[int, PassedEnd | None]:
    """The item whose windows or event time say when rows are decided, and its window column where a view passes it on."""
    own = [key for key in group_by if isinstance(key, ColumnRef) and scope.is_own_window(key)]
    if own:
        return own[0].item, None
    for key in group_by:
        if isinstance(key, ColumnRef) and scope.is_window_column(key):
            return key.item, _passed_end(scope, key)
    windowed = [at for at, window in enumerate(scope.windows) if window is not None]
    streams = [at for at, item in enumerate(items) if item.relation.is_stream]
    return (windowed or streams)[0], None


def _passed_end(scope: Scope, column: ColumnRef) -> PassedEnd:
    known = scope.passed[column.item][column.column]
    assert known.end_us is not None
    return PassedEnd(column.column, column.type, known.end_us, known.is_late)


def _end_of_partitions(scope: Scope, overs: Sequence[Over]) -> PassedEnd | None:
    """The window column that the partitions of OVER hold."""
    for over in overs:
        for key in over.partition:
            if isinstance(key, ColumnRef) and scope.is_window_column(key):
                return _passed_end(scope, key)
    return None


def _with_both_ends(scope: Scope, group_by: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The keys, and the other column of the windows that are grouped by: it has one value in each group."""
    keys = dict.fromkeys(group_by)
    for key in group_by:
        if isinstance(key, ColumnRef) and scope.is_window_column(key):
            relation = scope.relations[key.item]
            assert relation is not None
            last = len(relation.columns) - 1
            both = [last - 1, last]
            if not scope.is_own_window(key):
                both = other_ends(scope.passed[key.item], key.column)
            for column in both:
                type_ = relation.columns[column].type
                keys[ColumnRef(key.item, column, type_, key.span)] = None
    return tuple(keys)


def _whole_sets(
    scope: Scope,
    group_by: Sequence[Expression],
    keys: Sequence[Expression],
    sets: tuple[tuple[int, ...], ...],
) -> tuple[tuple[int, ...], ...]:
    """Every grouping set with the columns of the windows, which no set can leave out."""
    ends = [at for at, key in enumerate(keys) if _is_window(scope, key)]
    return tuple(tuple(dict.fromkeys((*each, *ends))) for each in sets)


def _refuse_window(scope: Scope, node: syntax.Select) -> None:
    clause = "BEGIN-END" if node.begin is not None else "EVERY"
    window = next((each for each in scope.windows if each is not None), None)
    at = node.begin.span if node.begin is not None else node.every.span  # type: ignore[union-attr]
    if window is None:  # EVERY beside OVER: it needs BEGIN-END, as everywhere
        check_push(scope, node)
        return
    scope.report(
        "CQ134",
        at,
        clause=clause,
        function=window.kind.value,
        detail="Windows are delivered by themselves, each when it is past.",
        hint=f"Leave {clause} out, and group by `window_end`.",
    )


def _check_clauses(
    scope: Scope,
    node: syntax.Select,
    items: Sequence[Item],
    by: int,
    group_by: Sequence[Expression],
    sets: Sequence[tuple[int, ...]],
    *,
    is_aggregate: bool,
) -> None:
    window = scope.windows[by]
    is_grouped = any(_is_window(scope, key) for key in group_by)
    if window is None:
        if is_grouped:
            _check_alone(scope, items, by)
        else:
            check_push(scope, node)
        return
    if window.kind is WindowKind.SESSION:
        _check_session(scope, node, window, group_by, items)
        if sets:
            detail = (
                "A session is one row, so every set of keys would have to hold all of its keys."
            )
            hint = "Write the keys after GROUP BY, without ROLLUP, CUBE or GROUPING SETS."
            missing = "its keys and a window column, written out"
            scope.report("CQ144", node.group_by[0].span, missing=missing, detail=detail, hint=hint)
        return
    arranged = node.distinct or node.order_by or node.limit is not None
    if not is_grouped and (is_aggregate or arranged):
        first = next(
            word
            for word, given in (
                ("an aggregate", scope.first_aggregate),
                ("GROUP BY", node.group_by),
                ("HAVING", node.having),
                ("DISTINCT", node.distinct),
                ("ORDER BY", node.order_by),
                ("LIMIT", node.limit),
            )
            if given
        )
        hint = "Add `GROUP BY window_end`."
        detail = "It is done for each window, so the windows have to be what is grouped by."
        scope.report("CQ136", node.span, clause=first, detail=detail, hint=hint)
    elif is_grouped:
        _check_alone(scope, items, by)


def _check_alone(scope: Scope, items: Sequence[Item], by: int) -> None:
    """What is grouped is one stream, with tables beside it at most."""
    for at, item in enumerate(items):
        if at != by and item.relation.is_stream:
            scope.report(
                "CQ135",
                item.span,
                window=items[by].alias,
                stream=item.alias,
                detail="The windows of a grouped query are those of one stream; tables may stand beside it.",
                hint="Make the join a view, and group the windows of that.",
            )
            return


def _check_session(
    scope: Scope,
    node: syntax.Select,
    window: TableWindow,
    group_by: Sequence[Expression],
    items: Sequence[Item],
) -> None:
    missing = [key.span.text for key in window.keys if key not in group_by]
    if not any(_is_window(scope, key) for key in group_by):
        missing.insert(0, "a window column")
    if missing:
        keys = ["window_end", *(key.span.text for key in window.keys)]
        place = node.group_by[0].span if node.group_by else items[0].span
        detail = "A session is one row: it belongs to one key, and its columns are those of the key and of the window."
        hint = f"Write `GROUP BY {', '.join(keys)}`."
        scope.report("CQ144", place, missing=" and ".join(missing), detail=detail, hint=hint)
        return
    extra = [key for key in group_by if key not in window.keys and not _is_window(scope, key)]
    if extra:
        scope.report(
            "CQ144",
            extra[0].span,
            missing="its keys and a window column alone",
            detail=f"`{extra[0].span.text}` is no key of the session.",
            hint="Put it in PARTITION BY of the session, or write an aggregate of it.",
        )
        return
    _check_alone(scope, items, next(at for at, each in enumerate(scope.windows) if each == window))


def _decision(
    scope: Scope,
    node: syntax.Select,
    items: Sequence[Item],
    by: int,
    overs: Sequence[Over],
    *,
    is_aggregate: bool,
) -> tuple[Decision, bool] | None:
    """What is made of the rows, and whether rows of the same event time belong together."""
    if overs and len(items) > 1:
        hint = "Make the join a view, and write OVER over that."
        scope.report("CQ141", overs[0].span, count=len(items), hint=hint)
        return None
    window = scope.windows[by]
    of_windows = [over for over in overs if any(_is_window(scope, key) for key in over.partition)]
    if is_aggregate:
        if len(of_windows) < len(overs):
            loose = next(over for over in overs if over not in of_windows)
            hint = "Add `window_end` to PARTITION BY, or make the groups a view and write OVER over that."
            scope.report("CQ142", loose.span, hint=hint)
            return None
        is_session = window is not None and window.kind is WindowKind.SESSION
        return (Decision.SESSIONS if is_session else Decision.GROUPS), False
    if not overs:
        return Decision.ROWS, False
    # A window column that is the event time of a view is an instant, which may stand beside others.
    of_ends = [over for over in of_windows if _is_of_instants(scope, over)]
    if of_windows and not (len(of_windows) < len(overs) and len(of_ends) == len(of_windows)):
        if len(of_windows) < len(overs):
            loose = next(over for over in overs if over not in of_windows)
            hint = "Add `window_end` to PARTITION BY, or compute the other one in a view."
            scope.report("CQ146", loose.span, hint=hint)
            return None
        ends = {_end_of_partitions(scope, [over]) for over in overs} if window is None else ()
        if len({(end.column, end.add_us) for end in ends if end is not None}) > 1:
            hint = "Use one window column in all of them, or compute the other one in a view."
            scope.report("CQ146", overs[-1].span, hint=hint)
            return None
        return Decision.COMPLETE, False
    of_instants = [over for over in overs if _is_of_instants(scope, over)]
    if len(of_instants) == len(overs):
        return Decision.COMPLETE, True
    return Decision.RUNNING, bool(of_instants) or any(_by_range(over) for over in overs)


def _is_of_instants(scope: Scope, over: Over) -> bool:
    return any(isinstance(key, ColumnRef) and scope.is_event_time(key) for key in over.partition)


def _by_range(over: Over) -> bool:
    return over.frame is not None and not over.frame.by_rows


def unbounded_overs(decided: Decided, overs: Sequence[Over]) -> tuple[Over, ...]:
    """Those that keep something for each key for ever: neither RANGE nor KEY_IDLE bounds their keys."""
    if decided.decision is not Decision.RUNNING or decided.key_idle_us is not None:
        return ()
    return tuple(
        over
        for over in overs
        if over.partition
        and (not _by_range(over) or _is_unbounded(over))
        and not _is_of_this_row(over)
    )


def _is_of_this_row(over: Over) -> bool:
    """Whether it looks at no other row: `ROWS CURRENT ROW`, `ROWS 0 PRECEDING`, `LAG(x, 0)`."""
    if over.frame is not None:
        start = over.frame.start
        return over.frame.by_rows and (
            start.kind is EndKind.CURRENT or (start.kind is EndKind.BEFORE and not start.amount)
        )
    offset = over.arguments[1:2] if over.function is OverFunction.LAG else ()
    return any(isinstance(each, Literal) and each.value == 0 for each in offset)


def _is_unbounded(over: Over) -> bool:
    return over.frame is not None and over.frame.start.kind.name == "FIRST"
