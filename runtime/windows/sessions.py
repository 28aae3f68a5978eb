"""Sessions: tuples of one key whose event times are at most a gap apart, one after the other.

Rows wait until their session is past: the watermark is greater than its last event time and the gap, so no tuple can prolong it.
Sessions are found by one sort of what waits, by key and time, so tuples that come out of order, and those that make one session
of two, need no care. Nothing is looked at before the first session can be past.

    gap 5:  a 1, a 4, b 2, a 20     a: 1..4 ends 9, b: 2..2 ends 7, a: 20..20 ends 25
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import Decision
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.pull.aggregate.grouping import number_rows
from cqc.runtime.windows.holder import Decisions
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.windows.decided_plan import DecidedPlan


class Sessions:
    """Rows of sessions that are not past yet."""

    def __init__(self, plan: DecidedPlan) -> None:
        assert plan.window is not None
        self._plan = plan
        self._gap_us = plan.window.size_us
        self._rows: list[Rows] = []
        self._next_us = ALL_SEEN  # no session ends before

    def take(self, rows: Rows) -> None:
        if len(rows):
            self._rows.append(rows)
            self._next_us = min(self._next_us, int(rows.ts_us.min()) + self._gap_us)

    def decide(self, watermark_us: int) -> list[Decisions]:
        if not self._rows or watermark_us <= self._next_us:
            return []
        rows = Rows.joined(self._rows)
        order, begins = self._sessions(rows)
        rows = rows.take(order)
        starts = np.flatnonzero(begins)
        lengths = np.diff(np.append(starts, len(rows)))
        ends_us = rows.ts_us[starts + lengths - 1] + self._gap_us
        is_past = ends_us < watermark_us
        past_of_row = np.repeat(is_past, lengths)
        left = rows.take(np.flatnonzero(~past_of_row))
        self._rows = [left] if len(left) else []
        self._next_us = int(ends_us[~is_past].min()) if len(left) else ALL_SEEN
        if not is_past.any():
            return []
        return self._answer(
            rows.take(np.flatnonzero(past_of_row)),
            rows.ts_us[starts][is_past],
            ends_us[is_past],
            lengths[is_past],
        )

    def _sessions(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows in the order of their keys and times, and where a session begins."""
        fetch = self._plan.fetch(rows, rows.ts_us)
        keys = [key.run(fetch, len(rows)) for key in self._plan.session_keys]
        numbers, _ = number_rows(keys, len(rows))
        order = np.lexsort((rows.ts_us, numbers))
        begins = np.ones(len(rows), np.bool_)
        same_key = numbers[order][1:] == numbers[order][:-1]
        begins[1:] = ~(same_key & (np.diff(rows.ts_us[order]) <= self._gap_us))
        return order, begins

    def _answer(
        self,
        rows: Rows,
        starts_us: NDArray[np.int64],
        ends_us: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> list[Decisions]:
        """One row for each session; sessions that end earlier come first."""
        # Sessions that end at one instant are one window to OVER, ORDER BY and LIMIT, whatever their keys.
        windows_us, number = np.unique(ends_us, return_inverse=True)
        session = np.repeat(number, lengths)
        start_us = np.repeat(starts_us, lengths)
        rows = Rows(rows.ts_us, np.repeat(ends_us, lengths), rows.columns)
        order = np.argsort(session, kind="stable")
        rows, session, start_us = rows.take(order), session[order], start_us[order]
        kept = self._plan.kept_rows(rows, start_us)
        if kept is not None:
            rows, session, start_us = rows.take(kept), session[kept], start_us[kept]
        if self._plan.decided.decision is Decision.SESSION_ROWS:
            columns = self._plan.answers.outputs(self._plan.fetch(rows, start_us), len(rows))
            return [Decisions(rows.end_us, columns)] if len(rows) else []
        answer = self._plan.answers.answer_rows(session, self._plan.fetch(rows, start_us), 0)
        if not len(answer.window):
            return []
        return [Decisions(windows_us[answer.window], answer.columns)]

    @property
    def failures(self) -> int:
        return self._plan.failures

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in self._rows)

    def save(self) -> dict[str, Any]:
        return {"rows": Rows.joined(self._rows).saved()} if self._rows else {}

    def load(self, state: dict[str, Any]) -> None:
        self._rows, self._next_us = [], ALL_SEEN
        if "rows" in state:
            self.take(Rows.loaded(state["rows"], self._plan.types))
