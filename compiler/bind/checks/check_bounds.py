"""What the bounds of a query say to its author: unbounded state is an error; a contradiction, or no condition at all, a warning.

A push join keeps a tuple of an item until no tuple still to come can meet it. That is `ts_other - ts_item <= d` for every
other stream, or ROWS on the item; where nothing bounds it, every tuple would be kept for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.checks.check_absence import check_absence_bounds
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.meaning.bound import Comparison, ComparisonOp, IsTruth, Literal, Not, Or
from cqc.compiler.meaning.normal import NEVER, AllOf, ValueAtom
from cqc.compiler.meaning.time_bounds import contradiction, limits_of_windows
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.rewrites.attribute_formulas import conjoin
from cqc.compiler.rewrites.classify_predicates import classify_predicates
from cqc.compiler.rewrites.fold_constants import fold, fold_constants
from cqc.compiler.rewrites.infer_time_bounds import infer_time_bounds
from cqc.compiler.rewrites.merge_views import merge_views
from cqc.compiler.rewrites.push_negations import push_negations
from cqc.compiler.rewrites.split_conjunctions import split_conjunctions
from cqc.compiler.wording.expressions import duration_text, formula_text, name_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Expression, Item, Query
    from cqc.compiler.meaning.normal import Formula, NormalQuery, TimeBounds
    from cqc.compiler.meaning.time_bounds import TimeLimit


def check_bounds(query: Query, normal: NormalQuery, *, is_whole: bool = True) -> list[Diagnostic]:
    """The error of an unbounded join, or the warning that a query can never match, or that it joins everything.

    `is_whole`: nothing of the query was left out for a mistake in it, after which advice on its style can wait.
    """
    if query.has_absence:
        return check_absence_bounds(query, normal)
    query = merge_views(query)
    is_bounded = query.pull is not None or query.unbounded
    if len(query.items) > 1 and not is_bounded and not normal.bounds.contradictory:
        bounds = _bounds_as_written(query, normal)
        pair = _unbounded_pair(normal, bounds)
        if pair is not None:
            return [_unbounded(query, bounds, *pair)]
    if normal.bounds.contradictory or NEVER in normal.filters:
        return [_never_matches(query, normal)]
    if is_whole and _joins_everything(query):
        return [_without_condition(query)]
    return []


def _joins_everything(query: Query) -> bool:
    """Whether nothing says which tuples belong together. ROWS does: `B [ROWS 1]` is the latest value of B."""
    if len(query.items) < 2 or query.where is not None or query.window is not None:
        return False
    return all(item.rows is None for item in query.items)


def _without_condition(query: Query) -> Diagnostic:
    first, second = query.items[:2]
    key = _common_key(first, second)
    left, right = name_text(first.alias), name_text(second.alias)
    hint = None if key is None else f"Add `WHERE {left}.{key} = {right}.{key}`."
    return make(
        "CQ092",
        first.span,
        left=first.alias,
        right=second.alias,
        detail="There is no WHERE, ON or WINDOW that says which of them belong together.",
        hint=hint,
        more=(second.span,),
    )


def _common_key(first: Item, second: Item) -> str | None:
    """A column that both have and that may say what belongs together: a text or a whole number, and no event time."""
    theirs = {column.name for column in second.relation.columns}
    for at, column in enumerate(first.relation.columns):
        is_key = column.type in (ColumnType.BIGINT, ColumnType.STRING)
        if is_key and column.name in theirs and at != first.relation.event_time:
            return name_text(column.name)
    return None


def _bounds_as_written(query: Query, normal: NormalQuery) -> TimeBounds:
    """The bounds of a query without what NOT, OR and IS TRUE say: they may be used in windows and bound nothing."""
    parts = split_conjunctions(query)
    if not any(isinstance(part, Not | Or | IsTruth) for part in parts):
        return normal.bounds
    written = split_conjunctions(fold_constants(query))
    comparisons = [part for part in written if isinstance(part, Comparison)]
    classes = classify_predicates(query, comparisons)
    return infer_time_bounds(query, classes.limits, classes.filters())


def _unbounded_pair(normal: NormalQuery, bounds: TimeBounds) -> tuple[int, int] | None:
    """The first item whose tuples would be kept for ever, and the one they would wait for."""
    streams = [at for at, item in enumerate(normal.items) if item.relation.is_stream]
    for waiting in streams:
        if normal.items[waiting].rows is None:
            for awaited in streams:
                if bounds.most_us[waiting][awaited] is None:
                    return waiting, awaited
    return None


def _unbounded(query: Query, bounds: TimeBounds, waiting: int, awaited: int) -> Diagnostic:
    item, other = query.items[waiting], query.items[awaited]
    first, second = sorted((item, other), key=lambda each: each.span.start)
    return make(
        "CQ012",
        first.span,
        left=first.alias,
        right=second.alias,
        detail=f"No MAXWINDOW, RANGE or ROWS bounds {item.alias}, and no WINDOW condition bounds it "
        "from both sides.",
        hint=_what_to_add(query, bounds, waiting, awaited),
        more=(second.span,),
    )


def _what_to_add(query: Query, bounds: TimeBounds, waiting: int, awaited: int) -> str:
    """MAXWINDOW bounds any join; a condition is worth naming where one alone would do, and not after an OR."""
    if len(query.stream_items) > 2 or isinstance(query.window, Or):
        return "Add `MAXWINDOW 6 SEC`."
    item, other = _time(query.items[waiting]), _time(query.items[awaited])
    condition = f"{other} - {item} <= 6 SEC"
    if query.items[awaited].rows is None and bounds.most_us[awaited][waiting] is None:
        condition = f"{other} BETWEEN {item} - 6 SEC AND {item} + 6 SEC"
    clause = "WINDOW" if query.window is None else "AND"
    return f"Add `MAXWINDOW 6 SEC`, or `{clause} {condition}`."


def _time(item: Item) -> str:
    """The event-time column of a stream item, as a query writes it."""
    column = item.relation.columns[item.relation.event_time or 0]
    return f"{name_text(item.alias)}.{name_text(column.name)}"


def _never_matches(query: Query, normal: NormalQuery) -> Diagnostic:
    if normal.bounds.contradictory:
        return _contradiction_in_time(query)
    for part in split_conjunctions(query):
        compared = _compared_with_null(part)
        if compared is not None:
            return _never_true(query, *compared)
    rewritten = push_negations(fold_constants(query))
    classes = classify_predicates(rewritten, split_conjunctions(rewritten))
    at = normal.filters.index(NEVER)
    spans = [each for each in (query.where, query.window) if each is not None]
    alias, relation = query.items[at].alias, query.items[at].relation
    parts = _excluding(classes.attributes[at])
    detail = f"No value of {alias} satisfies {formula_text(AllOf(tuple(parts)), relation)}."
    if NEVER in parts:
        detail = f"The conditions on {alias} contradict one another."
    return make("CQ090", spans[0].span, name=query.name, detail=detail)


def _compared_with_null(part: Expression) -> tuple[Comparison, ComparisonOp] | None:
    """A condition that compares with NULL, and what it was meant to say: under NOT the opposite."""
    if isinstance(part, Not):
        inner = _compared_with_null(part.operand)
        return None if inner is None else (inner[0], inner[1].negated)
    if isinstance(part, Comparison) and (_is_null(part.left) or _is_null(part.right)):
        return part, part.op
    return None


def _is_null(expression: Expression) -> bool:
    folded = fold(expression)
    return isinstance(folded, Literal) and folded.value is None


def _never_true(query: Query, comparison: Comparison, meant: ComparisonOp) -> Diagnostic:
    """`x = NULL` is neither true nor false, and nor is its opposite."""
    other = comparison.right if _is_null(comparison.left) else comparison.left
    words = {ComparisonOp.EQ: "IS NULL", ComparisonOp.NE: "IS NOT NULL"}.get(meant)
    text = " ".join(other.span.text.split())
    hint = None if words is None or _is_null(other) else f"Write `{text} {words}`."
    detail = "A comparison with NULL is never true."
    return make("CQ090", comparison.span, name=query.name, detail=detail, hint=hint)


def _excluding(parts: Sequence[Formula]) -> list[Formula]:
    """Of conditions that cannot all hold, those on one column that exclude one another; else all of them."""
    flat = [each for part in parts for each in (part.parts if isinstance(part, AllOf) else (part,))]
    for column in {each.column for each in flat if isinstance(each, ValueAtom)}:
        same = [each for each in flat if isinstance(each, ValueAtom) and each.column == column]
        if conjoin(same) == NEVER:
            return list(same)
    return flat


def _contradiction_in_time(query: Query) -> Diagnostic:
    rewritten = push_negations(fold_constants(query))
    classes = classify_predicates(rewritten, split_conjunctions(rewritten))
    limits = [*limits_of_windows(query), *classes.limits]
    circle = contradiction(len(query.items), limits)
    places = [limit.span for limit in circle if limit.span is not None]
    detail = f"{'; but '.join(_limit_text(query, limit) for limit in circle)}."
    return make("CQ090", places[0] if places else query.span, name=query.name, detail=detail)


def _limit_text(query: Query, limit: TimeLimit) -> str:
    """A limit in words: `B.ts is at most 6 s after A.ts`, `B.ts is at least 2 s before A.ts`."""
    later, earlier = _time(query.items[limit.later]), _time(query.items[limit.earlier])
    if limit.most_us >= 0:
        return f"{later} is at most {duration_text(limit.most_us)} after {earlier}"
    if limit.most_us == -1:
        return f"{later} is before {earlier}"
    return f"{later} is at least {duration_text(-limit.most_us)} before {earlier}"
