"""`f(...) OVER (PARTITION BY ... ORDER BY ... frame)`, once its parts are bound.

Over a stream that goes on, a row can be answered only from the rows before it, so a query without BEGIN-END orders by event
time and its frames end at the current row. Where all rows of a partition are there before any is answered (with BEGIN-END, or
where PARTITION BY holds a window column or the event time itself), OVER is SQL's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.aggregates import bind_aggregate, is_aggregate
from cqc.compiler.bind.literals import duration_us, interval_of, whole_number
from cqc.compiler.bind.operators import coerce, unite
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.functions.registry import AGGREGATE_FUNCTIONS
from cqc.compiler.meaning.bound import (
    Aggregate,
    ColumnRef,
    EndKind,
    Frame,
    FrameEnd,
    Literal,
    Order,
    Over,
    OverFunction,
)
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression

_ARGUMENTS = {  # the least and the most
    OverFunction.ROW_NUMBER: (0, 0),
    OverFunction.RANK: (0, 0),
    OverFunction.DENSE_RANK: (0, 0),
    OverFunction.PERCENT_RANK: (0, 0),
    OverFunction.CUME_DIST: (0, 0),
    OverFunction.NTILE: (1, 1),
    OverFunction.LAG: (1, 3),
    OverFunction.LEAD: (1, 3),
    OverFunction.FIRST_VALUE: (1, 1),
    OverFunction.LAST_VALUE: (1, 1),
    OverFunction.NTH_VALUE: (2, 2),
}
_FRAMED = frozenset({OverFunction.FIRST_VALUE, OverFunction.LAST_VALUE, OverFunction.NTH_VALUE})
_ALL_ROWS = frozenset(
    {OverFunction.LEAD, OverFunction.NTILE, OverFunction.PERCENT_RANK, OverFunction.CUME_DIST}
)
_DOUBLES = frozenset({OverFunction.PERCENT_RANK, OverFunction.CUME_DIST})
_FRAME_HINT = (
    "Write `RANGE 5 MINUTES PRECEDING`, `ROWS 10 PRECEDING`, or `ROWS UNBOUNDED PRECEDING` to keep a value for each key"
    " for ever."
)
_WHOLE = Frame(False, FrameEnd(EndKind.FIRST), FrameEnd(EndKind.LAST))
_RUNNING = Frame(False, FrameEnd(EndKind.FIRST), FrameEnd(EndKind.CURRENT))


def may_stand_here(scope: Scope, span: Span) -> bool:
    """Whether OVER is allowed in this clause; says so where it is not."""
    if scope.inside_over:
        inner = "Compute the inner one in a query of its own."
        scope.report("CQ139", span, place="another OVER", hint=inner)
        return False
    if not scope.over_allowed or scope.aggregate_forbidden or scope.inside_aggregate:
        place: str = scope.aggregate_forbidden or scope.inside_aggregate or "HAVING"
        hint = "Write the condition in QUALIFY." if place in ("WHERE", "HAVING") else None
        scope.report("CQ139", span, place=place, hint=hint)
        return False
    scope.overs.append(span)
    return True


def bind_over(
    scope: Scope,
    node: syntax.Over,
    arguments: list[Expression | None],
    partition: list[Expression],
    orders: list[Order],
    where: Expression | None,
    within: tuple[Order, ...],
) -> Expression | None:
    """OVER of bound parts; None among the arguments is a mistake already reported.

    `where` and `within` are FILTER and WITHIN GROUP of an aggregate.
    """
    # Whether OVER of groups goes beyond their window is asked when all of the query is known.
    is_complete = scope.is_pull or scope.groups_windows
    is_complete = is_complete or any(_is_complete_key(scope, key) for key in partition)
    order = _order(scope, node, orders, is_complete=is_complete)
    if order is None:
        return None
    by_time, kept = order
    if is_aggregate(scope, node.call):
        aggregate = bind_aggregate(scope, node.call, arguments, where, within)
        return _aggregate(scope, node, aggregate, partition, kept, by_time, is_complete)
    function = _function(scope, node)
    known = [each for each in arguments if each is not None]
    if function is None or len(known) < len(arguments):
        return None
    if not _fits(scope, node, function, len(known), is_complete=is_complete):
        return None
    values = _values(scope, node, function, known)
    if values is None:
        return None
    frame: Frame | None = None
    if function in _FRAMED:
        frame = _frame(scope, node, kept, by_time=by_time, is_complete=is_complete)
        if frame is None:
            return None
    type_ = ColumnType.DOUBLE if function in _DOUBLES else ColumnType.BIGINT
    if function in _FRAMED or function in (OverFunction.LAG, OverFunction.LEAD):
        type_ = values[0].type
    return Over(function, None, values, tuple(partition), kept, by_time, frame, type_, node.span)


def _is_complete_key(scope: Scope, key: Expression) -> bool:
    return isinstance(key, ColumnRef) and (scope.is_window_column(key) or scope.is_event_time(key))


def _order(
    scope: Scope, node: syntax.Over, orders: list[Order], *, is_complete: bool
) -> tuple[bool, tuple[Order, ...]] | None:
    """Whether the order is that of event time, and the order where it is not."""
    first = orders[0].expression if len(orders) == 1 else None
    is_time = (
        isinstance(first, ColumnRef) and scope.is_event_time(first) and not orders[0].descending
    )
    if is_time:
        return True, tuple(orders)
    if not orders and not is_complete:
        return True, _by_event_time(scope, node)
    if is_complete:
        return False, tuple(orders)
    scope.report(
        "CQ138",
        node.order_by[0].span.to(node.order_by[-1].span),
        what="ORDER BY anything but the event time",
        detail="Rows that are still to come would change the rows already given out.",
        hint="Order by the event time, group by a window (`FROM TUMBLE(...)`) and put its column in PARTITION BY,"
        " or ask with BEGIN-END.",
    )
    return None


def _by_event_time(scope: Scope, node: syntax.Over) -> tuple[Order, ...]:
    """The order that need not be written: that of the stream's event time."""
    for at, relation in enumerate(scope.relations):
        if relation is not None and relation.event_time is not None:
            time = ColumnRef(at, relation.event_time, relation.time_type, node.span)
            return (Order(time, descending=False, nulls_first=True),)
    return ()


