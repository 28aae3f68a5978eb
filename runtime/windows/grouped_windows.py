"""The groups of TUMBLE and HOP windows.

Where partial aggregates are enough, nothing waits but these: each packet becomes one partial group for each of its windows and
keys, and parts of one group are put together when their window is past, or earlier when there are many. Other aggregates need
the rows of a group, which wait then.

    TUMBLE(s, 10 SEC), COUNT(*) by k    packet (1 a) (4 a) (12 b): 10 a 2, 20 b 1;    watermark 10: row (10, a, 2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.columns.saved_columns import loaded, loaded_array, loaded_column, saved
from cqc.runtime.pull.aggregate.partial_groups import (
    PartialGroups,
    PartialLane,
    joined_groups,
    selected_groups,
)
from cqc.runtime.windows.holder import Decisions
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from cqc.runtime.pull.pull_plan import Answer
    from cqc.runtime.windows.decided_plan import DecidedPlan

_MANY = (
    1 << 16
)  # parts of groups that are put together when there are twice as many as the last time


class GroupedWindows:
    """Windows that are not past yet."""

    def __init__(self, plan: DecidedPlan) -> None:
        self._plan = plan
        self._by_partials = plan.answers.has_partials and not plan.decided.grouping_sets
        self._parts: list[PartialGroups] = []
        self._rows: list[Rows] = []
        self._count = 0  # of all parts, in groups
        self._dense = 0  # the same after they were put together
        self._next_us = ALL_SEEN  # the first window that is not past
        self._closed_us = NOTHING_SEEN  # windows up to here take nothing more

    def take(self, rows: Rows) -> None:
        rows = self._plan.in_windows(rows, self._closed_us)
        if not len(rows):
            return
        self._next_us = min(self._next_us, int(rows.end_us.min()))
        if not self._by_partials:
            self._rows.append(rows)
            return
        part = self._plan.answers.partial_groups(rows.end_us, self._plan.fetch(rows))
        self._parts.append(part)
        self._count += len(part.window)
        if self._count > _MANY and self._count > 2 * self._dense and len(self._parts) > 1:
            self._parts = [joined_groups(self._parts)]
            self._count = self._dense = len(self._parts[0].window)

    def decide(self, watermark_us: int) -> list[Decisions]:
        if self._plan.decided.ends_late and abs(watermark_us) != ALL_SEEN:
            watermark_us = max(watermark_us - 1, NOTHING_SEEN)
        if watermark_us < self._next_us or not (self._parts or self._rows):
            if watermark_us != ALL_SEEN:
                self._closed_us = max(self._closed_us, watermark_us)
            return []
        past_us = watermark_us
        if watermark_us == ALL_SEEN:
            past_us = self._last_us()
        self._closed_us = max(self._closed_us, past_us)
        answer = self._from_parts(past_us) if self._by_partials else self._from_rows(past_us)
        return [Decisions(answer.window, answer.columns)] if len(answer.window) else []

    def _last_us(self) -> int:
        ends = [int(part.window.max()) for part in self._parts if len(part.window)]
        ends += [int(rows.end_us.max()) for rows in self._rows if len(rows)]
        return max(ends, default=self._closed_us)

    def _from_parts(self, past_us: int) -> Answer:
        past = [selected_groups(part, part.window <= past_us) for part in self._parts]
        left = [selected_groups(part, part.window > past_us) for part in self._parts]
        self._parts = [part for part in left if len(part.window)]
        self._count = sum(len(part.window) for part in self._parts)
        self._dense = min(self._dense, self._count)
        self._next_us = min((int(each.window.min()) for each in self._parts), default=ALL_SEEN)
        done = [part for part in past if len(part.window)]
        return self._plan.answers.put_together(done, 0)

    def _from_rows(self, past_us: int) -> Answer:
        rows = Rows.joined(self._rows)
        is_past = rows.end_us <= past_us
        left = rows.take(np.flatnonzero(~is_past))
        self._rows = [left] if len(left) else []
        self._next_us = int(left.end_us.min()) if len(left) else ALL_SEEN
        done = rows.take(np.flatnonzero(is_past))
        order = np.argsort(done.end_us, kind="stable")
        done = done.take(order)
        return self._plan.answers.answer_rows(done.end_us, self._plan.fetch(done), 0)

    @property
    def failures(self) -> int:
        return self._plan.failures

    @property
    def nbytes(self) -> int:
        lanes = [lane.partials.nbytes for part in self._parts for lane in part.lanes]
        groups = sum(len(part.window) * 8 * (1 + len(part.keys)) for part in self._parts)
        return sum(lanes) + groups + sum(rows.nbytes for rows in self._rows)

    def save(self) -> dict[str, Any]:
        state: dict[str, Any] = {"closed_us": self._closed_us}
        if self._rows:
            rows = Rows.joined(self._rows)
            self._rows = [rows]
            state["rows"] = rows.saved()
        if self._parts:
            part = joined_groups(self._parts)
            self._parts, self._count = [part], len(part.window)
            keys = {f"k{at}": key for at, key in enumerate(part.keys)}
            lanes = {f"l{at}": lane.partials for at, lane in enumerate(part.lanes)}
            state["groups"] = saved({"window": part.window, **keys, **lanes})
            state["values"] = [
                {str(row): values.tolist() for row, values in lane.values.items()}
                for lane in part.lanes
            ]
        return state

    def load(self, state: dict[str, Any]) -> None:
        self._closed_us = state["closed_us"]
        self._parts, self._rows, self._next_us = [], [], ALL_SEEN
        if "rows" in state:
            rows = Rows.loaded(state["rows"], self._plan.types)
            self._rows = [rows]
            self._next_us = int(rows.end_us.min())
        if "groups" in state:
            table = loaded(state["groups"])
            types = [key.type for key in self._plan.decided.group_by]
            keys = [loaded_column(table, f"k{at}", type_) for at, type_ in enumerate(types)]
            lanes = [
                PartialLane(
                    loaded_array(table, f"l{at}"),
                    {int(row): np.array(each) for row, each in values.items()},
                )
                for at, values in enumerate(state["values"])
            ]
            part = PartialGroups(loaded_array(table, "window"), tuple(keys), tuple(lanes))
            self._parts, self._count = [part], len(part.window)
            self._next_us = int(part.window.min())
