"""What the bounds of a query with outer joins or EXISTS say to its author.

Whether a partner is missing can be said only when no later one can come, and state is bounded only when no older one counts: so
the event time of every item that may be missing is bounded from both sides against what it joins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.meaning.join_tree import all_exists
from cqc.compiler.rewrites.absence_patterns import kept_by_key, unbounded_pair
from cqc.compiler.wording.expressions import name_text

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Item, Query
    from cqc.compiler.meaning.normal import NormalQuery


def check_absence_bounds(query: Query, normal: NormalQuery) -> list[Diagnostic]:
    """The error of an item that nothing bounds; the warning that nothing can ever be a result."""
    if query.pull is None:
        pair = unbounded_pair(query)
        if pair is not None:
            return [_unbounded(query, *pair)]
        for inside in kept_by_key(query):
            item = query.all_items[inside]
            hint = f"{_place(query, inside)} a lower bound, such as `{_time(item)} >= {_around(query)} - 14 DAYS`."
            detail = f"Nothing says how long ago a tuple of {item.alias} may have been."
            return [make("CQ087", item.span, name=query.name, detail=detail, hint=hint)]
    if not normal.patterns and normal.bounds.contradictory:
        return [make("CQ090", query.span, name=query.name)]
    return []


def _unbounded(query: Query, waiting: int, awaited: int) -> Diagnostic:
    items = query.all_items
    one, two = items[waiting], items[awaited]
    first, second = sorted((one, two), key=lambda each: each.span.start)
    kept = min(waiting, awaited)
    other = max(waiting, awaited)
    late = f"{_time(items[other])} BETWEEN {_time(items[kept])} - 6 SEC AND {_time(items[kept])} + 6 SEC"
    return make(
        "CQ012",
        first.span,
        left=first.alias,
        right=second.alias,
        detail=f"How much later than {one.alias} a tuple of {two.alias} can come is bounded by no MAXWINDOW, RANGE or "
        "WINDOW condition; what may be missing must be bounded from both sides.",
        hint=f"{_place(query, other)} `WINDOW {late}`, or `MAXWINDOW 6 SEC`.",
        more=(second.span,),
    )


def _place(query: Query, item: int) -> str:
    """Where a bound of an item must be written: after the brackets of an EXISTS it would say nothing of what is inside."""
    for each in all_exists(query.exists):
        if each.first <= item < each.first + len(each.items):
            asked = "EXISTS (...)" if each.compared is None else "IN (SELECT ...)"
            return f"Inside the brackets of `{asked}` add"
    return "Add"


def _around(query: Query) -> str:
    """The event time of the first stream around an EXISTS."""
    return next(_time(item) for item in query.items if item.relation.is_stream)


def _time(item: Item) -> str:
    column = item.relation.columns[item.relation.event_time or 0]
    return f"{name_text(item.alias)}.{name_text(column.name)}"
