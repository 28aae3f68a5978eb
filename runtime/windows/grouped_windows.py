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
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.pull.aggregate.partial_groups import (
    PartialGroups,
    PartialLane,
    joined_groups,
    selected_groups,
)
from cqc.runtime.windows.holder import Decisions
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.pull.pull_plan import Answer
    from cqc.runtime.windows.decided_plan import DecidedPlan

_MANY = (
    1 << 16
)  # parts of groups that are put together when there are twice as many as the last time


def by_partials(plan: DecidedPlan) -> bool:
    """Whether partial aggregates are enough."""
    return plan.answers.has_partials and not plan.decided.grouping_sets


class GroupedWindows:
    """Windows that are not past yet.

    Several queries may share them: then the last column of the rows is their audience (`audiences`), which is a key of the groups beside
    those of GROUP BY, and what is past is asked for by `past_groups`.
    """

    def __init__(self, plan: DecidedPlan, *, shared: bool = False) -> None:
        self._plan = plan
        self._by_partials = by_partials(plan)
        self._shared = shared
        self._parts: list[PartialGroups] = []
        self._rows: list[Rows] = []
        self._count = 0  # of all parts, in groups
        self._dense = 0  # the same after they were put together
        self._next_us = ALL_SEEN  # the first window that is not past
        self._closed_us = NOTHING_SEEN  # windows up to here take nothing more

    def take(self, rows: Rows) -> None:
        if self._by_partials:
            self._take_groups(rows)
            return
        rows = self._plan.in_windows(rows, self._closed_us)
        if len(rows):
            self._next_us = min(self._next_us, int(rows.end_us.min()))
            self._rows.append(rows)

    def _take_groups(self, rows: Rows) -> None:
        sliced = self._plan.slice_us is not None
        rows = (
            self._plan.in_slices(rows) if sliced else self._plan.in_windows(rows, self._closed_us)
        )
        if not len(rows):
            return
        beside = rows.columns[-1] if self._shared else None
        part = self._plan.answers.partial_groups(rows.end_us, self._plan.fetch(rows), beside)
        if sliced:
            part = self._plan.windows_of_slices(part, self._closed_us)
        self._add(part)

    def _add(self, part: PartialGroups) -> None:
        if not len(part.window):
            return
        self._next_us = min(self._next_us, int(part.window.min()))
        self._parts.append(part)
        self._count += len(part.window)
        if self._count > _MANY and self._count > 2 * self._dense and len(self._parts) > 1:
            self._parts = [self._joined(self._parts)]
            self._count = self._dense = len(self._parts[0].window)

    def _joined(self, parts: list[PartialGroups]) -> PartialGroups:
        return joined_groups(parts, self._plan.answers.told_by_window)

    def decide(self, watermark_us: int) -> list[Decisions]:
        past_us = self._past_us(watermark_us)
        if past_us is None:
            return []
        answer = self._from_parts(past_us) if self._by_partials else self._from_rows(past_us)
        return [Decisions(answer.window, answer.columns)] if len(answer.window) else []

    def past_groups(self, watermark_us: int) -> PartialGroups | None:
        """The groups of the windows that are past now, each once for each audience."""
        past_us = self._past_us(watermark_us)
        done = [] if past_us is None else self._past_parts(past_us)
        return self._joined(done) if done else None

    def _past_us(self, watermark_us: int) -> int | None:
        """Up to where windows are past, if some are that were not."""
        if self._plan.decided.ends_late and abs(watermark_us) != ALL_SEEN:
            watermark_us = max(watermark_us - 1, NOTHING_SEEN)
        if watermark_us < self._next_us or not (self._parts or self._rows):
            if watermark_us != ALL_SEEN:
                self._closed_us = max(self._closed_us, watermark_us)
            return None
        past_us = watermark_us
        if watermark_us == ALL_SEEN:
            past_us = self._last_us()
        self._closed_us = max(self._closed_us, past_us)
        return past_us

    def _last_us(self) -> int:
        ends = [int(part.window.max()) for part in self._parts if len(part.window)]
        ends += [int(rows.end_us.max()) for rows in self._rows if len(rows)]
        return max(ends, default=self._closed_us)

    def _from_parts(self, past_us: int) -> Answer:
        return self._plan.answers.put_together(self._past_parts(past_us), 0)

    def _past_parts(self, past_us: int) -> list[PartialGroups]:
        past = [selected_groups(part, part.window <= past_us) for part in self._parts]
        left = [selected_groups(part, part.window > past_us) for part in self._parts]
        self._hold([part for part in left if len(part.window)])
        return [part for part in past if len(part.window)]

    def _hold(self, parts: list[PartialGroups]) -> None:
        self._parts = parts
        self._count = sum(len(part.window) for part in self._parts)
        self._dense = min(self._dense, self._count)
        self._next_us = min((int(each.window.min()) for each in self._parts), default=ALL_SEEN)

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

    # What is shared

    @property
    def closed_us(self) -> int:
        """Windows up to here take nothing more."""
        return self._closed_us

    def audiences(self) -> list[NDArray[np.int64]]:
        """Those of all groups that wait."""
        return [part.keys[-1].values for part in self._parts]

    def rename(self, renamed: NDArray[np.int64]) -> None:
        """Let audiences have other numbers, by their old ones."""
        self._parts = [
            PartialGroups(
                part.window,
                (*part.keys[:-1], count_column(renamed[part.keys[-1].values])),
                part.lanes,
            )
            for part in self._parts
        ]

    def save_for(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        """What a holder for one query needs to go on: that of the audiences chosen."""
        alone = GroupedWindows(self._plan)
        alone._closed_us = self._closed_us
        for part in self._parts:
            own = selected_groups(part, chosen[part.keys[-1].values])
            alone._add(PartialGroups(own.window, own.keys[:-1], own.lanes))
        return alone.save()

    def load_for(self, state: dict[str, Any], audience: int) -> None:
        """Add what a query had saved; it is for one audience."""
        alone = GroupedWindows(self._plan)
        alone.load(state)
        self._closed_us = max(self._closed_us, alone._closed_us)
        for part in alone._parts:
            beside = count_column(np.full(len(part.window), audience, np.int64))
            self._add(PartialGroups(part.window, (*part.keys, beside), part.lanes))

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
            part = self._joined(self._parts)
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
