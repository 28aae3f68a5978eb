"""Merge views into the queries that read them, where the answer stays the same without a node of their own.

A view over one stream that only selects and renames becomes its stream, and its conditions those of the reader: it costs
nothing. The same holds for views over tables alone. A query whose only stream is a view is that view with more conditions
and other outputs, whatever the view joins.

    CREATE VIEW hot AS SELECT ts, room FROM sensors WHERE t > 26;
    SELECT d.door FROM hot h, doors d WHERE h.room = d.room          ->  FROM sensors h, doors d WHERE h.t > 26 AND ...

What is left in FROM are views whose rows have to be made: joins that are joined again, UNION ALL, and those with groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import And, Cast, ColumnRef, FunctionCall, Output, overs_in
from cqc.compiler.rewrites.mentioned_items import substitute
from cqc.compiler.rewrites.rebuild import rebuilt_clauses

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression, Item, Query
    from cqc.compiler.meaning.types import ColumnType
    from cqc.compiler.meaning.views import View

    Change = Callable[[ColumnRef], Expression]


def merge_views(query: Query) -> Query:
    """The query over fewer views. Running it twice changes nothing.

    With outer joins or EXISTS views stay what they are: their conditions hold before the joins.
    """
    if query.has_absence:
        return query
    while True:
        at = next((at for at in range(len(query.items)) if _can_merge(query, at)), None)
        if at is None:
            return query
        query = _merged(query, at)


def _can_merge(query: Query, at: int) -> bool:
    view = query.items[at].relation.view
    if view is None or len(view.branches) > 1 or view.unnest is not None:
        return False
    inner = view.query
    if query.decided is not None or inner.decided is not None or query.alert is not None:
        return False  # rows that wait are made, and read, as they are
    if inner.has_absence:
        return False
    if inner.pull is not None:
        return _only_filters(inner) and len(inner.items) == 1 and inner.items[0].rows is None
    if not inner.stream_items:
        return True
    if len(inner.items) == 1:
        return not view.adds_time or _time_is_the_same(query.items[at], inner)
    # The view is the only stream here: its result time is that of the query.
    alone = query.stream_items == (at,)
    return alone and (query.pull is None or len(inner.stream_items) == 1)


def _only_filters(inner: Query) -> bool:
    """Whether a view over the rows of a window passes some of them on as they are."""
    pull = inner.pull
    assert pull is not None
    arranged = pull.distinct or pull.order_by or pull.limit is not None or pull.is_aggregate
    overs = overs_in(*(output.expression for output in inner.outputs), pull.qualify)
    return pull.inherits and not arranged and not overs


def _time_is_the_same(item: Item, inner: Query) -> bool:
    return item.relation.time_type is inner.items[inner.stream_items[0]].relation.time_type


def _merged(query: Query, at: int) -> Query:
    """The query with the items of a view in the place of the view."""
    item = query.items[at]
    view = item.relation.view
    assert view is not None
    inner = view.query
    count = len(inner.items)
    items = (*query.items[:at], *_items(item, inner), *query.items[at + 1 :])
    moved = [each if each < at else each + count - 1 for each in range(len(query.items))]
    shown = [_shift(column, at) for column in _columns(view, item)]

    def change(column: ColumnRef) -> Expression:
        if column.item == at:
            return shown[column.column]
        return replace(column, item=moved[column.item])

    def shift(expression: Expression | None) -> Expression | None:
        return None if expression is None else _shift(expression, at)

    def outer(expression: Expression | None) -> Expression | None:
        return None if expression is None else substitute(expression, change)

    pull = query.pull
    if pull is not None:
        pull = rebuilt_clauses(pull, lambda each: substitute(each, change))
    joined = count > 1 and bool(inner.stream_items)
    return replace(
        query,
        items=items,
        outputs=tuple(
            Output(each.name, substitute(each.expression, change)) for each in query.outputs
        ),
        where=_both(shift(inner.where), outer(query.where), query.span),
        window=_both(shift(inner.window), outer(query.window), query.span),
        max_window_us=inner.max_window_us if joined else query.max_window_us,
        pull=pull,
        join_hint=(query.join_hint or inner.join_hint) if joined else query.join_hint,
        unbounded=query.unbounded or (joined and inner.unbounded),
    )


def _items(item: Item, inner: Query) -> list[Item]:
    """The items of a view as those of its reader: alone it has the windows that the reader gives it."""
    if len(inner.items) == 1:
        (only,) = inner.items
        return [replace(only, alias=item.alias, range_us=item.range_us, rows=None, span=item.span)]
    return [replace(each, alias=f"{item.alias}.{each.alias}") for each in inner.items]


def _columns(view: View, item: Item) -> list[Expression]:
    """What each column of a view is, in terms of its own items."""
    inner = view.query
    columns = [output.expression for output in inner.outputs]
    return [_result_time(inner, item.relation.time_type), *columns] if view.adds_time else columns


def _result_time(inner: Query, wanted: ColumnType) -> Expression:
    """The latest event time of the streams of a query."""
    times: list[Expression] = []
    for at in inner.stream_items:
        relation = inner.items[at].relation
        assert relation.event_time is not None
        time = ColumnRef(at, relation.event_time, relation.time_type, inner.span)
        same = relation.time_type is wanted
        times.append(time if same else Cast(time, wanted, inner.span))
    if len(times) == 1:
        return times[0]
    return FunctionCall("greatest", tuple(times), wanted, inner.span)


def _shift(expression: Expression, by: int) -> Expression:
    if not by:
        return expression
    return substitute(expression, lambda column: replace(column, item=column.item + by))


def _both(left: Expression | None, right: Expression | None, span: Span) -> Expression | None:
    if left is None or right is None:
        return left or right
    parts = [
        part
        for each in (left, right)
        for part in (each.operands if isinstance(each, And) else (each,))
    ]
    return And(tuple(parts), span)
