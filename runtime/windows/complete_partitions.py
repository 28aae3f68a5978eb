"""OVER inside one window or one instant: rows wait until the watermark has passed it, so each partition is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.windows.holder import Decisions
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.windows.decided_plan import DecidedPlan


class CompletePartitions:
    """Rows of windows (or instants) that are not past yet."""

    def __init__(self, plan: DecidedPlan) -> None:
        self._plan = plan
        self._rows: list[Rows] = []
        self._closed_us = NOTHING_SEEN
        self._next_us = ALL_SEEN
        # A window is past when the watermark has reached its end, an instant when it is greater.
        self._of_instants = plan.decided.waits_for_equals
        self._waits = self._of_instants or plan.decided.ends_late

    def take(self, rows: Rows) -> None:
        rows = self._plan.in_windows(rows, NOTHING_SEEN if self._of_instants else self._closed_us)
        if not len(rows):
            return
        self._rows.append(rows)
        self._next_us = min(self._next_us, int(self.instants(rows).min()))

    def instants(self, rows: Rows) -> NDArray[np.int64]:
        """When the partitions of rows are past, and what tells them apart."""
        return rows.ts_us if self._of_instants else rows.end_us

    def decide(self, watermark_us: int) -> list[Decisions]:
        done = self.past_rows(watermark_us)
        if done is None:
            return []
        answer = self._plan.answers.answer_rows(self.instants(done), self._plan.fetch(done), 0)
        return [Decisions(answer.window, answer.columns)] if len(answer.window) else []

    def past_rows(self, watermark_us: int) -> Rows | None:
        """The rows of windows that are past now, in their order."""
        past_us = watermark_us
        if self._waits and watermark_us not in (ALL_SEEN, NOTHING_SEEN):
            past_us -= 1
        if past_us < self._next_us:
            if watermark_us != ALL_SEEN:
                self._closed_us = max(self._closed_us, past_us)
            return None
        if not self._rows:
            return None
        rows = Rows.joined(self._rows)
        instants = self.instants(rows)
        past_us = int(instants.max()) if watermark_us == ALL_SEEN else past_us
        self._closed_us = max(self._closed_us, past_us)
        is_past = instants <= past_us
        left = rows.take(np.flatnonzero(~is_past))
        self._rows = [left] if len(left) else []
        self._next_us = int(self.instants(left).min()) if len(left) else ALL_SEEN
        done = rows.take(np.flatnonzero(is_past))
        return done.take(np.argsort(self.instants(done), kind="stable"))

    # What is shared: the last column of the rows is their audience

    @property
    def closed_us(self) -> int:
        """Windows up to here take nothing more."""
        return self._closed_us

    def audiences(self) -> list[NDArray[np.int64]]:
        """Those of all rows that wait."""
        return [rows.columns[-1].values for rows in self._rows]

    def rename(self, renamed: NDArray[np.int64]) -> None:
        """Let audiences have other numbers, by their old ones."""
        self._rows = [
            _with_audience(rows, rows.columns[:-1], renamed[rows.columns[-1].values])
            for rows in self._rows
        ]

    def save_for(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        """What a holder for one query needs to go on: that of the audiences chosen."""
        alone = CompletePartitions(self._plan)
        alone._closed_us = self._closed_us
        for rows in self._rows:
            own = rows.take(np.flatnonzero(chosen[rows.columns[-1].values]))
            if len(own):
                alone._rows.append(Rows(own.ts_us, own.end_us, own.columns[:-1]))
        return alone.save()

    def load_for(self, state: dict[str, Any], audience: int) -> None:
        """Add what a query had saved; it is for one audience."""
        alone = CompletePartitions(self._plan)
        alone.load(state)
        self._closed_us = max(self._closed_us, alone._closed_us)
        self._next_us = min(self._next_us, alone._next_us)
        self._rows += [
            _with_audience(rows, rows.columns, np.full(len(rows), audience, np.int64))
            for rows in alone._rows
        ]

    @property
    def failures(self) -> int:
        return self._plan.failures

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in self._rows)

    def save(self) -> dict[str, Any]:
        state: dict[str, Any] = {"closed_us": self._closed_us}
        if self._rows:
            state["rows"] = Rows.joined(self._rows).saved()
        return state

    def load(self, state: dict[str, Any]) -> None:
        self._closed_us, self._rows, self._next_us = state["closed_us"], [], ALL_SEEN
        if "rows" in state:
            self._rows = [Rows.loaded(state["rows"], self._plan.types)]
            self._next_us = int(self.instants(self._rows[0]).min())


def _with_audience(rows: Rows, columns: Sequence[Column], audiences: NDArray[np.int64]) -> Rows:
    return Rows(rows.ts_us, rows.end_us, (*columns, count_column(audiences)))
