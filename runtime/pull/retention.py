"""How far back pull queries may look: the retention, and what happens to a window that begins before it.

A window that reaches beyond what is kept is answered from what is kept, and whoever asked is told once. Periodic queries look back
as far as the retention from each instant, however late they are asked.

    RETENTION 60, asked at 100: what began before 40 may be gone; BEGIN NOW - 90 becomes 40, with a warning
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.event_time import NOTHING_SEEN
from cqc.runtime.pull.pull_window import show_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.pull.pull_query import AnyLine, PullQuery

_MOST_WARNINGS = 1_000


class Retention:
    """What is kept of the past; `span_us` None for everything."""

    def __init__(self, span_us: int | None) -> None:
        self.span_us = span_us
        self.kept_from: dict[str, int] = {}  # by folded stream name: older tuples may be gone
        self.warnings: list[str] = []

    def purge_before(self, stream: str, latest_us: int | None, due_us: int | None) -> int | None:
        """Tuples of a stream older than this are not asked for any more; None when everything is kept.

        Args:
            stream: its folded name.
            latest_us: the latest event time seen on it.
            due_us: the oldest instant that a periodic query over it has to answer (None: there is none).
        """
        if self.span_us is None or latest_us is None or due_us == NOTHING_SEEN:
            return None
        newest_us = latest_us if due_us is None else min(latest_us, due_us)
        self.kept_from[stream] = newest_us - self.span_us
        return self.kept_from[stream]

    def window(self, query: PullQuery, at_us: int) -> tuple[int, int]:
        """The window of a query at an instant, as far as history is kept; both ends inside."""
        begin_us, end_us = query.first.at(at_us), query.last.at(at_us)
        kept_from_us = self.oldest_us(query)
        if kept_from_us is not None and begin_us < kept_from_us:
            self._warn(query, begin_us, kept_from_us)
            begin_us = kept_from_us
        return begin_us, end_us

    def begins(self, query: PullQuery, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the windows of a periodic query begin."""
        begins = query.first.at(instants)
        if self.span_us is None:
            return begins
        kept_from = instants - self.span_us
        if query.kept_from_us is not None:
            kept_from = np.maximum(kept_from, query.kept_from_us)
        short = np.flatnonzero((begins < kept_from) & (kept_from > (query.first_us or 0)))
        if len(short):
            self._warn(query, int(begins[short[0]]), int(kept_from[short[0]]))
        return np.maximum(begins, kept_from)

    def oldest_us(self, query: PullQuery) -> int | None:
        """What is older than this is gone for a query that is asked now, when anything is."""
        if self.span_us is None:
            return None
        return self.oldest_of(list(query.lines.values()))

    def oldest_of(self, lines: Sequence[AnyLine]) -> int | None:
        """The same for whoever asks about these streams."""
        if self.span_us is None:
            return None
        latest = [line.latest_us for line in lines if line.latest_us is not None]
        first = [line.first_us for line in lines if line.first_us is not None]
        if not latest or not first:
            return None
        latest_us, first_us = max(latest), min(first)
        kept_from_us = latest_us - self.span_us
        return kept_from_us if first_us < kept_from_us else None

    def take_warnings(self, known: int = 0) -> tuple[str, ...]:
        """The warnings beyond the first few that are known, which are forgotten."""
        taken = tuple(self.warnings[known:])
        del self.warnings[known:]
        return taken

    def _warn(self, query: PullQuery, begin_us: int, kept_from_us: int) -> None:
        if query.warned:
            return
        query.warned = True
        asked, kept = (show_instant(us, query.time_type) for us in (begin_us, kept_from_us))
        if len(self.warnings) >= _MOST_WARNINGS:
            del self.warnings[0]  # of queries that come and go
        self.warnings.append(
            f"query {query.name} asks from {asked}, but history is kept from {kept} on:"
            " it is answered from what is kept"
        )
