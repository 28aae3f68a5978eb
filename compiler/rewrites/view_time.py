"""Which column of a view is its event time: an output that always equals it, else a column `ts` before the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import Cast, ColumnRef, Comparison, Literal, children
from cqc.compiler.meaning.catalog import Column, fold
from cqc.compiler.meaning.join_tree import all_exists, joins_of
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.views import TIME_COLUMN
from cqc.compiler.meaning.window_columns import of_outputs
from cqc.compiler.rewrites.absence_patterns import looks_back_only

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression, Item, Query
    from cqc.compiler.meaning.window_columns import WindowColumn


@record
class ViewTime:
    """The event-time column of a view: where it is among its columns, and whether it was added to the outputs."""

    position: int
    column: Column
    is_added: bool


def event_time_of(
    name: str, branches: Sequence[Query], span: Span
) -> tuple[ViewTime | None, Diagnostic | None]:
    """The event time of a view; or what is wrong with an output that has the name of the column to be added."""
    outputs = branches[0].outputs
    qualifying = set(range(len(outputs))).intersection(*map(_times_among_outputs, branches))
    if qualifying:
        position = min(qualifying)
        output = outputs[position]
        return ViewTime(position, Column(output.name, output.expression.type), False), None
    taken = next((each for each in outputs if fold(each.name) == TIME_COLUMN), None)
    if taken is not None:
        detail = (
            f"{name} gets a column ts with the time of each row, as no output always equals it."
        )
        hint = "Give the output another name with AS."
        return None, make("CQ103", taken.expression.span, view=name, detail=detail, hint=hint)
    return ViewTime(0, Column(TIME_COLUMN, _time_type(branches)), True), None


def _times_among_outputs(query: Query) -> set[int]:
    """The outputs that are the event time of the only stream of a push query."""
    streams = query.stream_items
    if query.pull is not None or len(streams) != 1 or not looks_back_only(query):
        return set()
    (item,) = streams
    time = query.items[item].relation.event_time
    columns = [_widened(output.expression) for output in query.outputs]
    if query.decided is not None and query.decided.by_window:
        item = query.decided.by
        known = of_outputs(query)
        return {
            at
            for at, column in enumerate(columns)
            if isinstance(column, ColumnRef) and column.item == item and _is_end(known.get(at))
        }
    return {
        at
        for at, column in enumerate(columns)
        if isinstance(column, ColumnRef) and (column.item, column.column) == (item, time)
    }


def _is_end(known: WindowColumn | None) -> bool:
    """Whether a window column always equals the event time."""
    return known is not None and known.least_us == 0 and known.most_us == 0


def _widened(expression: Expression) -> Expression:
    """What a branch of UNION ALL gave before its BIGINT became DOUBLE, which is the same instant."""
    is_number = isinstance(expression, Cast) and expression.operand.type is ColumnType.BIGINT
    if isinstance(expression, Cast) and is_number and expression.type is ColumnType.DOUBLE:
        return expression.operand
    return expression


def _time_type(branches: Sequence[Query]) -> ColumnType:
    """The type of a result time, which is never rounded."""
    times = {
        item.relation.time_type
        for query in branches
        for item in query.all_items
        if item.relation.is_stream
    }
    if ColumnType.TIMESTAMP in times or (not times and not _counts_seconds(branches)):
        return ColumnType.TIMESTAMP
    is_whole = times <= {ColumnType.BIGINT} and all(
        us % SECOND_US == 0 for query in branches for us in _durations(query)
    )
    return (
        ColumnType.BIGINT
        if is_whole and not any(map(_has_fractions, branches))
        else ColumnType.DOUBLE
    )


def _counts_seconds(branches: Sequence[Query]) -> bool:
    views = [item.relation.view for query in branches for item in query.items]
    return any(view is not None and view.numeric_time for view in views)


def _durations(query: Query) -> Iterator[int]:
    widths = [query.max_window_us, *(each.max_window_us for each in all_exists(query.exists))]
    widths += [item.range_us for item in query.all_items]
    yield from (us for us in widths if us is not None)
    if query.decided is not None and query.decided.window is not None:
        yield query.decided.window.slide_us
        yield query.decided.window.size_us
    if query.pull is not None:
        yield query.pull.every_us or 0
        yield query.pull.begin.offset_us
        yield query.pull.end.offset_us


def _has_fractions(query: Query) -> bool:
    """Whether a condition on event times, wherever it stands, has a duration that is not whole seconds."""
    conditions = [query.where, query.window]
    trees = [query.tree]
    for exists in all_exists(query.exists):
        conditions += [exists.where, exists.window]
        trees.append(exists.tree)
    conditions += [each.condition for tree in trees if tree is not None for each in joins_of(tree)]
    return any(
        isinstance(each, Literal) and isinstance(each.value, float) and not each.value.is_integer()
        for condition in conditions
        if condition is not None
        for comparison in _parts(condition)
        if isinstance(comparison, Comparison) and _is_about_time(comparison, query.all_items)
        for each in _parts(comparison)
    )


def _is_about_time(condition: Comparison, items: Sequence[Item]) -> bool:
    columns = [each for each in _parts(condition) if isinstance(each, ColumnRef)]
    return bool(columns) and all(
        items[each.item].relation.event_time == each.column for each in columns
    )


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    for child in children(expression):
        yield from _parts(child)
