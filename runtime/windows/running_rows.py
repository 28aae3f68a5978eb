"""OVER with frames that end at the current row, for each key.

Rows wait until they are decided, and then join those of the past that some frame still reaches: by RANGE the rows of that time,
by ROWS and LAG the last rows of each key, from UNBOUNDED PRECEDING on the last row of each key with its value
(`carried`). Past and new rows are sorted together, once for each PARTITION BY, and all functions read the same order. Keys
for which nothing new has come are left aside.

    COUNT(*) OVER (PARTITION BY k RANGE 5 PRECEDING)    past a 1, b 2; new a 4, a 9    gives 4: 2, 9: 2; past is a 4, a 9 then
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import ColumnRef, EndKind, OverFunction
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import take
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.columns.saved_columns import loaded, loaded_array, loaded_column, saved
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.pull.aggregate.grouping import canonical
from cqc.runtime.pull.over.ordering import SortKey, sorted_rows
from cqc.runtime.windows.carried import Carried, is_carried
from cqc.runtime.windows.holder import Decisions
from cqc.runtime.windows.lifted_constants import FIRST_CONSTANT
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Over
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.pull.over.over_plan import Sorting
    from cqc.runtime.pull.over.partitions import Partitions
    from cqc.runtime.windows.decided_plan import DecidedPlan

_LOOKS = 16  # so many micro-batches may pass before the rows of silent keys are looked at


class Reach:
    """How much of the past the OVERs of one PARTITION BY need."""

    def __init__(self, sorting: Sorting, is_complete: bool) -> None:
        overs = [member.over for _, member in sorting.members]
        self.range_us = -1  # below 0: nothing
        self.rows = 0
        self.everything = False
        if is_complete:
            return
        for over in overs:
            self._reach(over)

    def _reach(self, over: Over) -> None:
        if is_carried(over):
            self.rows = max(self.rows, 1)
        elif over.frame is None:
            assert over.function is OverFunction.LAG
            offset = over.arguments[1:2]
            self.rows = max(self.rows, int(offset[0].value) if offset else 1)  # type: ignore[union-attr,arg-type]
        elif over.frame.start.kind is EndKind.FIRST:
            self.everything = True
        elif over.frame.by_rows:
            self.rows = max(self.rows, int(over.frame.start.amount))
        else:
            self.range_us = max(self.range_us, int(over.frame.start.amount))

    def still_needed(
        self, partitions: Partitions, ts_us: NDArray[np.int64], now_us: int, idle_us: int | None
    ) -> NDArray[np.bool_]:
        """The rows (by place) that a row from `now_us` on can see."""
        here = np.arange(len(partitions))
        needed = np.full(len(partitions), self.everything)
        if self.rows:
            needed |= here >= partitions.last - self.rows
        if self.range_us >= 0:
            needed |= ts_us >= now_us - self.range_us
        if idle_us is not None and len(ts_us):
            needed &= ts_us[partitions.last - 1] >= now_us - idle_us
        return needed


class RunningRows:
    """Undecided rows, and those of the past that are still needed."""

    def __init__(self, plan: DecidedPlan, *, shared: bool = False) -> None:
        """`shared`: the last column of rows says which of several queries they wait for."""
        self._plan = plan
        self._shared = shared
        self._types = (*plan.types, ColumnType.BIGINT) if shared else plan.types
        self._idle_us = plan.decided.key_idle_us
        self._waits = plan.decided.waits_for_equals
        self._rows: list[Rows] = []
        self._next_us = ALL_SEEN
        self._past = Rows.none(self._types)
        over_plan = plan.answers.over_plan
        self._sortings = over_plan.sortings
        self._reaches = [Reach(sorting, self._is_complete(sorting)) for sorting in self._sortings]
        self._carried: dict[int, Carried] = {
            number: Carried(member)
            for sorting in self._sortings
            for number, member in sorting.members
            if is_carried(member.over) and not self._is_complete(sorting)
        }
        self._count = len(over_plan.overs)
        self._looks = 0
        self.constants: tuple[Column, ...] = ()  # of each query that shares, by its number

    def _fetch(self, rows: Rows) -> Callable[[int, int], Column]:
        """The columns of rows, and the constants of the queries that they wait for."""
        own = self._plan.fetch(rows)
        if not self.constants:
            return own
        members = rows.columns[-1].values

        def fetch(item: int, column: int) -> Column:
            if column < FIRST_CONSTANT:
                return own(item, column)
            return take(self.constants[column - FIRST_CONSTANT], members)

        return fetch

    def _is_complete(self, sorting: Sorting) -> bool:
        return any(
            isinstance(key, ColumnRef) and (key.item, key.column) == self._plan.time_place
            for key in sorting.partition
        )

    def take(self, rows: Rows) -> None:
        rows = self._plan.in_windows(rows, NOTHING_SEEN)
        if len(rows):
            self._rows.append(rows)
            self._next_us = min(self._next_us, int(rows.ts_us.min()))

    def decide(self, watermark_us: int) -> list[Decisions]:
        answered = self.answered(watermark_us)
        return [] if answered is None or not len(answered) else [answered]

    def answered(self, watermark_us: int) -> Decisions | None:
        """What is decided now; where queries share, a last column says whose it is."""
        if not self._rows or watermark_us < self._next_us:
            return None
        rows = Rows.joined(self._rows)
        ready = rows.ts_us < watermark_us if self._waits else rows.ts_us <= watermark_us
        if watermark_us == ALL_SEEN:
            ready[:] = True
        if not ready.any():
            self._rows = [rows]
            return None
        left = rows.take(np.flatnonzero(~ready))
        self._rows = [left] if len(left) else []
        self._next_us = int(left.ts_us.min()) if len(left) else ALL_SEEN
        new = rows.take(np.flatnonzero(ready)) if len(left) else rows
        if self._plan.decided.ties_by_value:
            new = self._in_order(new)
        now_us = int(new.ts_us.max()) + 1 if watermark_us == ALL_SEEN else watermark_us
        return self._answer(new, now_us)

    def _in_order(self, rows: Rows) -> Rows:
        """Rows of a view in the order of their times, equal ones by the values of the columns, NULL first."""
        by = self._plan.decided.by
        keys = [
            SortKey(column, descending=False, nulls_first=True)
            for place, column in zip(self._plan.places, rows.columns, strict=not self._shared)
            if place[0] == by
        ]
        return rows.take(sorted_rows(rows.ts_us, keys))

    def _answer(self, new: Rows, now_us: int) -> Decisions:
        aside = self._set_aside(new)
        kept = len(self._past)
        rows = Rows.joined([self._past, new]) if kept else new
        fetch = self._fetch(rows)
        members = rows.columns[-1].values if self._shared else None
        if members is not None and (members == members[0]).all():
            members = None  # one query: there is nothing to tell apart
        values: dict[int, Column] = {}
        needed = np.zeros(len(rows), np.bool_)
        for sorting, reach in zip(self._sortings, self._reaches, strict=True):
            partitions = sorting.arranged(members, fetch, len(rows), self._idle_us)
            back = np.empty(len(rows), np.int64)
            back[partitions.rows] = np.arange(len(rows))
            asked = back[kept:]
            for number, member in sorting.members:
                carried = self._carried.get(number)
                if carried is not None:
                    found = carried.at_places(partitions, fetch, kept)
                else:
                    found = member.at_places(partitions, fetch)
                values[number] = take(found, asked)
            ts_us = rows.ts_us[partitions.rows]
            still = reach.still_needed(partitions, ts_us, now_us, self._idle_us)
            needed[partitions.rows] |= still
        self._keep(rows, np.flatnonzero(needed), aside)
        answer = self._plan.answers.finish_over(
            np.arange(len(new), dtype=np.int64),
            self._fetch(new),
            [values[number] for number in range(self._count)],
        )
        whose = (take(new.columns[-1], answer.window),) if self._shared else ()
        return Decisions(new.ts_us[answer.window], (*answer.columns, *whose))

    def _keep(
        self, rows: Rows, needed: NDArray[np.int64], aside: tuple[Rows, list[list[Any]]] | None
    ) -> None:
        self._past = rows.take(needed)
        for carried in self._carried.values():
            carried.keep(needed)
        if aside is not None:
            silent, past = aside
            self._past = Rows.joined([self._past, silent])
            for carried, others in zip(self._carried.values(), past, strict=True):
                carried.join(others)

    def _set_aside(self, new: Rows) -> tuple[Rows, list[list[Any]]] | None:
        """Rows of the past whose keys have nothing new, while there are many; every so often they are looked at, too."""
        self._looks += 1
        if (
            len(self._sortings) > 1
            or not (self._sortings[0].partition or self._shared)
            or len(self._past) < 4 * len(new)
            or self._looks % _LOOKS == 0
        ):
            return None
        sorting = self._sortings[0]
        old_keys = sorting.keys(self._fetch(self._past), len(self._past))
        new_keys = sorting.keys(self._fetch(new), len(new))
        touched = np.ones(len(self._past), np.bool_)
        for old, fresh in zip(old_keys, new_keys, strict=True):
            touched &= _may_be_among(old, fresh)
        if self._shared:
            touched &= _may_be_among(self._past.columns[-1], new.columns[-1])
        silent, active = np.flatnonzero(~touched), np.flatnonzero(touched)
        aside = self._past.take(silent), [each.apart(silent) for each in self._carried.values()]
        self._past = self._past.take(active)
        for carried in self._carried.values():
            carried.keep(active)
        return aside

    @property
    def failures(self) -> int:
        return self._plan.failures

    @property
    def nbytes(self) -> int:
        return self._past.nbytes + sum(rows.nbytes for rows in self._rows)

    @property
    def kept(self) -> int:
        """How many rows of the past there are."""
        return len(self._past)

    # Queries that share

    def forget_member(self, member: int) -> None:
        """Give up the rows of a query."""
        self._rows = [rows.take(np.flatnonzero(_others(rows, member))) for rows in self._rows]
        self._rows = [rows for rows in self._rows if len(rows)]
        left = np.flatnonzero(_others(self._past, member))
        if len(left) < len(self._past):
            self._past = self._past.take(left)
            for carried in self._carried.values():
                carried.keep(left)

    def save_for(self, member: int) -> dict[str, Any]:
        """What a holder for this query alone would save."""
        alone = RunningRows(self._plan)
        own = [rows.take(np.flatnonzero(~_others(rows, member))) for rows in self._rows]
        alone._rows = [_bare(rows) for rows in own if len(rows)]
        kept = np.flatnonzero(~_others(self._past, member))
        alone._past = _bare(self._past.take(kept))
        for mine, carried in zip(self._carried.values(), alone._carried.values(), strict=True):
            carried.past = mine.apart(kept)
        return alone.save()

    def load_for(self, state: dict[str, Any], member: int) -> None:
        """Add what a query had saved."""
        self.forget_member(member)
        alone = RunningRows(self._plan)
        alone.load(state)
        for rows in alone._rows:
            self._rows.append(_named(rows, member))
            self._next_us = min(self._next_us, int(rows.ts_us.min()))
        if len(alone._past):
            self._past = Rows.joined([self._past, _named(alone._past, member)])
            for mine, carried in zip(self._carried.values(), alone._carried.values(), strict=True):
                mine.join(carried.past)

    def save(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        if self._rows:
            state["rows"] = Rows.joined(self._rows).saved()
        if len(self._past):
            named: dict[str, Any] = {"ts": self._past.ts_us, "end": self._past.end_us}
            named |= {f"c{at}": column for at, column in enumerate(self._past.columns)}
            for number, carried in self._carried.items():
                named |= carried.named(f"o{number}")
            state["past"] = saved(named)
        return state

    def load(self, state: dict[str, Any]) -> None:
        self._rows, self._next_us = [], ALL_SEEN
        types = self._plan.types
        self._past = Rows.none(types)
        if "past" in state:
            table = loaded(state["past"])
            columns = [loaded_column(table, f"c{at}", type_) for at, type_ in enumerate(types)]
            ts_us, end_us = loaded_array(table, "ts"), loaded_array(table, "end")
            self._past = Rows(ts_us, end_us, tuple(columns))
            for number, carried in self._carried.items():
                carried.load(table, f"o{number}")
        if "rows" in state:
            rows = Rows.loaded(state["rows"], types)
            self._rows, self._next_us = [rows], int(rows.ts_us.min())


def _others(rows: Rows, member: int) -> NDArray[np.bool_]:
    """Which rows wait for other queries."""
    found: NDArray[np.bool_] = rows.columns[-1].values != member
    return found


def _bare(rows: Rows) -> Rows:
    """Rows without the number of their query."""
    return Rows(rows.ts_us, rows.end_us, rows.columns[:-1])


def _named(rows: Rows, member: int) -> Rows:
    """Rows with the number of their query."""
    numbers = count_column(np.full(len(rows), member, np.int64))
    return Rows(rows.ts_us, rows.end_us, (*rows.columns, numbers))


def _may_be_among(values: Column, others: Column) -> NDArray[np.bool_]:
    """False for values that are surely not among the others; True for NULL."""
    if values.type.held_as_text:
        found = pc.is_in(values.values, value_set=others.values)
    else:
        found = pc.is_in(pa.array(canonical(values)), value_set=pa.array(canonical(others)))
    mask: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask if values.valid is None else mask | ~values.valid
