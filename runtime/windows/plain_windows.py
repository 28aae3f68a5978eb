"""Rows of windows without groups: each tuple once for each of its windows, delivered at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.event_time import NOTHING_SEEN
from cqc.runtime.windows.holder import Decisions

if TYPE_CHECKING:
    from cqc.runtime.windows.decided_plan import DecidedPlan
    from cqc.runtime.windows.waiting_rows import Rows


class PlainWindows:
    """Holds nothing beyond the micro-batch."""

    nbytes = 0

    def __init__(self, plan: DecidedPlan) -> None:
        self._plan = plan
        self._found: list[Decisions] = []

    def take(self, rows: Rows) -> None:
        rows = self._plan.in_windows(rows, NOTHING_SEEN)
        if not len(rows):
            return
        answer = self._plan.answers.answer_rows(
            np.zeros(len(rows), np.int64), self._plan.fetch(rows), 1
        )
        self._found.append(Decisions(rows.ts_us, answer.columns))

    def decide(self, watermark_us: int) -> list[Decisions]:
        del watermark_us
        found, self._found = self._found, []
        return found

    @property
    def failures(self) -> int:
        return self._plan.failures

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        del state
        self._found = []
