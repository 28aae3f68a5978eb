"""The difference-bound matrix of a query: how far apart the event times of its items can be.

Every window says `ts_later - ts_earlier <= most_us` for some pair. Shortest paths over these limits give the tightest
bound for every pair, and a cycle of negative length is a contradiction.

Example: `A.ts <= B.ts` and `B.ts - C.ts <= 4 s` and `C.ts <= A.ts` give most(A -> B) = 4 s: B is at most 4 s after C,
and C is never after A.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.normal import TimeBounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Query

Matrix = list[list[int | None]]


@record
class TimeLimit:
    """`ts_later - ts_earlier <= most_us`. `span` is the condition it comes from; None for MAXWINDOW and RANGE."""

    earlier: int
    later: int
    most_us: int
    span: Span | None = field(compare=False, default=None)


def limits_of_windows(query: Query) -> list[TimeLimit]:
    """What MAXWINDOW and the RANGE of items say."""
    limits: list[TimeLimit] = []
    streams = query.stream_items
    for earlier in streams:
        widths = [query.max_window_us, query.items[earlier].range_us]
        known = [width for width in widths if width is not None]
        if known:
            limits.extend(
                TimeLimit(earlier, later, min(known)) for later in streams if later != earlier
            )
    return limits


def close(streams: tuple[bool, ...], limits: Sequence[TimeLimit]) -> TimeBounds:
    """The tightest bounds that follow from the limits; `streams` says which items are streams."""
    return _close(streams, tuple([(each.earlier, each.later, each.most_us) for each in limits]))


@lru_cache(maxsize=1 << 14)
def _close(streams: tuple[bool, ...], limits: tuple[tuple[int, int, int], ...]) -> TimeBounds:
    """Remembered, because queries repeat windows: equal bounds are then one object."""
    size = len(streams)
    most: Matrix = [[None] * size for _ in range(size)]
    for at in range(size):
        most[at][at] = 0 if streams[at] else None
    for earlier, later, us in limits:
        _tighten(most, earlier, later, us)
    for middle in range(size):
        for start in range(size):
            first = most[start][middle]
            if first is not None:
                for end in range(size):
                    second = most[middle][end]
                    if second is not None:
                        _tighten(most, start, end, first + second)
    contradictory = any((most[at][at] or 0) < 0 for at in range(size))
    return TimeBounds(tuple(tuple(row) for row in most), contradictory)


def _tighten(most: Matrix, earlier: int, later: int, us: int) -> None:
    before = most[earlier][later]
    if before is None or us < before:
        most[earlier][later] = us


def contradiction(size: int, limits: Sequence[TimeLimit]) -> list[TimeLimit]:
    """Limits that follow one another in a circle of negative length; empty when there is none (Bellman-Ford)."""
    distance = [0] * size
    reached_by: list[TimeLimit | None] = [None] * size
    changed: int | None = None
    for _ in range(size + 1):
        changed = None
        for limit in limits:
            if distance[limit.earlier] + limit.most_us < distance[limit.later]:
                distance[limit.later] = distance[limit.earlier] + limit.most_us
                reached_by[limit.later] = limit
                changed = limit.later
        if changed is None:
            return []
    return _circle(reached_by, changed)


def _circle(reached_by: Sequence[TimeLimit | None], start: int | None) -> list[TimeLimit]:
    at = start
    for _ in reached_by:  # after as many steps as there are items we are inside the circle
        limit = None if at is None else reached_by[at]
        at = None if limit is None else limit.earlier
    circle: list[TimeLimit] = []
    end = at
    while at is not None and (limit := reached_by[at]) is not None:
        circle.append(limit)
        at = limit.earlier
        if at == end:
            break
    return circle[::-1]
