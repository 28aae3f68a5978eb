"""Turn every window of a query into one closed difference-bound matrix.

Example: with `FROM A, B, C [RANGE 5 SEC] WINDOW A.ts <= B.ts MAXWINDOW 6 SEC` each is at most 6 s after any other, A and
B are at most 5 s after C, and A is at most 0 s after B. Instants are asked last, and only where a push join would else be
unbounded: a window is mostly much narrower than the hours or days between two instants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.time_bounds import TimeLimit, close, limits_of_windows
from cqc.compiler.rewrites.instant_limits import instant_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.normal import Formula, TimeBounds


def infer_time_bounds(
    query: Query, conditions: Sequence[TimeLimit], filters: Sequence[Formula]
) -> TimeBounds:
    """The bounds from MAXWINDOW, RANGE, the limits of the window conditions, and the filters of the items."""
    if len(query.items) == 1 and not conditions:  # windows are between items
        return close((query.items[0].relation.event_time is not None,), ())
    streams = tuple([item.relation.event_time is not None for item in query.items])
    limits = [*limits_of_windows(query), *conditions]
    bounds = close(streams, limits)
    if len(streams) == 1 or query.pull is not None or not _has_gap(streams, bounds):
        return bounds
    with_instants = close(streams, [*limits, *instant_limits(query.items, filters)])
    return bounds if with_instants.contradictory else with_instants


def _has_gap(streams: tuple[bool, ...], bounds: TimeBounds) -> bool:
    """Whether some stream is not bounded by some other."""
    rows = [row for row, is_stream in zip(bounds.most_us, streams, strict=True) if is_stream]
    return any(
        most is None and is_stream
        for row in rows
        for most, is_stream in zip(row, streams, strict=True)
    )