def _aggregate(
    scope: Scope,
    node: syntax.Over,
    aggregate: Expression | None,
    partition: list[Expression],
    order: tuple[Order, ...],
    by_time: bool,
    is_complete: bool,
) -> Expression | None:
    if not isinstance(aggregate, Aggregate):
        return None
    frame = _frame(scope, node, order, by_time=by_time, is_complete=is_complete)
    if frame is None:
        return None
    return Over(
        None, aggregate, (), tuple(partition), order, by_time, frame, aggregate.type, node.span
    )


def _function(scope: Scope, node: syntax.Over) -> OverFunction | None:
    name = node.call.name.text.upper()
    added = {
        "`*`": node.call.star,
        "DISTINCT": node.call.distinct,
        "IGNORE NULLS": node.call.ignores_nulls,
        "FILTER": node.call.where is not None,
        "WITHIN GROUP": node.call.within,
    }
    what = next((each for each, is_there in added.items() if is_there), None)
    if name in OverFunction.__members__ and what is None:
        return OverFunction[name]
    if name in OverFunction.__members__:
        scope.report("CQ065", node.call.span, function=node.call.name.text, what=what)
        return None
    names = [
        *(each.value for each in OverFunction),
        *(each.upper() for each in AGGREGATE_FUNCTIONS),
    ]
    detail = f"OVER knows the aggregates, and {', '.join(each.value for each in OverFunction)}."
    scope.report(
        "CQ035",
        node.call.name.span,
        name=node.call.name.text,
        detail=detail,
        hint=did_you_mean(name, names),
    )
    return None


def _fits(
    scope: Scope, node: syntax.Over, function: OverFunction, given: int, *, is_complete: bool
) -> bool:
    least, most = _ARGUMENTS[function]
    if not least <= given <= most:
        expected = f"{least} argument{'s' if least != 1 else ''}"
        if most > least:
            expected = f"{least} to {most} arguments"
        scope.report("CQ036", node.call.span, name=function.value, expected=expected, given=given)
        return False
    if function in _ALL_ROWS and not is_complete:
        scope.report(
            "CQ138",
            node.call.span,
            what=function.value,
            detail="It needs rows that are still to come.",
            hint="Put a window column (`FROM TUMBLE(...)`) in PARTITION BY, or ask with BEGIN-END.",
        )
        return False
    return True


def _values(
    scope: Scope, node: syntax.Over, function: OverFunction, known: list[Expression]
) -> tuple[Expression, ...] | None:
    """The arguments, with offsets and counts as whole numbers that are written out."""
    if not known:
        return ()
    at = {OverFunction.NTILE: 0, OverFunction.NTH_VALUE: 1}.get(function, 1)
    if len(known) > at:
        number = known[at]
        least = 0 if function in (OverFunction.LAG, OverFunction.LEAD) else 1
        fits = isinstance(number, Literal) and number.type is ColumnType.BIGINT
        if not fits or not isinstance(number.value, int) or number.value < least:  # type: ignore[union-attr]
            requirement = f"of at least {least}"
            scope.report("CQ054", number.span, clause=function.value, requirement=requirement)
            return None
    if function is OverFunction.NTILE:
        return tuple(known)
    if known[0].type is ColumnType.NULL:
        known[0] = coerce(known[0], ColumnType.STRING)
    if len(known) == 3:
        united = unite(scope, [known[0], known[2]], function.value)
        if united is None:
            return None
        (value, default), _ = united
        return value, known[1], default
    return tuple(known)


