"""The answer of a query with windows or OVER when all of its rows are there, as if the input ended now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.columns import Column, concatenate
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.decided_queries import holder_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import NormalQuery


class AllDecided:
    """One query, asked about rows of the past. `by` is the FROM item in whose order of arrival they are given."""

    def __init__(self, query: NormalQuery) -> None:
        assert query.decided is not None
        self.by = query.decided.by
        self._plan = DecidedPlan(query)

    def answer(
        self, ts_us: NDArray[np.int64], fetch: Callable[[int, int], Column]
    ) -> tuple[tuple[Column, ...], NDArray[np.int64]]:
        """Its rows by column, and the event time of each."""
        holder = holder_of(self._plan)
        if len(ts_us):
            holder.take(self._plan.rows(ts_us, lambda place: fetch(*place)))
        found = holder.decide(ALL_SEEN)
        if not found:
            return (), np.zeros(0, np.int64)
        columns = zip(*(each.columns for each in found), strict=True)
        times = np.concatenate([each.times_us for each in found])
        return tuple(concatenate(list(parts)) for parts in columns), times
