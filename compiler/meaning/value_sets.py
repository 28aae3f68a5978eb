"""Sets of values of one column, as sorted disjoint intervals.

A limit is a *cut* between two neighbouring values: just below a value or just above it. With cuts, open and closed
intervals, union, intersection and complement need no cases, and "touching" is equality of cuts. Whole numbers
(BIGINT, TIMESTAMP) have only cuts below a value, so that `x > 4` and `x >= 5` are one set with one form.

DOUBLE has NaN above Infinity: the set {NaN} is "greater than Infinity", so no limit is ever NaN itself. -0.0 is 0.0.

Example: `x > 3 AND x <> 7` over BIGINT is intersect((4..), (..6 | 8..)) = (4..6 | 8..).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.normal import Interval, Value
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterable

# (-1,) is below everything, (0, value, 0) just below the value, (0, value, 1) just above it, (1,) above everything.
Cut = tuple[int] | tuple[int, Value, int]
Span = tuple[Cut, Cut]
Intervals = tuple[Interval, ...]

BOTTOM: Cut = (-1,)
TOP: Cut = (1,)
SMALLEST = -(2**63)
LARGEST = 2**63 - 1
_WHOLE = (ColumnType.BIGINT, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.INTERVAL)
_ABOVE_INFINITY: Cut = (0, math.inf, 1)

EVERYTHING: Intervals = (Interval(None, False, None, False),)
NOTHING: Intervals = ()


def cut_below(type_: ColumnType, value: Value) -> Cut:
    """The cut just below a value."""
    if type_ in _WHOLE and value <= SMALLEST:  # type: ignore[operator]  # a whole number
        return BOTTOM
    if type_ in _WHOLE and value > LARGEST:  # type: ignore[operator]  # a whole number
        return TOP
    if value != value:  # NaN
        return _ABOVE_INFINITY
    if type_ is ColumnType.BOOLEAN and not value:
        return BOTTOM
    return (0, value + 0.0 if isinstance(value, float) else value, 0)


def cut_above(type_: ColumnType, value: Value) -> Cut:
    """The cut just above a value."""
    if type_ in _WHOLE:
        return cut_below(type_, value + 1)  # type: ignore[operator]  # a whole number
    if value != value:  # NaN
        return TOP
    if type_ is ColumnType.BOOLEAN:
        return TOP if value else (0, True, 0)
    return (0, value + 0.0 if isinstance(value, float) else value, 1)


@lru_cache(maxsize=1 << 16)
def compared(type_: ColumnType, op: ComparisonOp, value: Value) -> Intervals:
    """The values v of a type with `v op value`; the value is of the same type.

    Remembered, because rules repeat constants: equal conditions then share one tuple.
    """
    below, above = cut_below(type_, value), cut_above(type_, value)
    match op:
        case ComparisonOp.EQ:
            spans = [(below, above)]
        case ComparisonOp.NE:
            spans = [(BOTTOM, below), (above, TOP)]
        case ComparisonOp.LT:
            spans = [(BOTTOM, below)]
        case ComparisonOp.LE:
            spans = [(BOTTOM, above)]
        case ComparisonOp.GT:
            spans = [(above, TOP)]
        case ComparisonOp.GE:
            spans = [(below, TOP)]
    return from_spans(type_, spans)


def unite(type_: ColumnType, sets: Iterable[Intervals]) -> Intervals:
    """Values in any of the sets; one sort, however many there are."""
    spans = sorted(span for intervals in sets for span in to_spans(type_, intervals))
    merged: list[Span] = []
    for low, high in spans:
        if merged and low <= merged[-1][1]:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return from_spans(type_, merged)


def intersect(type_: ColumnType, left: Intervals, right: Intervals) -> Intervals:
    """Values in both sets; one walk over the two."""
    if left is right or right == EVERYTHING:
        return left
    if left == EVERYTHING:
        return right
    if len(left) == 1 and len(right) == 1 and type_ in _WHOLE:
        return _intersect_whole(left[0], right[0])
    first, second = to_spans(type_, left), to_spans(type_, right)
    common: list[Span] = []
    at = other = 0
    while at < len(first) and other < len(second):
        low = max(first[at][0], second[other][0])
        high = min(first[at][1], second[other][1])
        common.append((low, high))
        if first[at][1] <= second[other][1]:
            at += 1
        else:
            other += 1
    return from_spans(type_, common)


def _intersect_whole(left: Interval, right: Interval) -> Intervals:
    """Two intervals of whole numbers, whose limits are always inside: `x BETWEEN 3 AND 9` of 100,000 queries."""
    low, high = left.low, left.high
    if low is None or (right.low is not None and right.low > low):  # type: ignore[operator]  # whole numbers
        low = right.low
    if high is None or (right.high is not None and right.high < high):  # type: ignore[operator]
        high = right.high
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        return NOTHING
    return (Interval(low, low is not None, high, high is not None),)


def complement(type_: ColumnType, intervals: Intervals) -> Intervals:
    """The (not NULL) values outside the set."""
    cuts = [BOTTOM, *(cut for span in to_spans(type_, intervals) for cut in span), TOP]
    return from_spans(type_, list(zip(cuts[::2], cuts[1::2], strict=True)))


def contains(type_: ColumnType, intervals: Intervals, value: Value) -> bool:
    """Whether a (not NULL) value is in the set."""
    below = cut_below(type_, value)
    return any(low <= below < high for low, high in to_spans(type_, intervals))


def to_spans(type_: ColumnType, intervals: Intervals) -> list[Span]:
    """Intervals as pairs of cuts."""
    return [(_low_cut(type_, each), _high_cut(type_, each)) for each in intervals]


def _low_cut(type_: ColumnType, interval: Interval) -> Cut:
    if interval.low is None:
        return BOTTOM
    return (cut_below if interval.low_closed else cut_above)(type_, interval.low)


def _high_cut(type_: ColumnType, interval: Interval) -> Cut:
    if interval.high is None:
        return TOP
    return (cut_above if interval.high_closed else cut_below)(type_, interval.high)


def from_spans(type_: ColumnType, spans: Iterable[Span]) -> Intervals:
    """Sorted disjoint pairs of cuts as intervals; empty ones are left out."""
    return tuple(_interval(type_, low, high) for low, high in spans if low < high)


def _interval(type_: ColumnType, low: Cut, high: Cut) -> Interval:
    if type_ is ColumnType.BOOLEAN and (low, high) != (BOTTOM, TOP):
        point = low is not BOTTOM
        return Interval(point, True, point, True)
    low_value = low[1] if len(low) == 3 else None
    high_value = high[1] if len(high) == 3 else None
    low_closed = len(low) == 3 and low[2] == 0
    if type_ in _WHOLE and high_value is not None:
        return Interval(low_value, low_closed, high_value - 1, True)  # type: ignore[operator]
    return Interval(low_value, low_closed, high_value, len(high) == 3 and high[2] == 1)