# Frames


def _frame(
    scope: Scope,
    node: syntax.Over,
    order: tuple[Order, ...],
    *,
    by_time: bool,
    is_complete: bool,
) -> Frame | None:
    written = node.frame
    if written is None:
        if is_complete:
            return _RUNNING if by_time or order else _WHOLE
        name = node.call.name.text.upper()
        detail = "SQL's own frame would begin with the first row of each key, and keep something for it for ever."
        scope.report("CQ137", node.span, function=name, detail=detail, hint=_FRAME_HINT)
        return None
    by_rows = written.unit == "ROWS"
    key = ColumnType.TIMESTAMP if by_time else order[0].expression.type if len(order) == 1 else None
    start = _end(scope, written.start, by_rows, key, is_start=True)
    end = _end(scope, written.end, by_rows, key, is_start=False)
    if start is None or end is None:
        return None
    if _place(start) > _place(end):
        scope.report(
            "CQ143",
            written.span,
            hint="The first end comes before the second, as in "
            "`ROWS BETWEEN 3 PRECEDING AND CURRENT ROW`.",
        )
        return None
    if not is_complete and end.kind is not EndKind.CURRENT:
        scope.report(
            "CQ138",
            written.end.span,
            what="a frame that does not end at CURRENT ROW",
            detail="It needs rows that are still to come.",
            hint=_FRAME_HINT,
        )
        return None
    return Frame(by_rows, start, end)


def _place(end: FrameEnd) -> float:
    """Where an end is, seen from the current row."""
    match end.kind:
        case EndKind.FIRST:
            return float("-inf")
        case EndKind.BEFORE:
            return -float(end.amount)
        case EndKind.CURRENT:
            return 0.0
        case EndKind.AFTER:
            return float(end.amount)
        case EndKind.LAST:
            return float("inf")


def _end(
    scope: Scope,
    node: syntax.FrameEnd,
    by_rows: bool,
    key: ColumnType | None,
    *,
    is_start: bool,
) -> FrameEnd | None:
    if node.kind == "CURRENT":
        return FrameEnd(EndKind.CURRENT)
    if node.kind == "UNBOUNDED":
        if node.following is is_start:
            scope.report(
                "CQ143",
                node.span,
                hint="A frame begins with UNBOUNDED PRECEDING and ends with UNBOUNDED FOLLOWING.",
            )
            return None
        return FrameEnd(EndKind.LAST if node.following else EndKind.FIRST)
    amount = _amount(scope, node, by_rows, key)
    if amount is None:
        return None
    return FrameEnd(EndKind.AFTER if node.following else EndKind.BEFORE, amount)


def _amount(
    scope: Scope, node: syntax.FrameEnd, by_rows: bool, key: ColumnType | None
) -> int | float | None:
    written = node.amount
    if by_rows:
        is_number = isinstance(written, syntax.NumberLiteral) and written.text.isdecimal()
        rows = whole_number(written.text) if is_number else None  # type: ignore[union-attr]
        if rows is None:
            scope.report("CQ054", node.span, clause="ROWS", requirement="of at least 0")
        return rows
    if isinstance(written, syntax.Duration):
        us = duration_us(scope, written)
        if us is not None and us < 0:
            scope.report("CQ053", node.span, clause="RANGE", requirement="that is not negative")
            return None
        if us is None or key is ColumnType.TIMESTAMP:
            return us
        if key is not None and (key.is_numeric and not key.held_as_text):
            return us // SECOND_US if us % SECOND_US == 0 else us / SECOND_US
    elif isinstance(written, syntax.NumberLiteral):
        number = float(written.text)
        if key is ColumnType.TIMESTAMP:
            seconds = interval_of(number, node.span)
            return seconds.value if seconds is not None and isinstance(seconds.value, int) else None
        if key is not None and (key.is_numeric and not key.held_as_text):
            return int(written.text) if written.text.isdecimal() else number
    if key is None or not (
        (key.is_numeric and not key.held_as_text) or key is ColumnType.TIMESTAMP
    ):
        detail = "RANGE with a distance needs one ORDER BY key, a number or a time."
        scope.report(
            "CQ143", node.span, detail=detail, hint="Write ROWS, or order by one number or time."
        )
        return None
    scope.report("CQ053", node.span, clause="RANGE", requirement="such as `5 MINUTES`")
    return None
