"""Turn every window of a query into one closed difference-bound matrix.

Example: with `FROM A, B, C [RANGE 5 SEC] WINDOW A.ts <= B.ts MAXWINDOW 6 SEC` each is at most 6 s after any other, A and
B are at most 5 s after C, and A is at most 0 s after B.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.time_bounds import TimeLimit, close, limits_of_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bound import Query
    from cqc.compiler.normal import TimeBounds


def infer_time_bounds(query: Query, conditions: Sequence[TimeLimit]) -> TimeBounds:
    """The bounds from MAXWINDOW, RANGE and the limits of the window conditions."""
    streams = tuple([item.relation.event_time is not None for item in query.items])
    return close(streams, [*limits_of_windows(query), *conditions])
