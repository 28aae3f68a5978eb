"""OVER over partitions that are there as a whole: the rows of a window, or of one instant, wait until that is past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.windows.holder import Decisions
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
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
        self._next_us = min(self._next_us, int(self._instants(rows).min()))

    def _instants(self, rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
        return rows.ts_us if self._of_instants else rows.end_us

    def decide(self, watermark_us: int) -> list[Decisions]:
        past_us = watermark_us
        if self._waits and watermark_us not in (ALL_SEEN, NOTHING_SEEN):
            past_us -= 1
        if past_us < self._next_us:
            if watermark_us != ALL_SEEN:
                self._closed_us = max(self._closed_us, past_us)
            return []
        if not self._rows:
            return []
        rows = Rows.joined(self._rows)
        instants = self._instants(rows)
        past_us = int(instants.max()) if watermark_us == ALL_SEEN else past_us
        self._closed_us = max(self._closed_us, past_us)
        is_past = instants <= past_us
        left = rows.take(np.flatnonzero(~is_past))
        self._rows = [left] if len(left) else []
        self._next_us = int(self._instants(left).min()) if len(left) else ALL_SEEN
        done = rows.take(np.flatnonzero(is_past))
        done = done.take(np.argsort(self._instants(done), kind="stable"))
        answer = self._plan.answers.answer_rows(self._instants(done), self._plan.fetch(done), 0)
        return [Decisions(answer.window, answer.columns)] if len(answer.window) else []

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
            self._next_us = int(self._instants(self._rows[0]).min())
