"""When a set of values is better looked up than compared: lists of single values, and everything but such a list."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.normal import Interval, Value
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

# With this many intervals a lookup is cheaper than comparisons, which are one XOR of two rows each.
_MANY = 5
_WIDEST_RUN = 64
_WHOLE = (ColumnType.BIGINT, ColumnType.TIMESTAMP, ColumnType.DATE)


@record
class Listed:
    """The values of a list or, with `complement`, all values but those (and not NULL)."""

    values: tuple[Value, ...]
    complement: bool


def points_of(type_: ColumnType, intervals: Sequence[Interval]) -> Listed | None:
    """The list that a set of values is, when it should be looked up as one.

    Text is looked up even for a single value: its order is costly, its hash is not.
    """
    if not intervals or (not type_.held_as_text and len(intervals) < _MANY):
        return None
    inside = _single_values(type_, intervals)
    if inside is not None:
        return Listed(inside, complement=False)
    if intervals[0].low is not None or intervals[-1].high is not None or len(intervals) == 1:
        return None
    outside = _single_values(type_, [_gap(*pair) for pair in itertools.pairwise(intervals)])
    return None if outside is None else Listed(outside, complement=True)


def _gap(before: Interval, after: Interval) -> Interval:
    return Interval(before.high, not before.high_closed, after.low, not after.low_closed)


def _single_values(type_: ColumnType, intervals: Sequence[Interval]) -> tuple[Value, ...] | None:
    """The values of intervals that hold one value each, or a short run of whole numbers."""
    found: list[Value] = []
    for interval in intervals:
        low, high = interval.low, interval.high
        if low is None or high is None:
            return None
        if low == high and interval.low_closed and interval.high_closed:
            found.append(low)
        elif type_ in _WHOLE and isinstance(low, int) and isinstance(high, int):
            first, last = low + (not interval.low_closed), high - (not interval.high_closed)
            if last - first > _WIDEST_RUN:
                return None
            found += range(first, last + 1)
        else:
            return None
    return tuple(found) or None
