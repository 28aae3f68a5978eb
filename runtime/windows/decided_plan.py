"""A query whose rows wait, compiled: which columns it needs, its windows, and what is made of decided rows."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import ColumnRef, Decision
from cqc.runtime.columns.event_time import instants
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.pull.aggregate.partial_groups import PartialGroups, taken_groups
from cqc.runtime.pull.pull_plan import PullPlan
from cqc.runtime.windows.lifted_constants import FIRST_CONSTANT
from cqc.runtime.windows.waiting_rows import Rows, fetch_of, places_in, window_column
from cqc.runtime.windows.window_ends import window_ends

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.windows.waiting_rows import Fetch, Place


class DecidedPlan:
    """What one or more queries with the same clauses do."""

    def __init__(self, node: QueryNode | NormalQuery) -> None:
        decided = node.decided
        assert decided is not None
        self.decided = decided
        self.window = decided.window
        self.answers = PullPlan(node.outputs, decided)
        first = len(node.items[decided.by].relation.columns)
        self.ends: tuple[Place, Place] = (decided.by, first), (decided.by, first + 1)
        # The keys of GROUP BY that are columns of the window itself.
        self.window_keys = {
            at: self.ends.index((key.item, key.column))
            for at, key in enumerate(decided.group_by)
            if self.window is not None
            and isinstance(key, ColumnRef)
            and (key.item, key.column) in self.ends
        }
        if decided.decision is Decision.GROUPS:
            self.answers.told_by_window = frozenset(self.window_keys)
        session_keys = () if decided.window is None else decided.window.keys
        orders = [order.expression for order in decided.order_by]
        needed = places_in(
            [
                *(output.expression for output in node.outputs),
                *decided.group_by,
                *session_keys,
                *orders,
                decided.having,
                decided.qualify,
                decided.kept,
            ]
        )
        needed = {place: type_ for place, type_ in needed.items() if place[1] < FIRST_CONSTANT}
        if decided.ties_by_value:
            relation = node.items[decided.by].relation
            of_kind = relation.made_by is not None and relation.made_by.is_kind
            columns = relation.columns[:-1] if of_kind else relation.columns
            needed |= {(decided.by, at): column.type for at, column in enumerate(columns)}
            needed = dict(sorted(needed.items()))
        if self.window is not None:
            for end in self.ends:
                needed.pop(end, None)
        if decided.end is not None:
            needed[decided.by, decided.end.column] = decided.end.type
            needed = dict(sorted(needed.items()))
        self.places = tuple(needed)
        self.types = tuple(needed.values())
        self._kept = None if decided.kept is None else compile_expression(decided.kept)
        time = node.items[decided.by].relation.event_time
        assert time is not None
        self.time_place: Place = decided.by, time
        self.session_keys = [compile_expression(key) for key in session_keys]

    @cached_property
    def slice_us(self) -> int | None:
        """The length of the stretches that all windows are made of, where rows can be grouped by these first; None: by windows."""
        window = self.window
        if window is None or window.slide_us == window.size_us or self._kept is not None:
            return None
        keys = [key for at, key in enumerate(self.decided.group_by) if at not in self.window_keys]
        values = [part for each in self.answers.aggregates for part in each.inputs]
        if any(end in places_in([*keys, *values]) for end in self.ends):
            return None
        return math.gcd(window.slide_us, window.size_us)

    def in_slices(self, rows: Rows) -> Rows:
        """Each row once, with the end of its slice in the place of its window's."""
        assert self.window is not None
        assert self.slice_us is not None
        inside = rows.ts_us - 1 if self.window.after_start else rows.ts_us
        return Rows(rows.ts_us, inside - inside % self.slice_us + self.slice_us, rows.columns)

    def windows_of_slices(self, part: PartialGroups, after_us: int) -> PartialGroups:
        """Groups of slices, each once for each of the windows that hold its slice and end after an instant."""
        assert self.window is not None
        assert self.slice_us is not None
        ends_us = part.window if self.window.after_start else part.window - self.slice_us
        groups, end_us = window_ends(self.window, ends_us)
        assert groups is not None
        open_ = end_us > after_us
        if not open_.all():
            groups, end_us = groups[open_], end_us[open_]
        found = taken_groups(part, groups, end_us)
        keys = list(found.keys)
        for at, which in self.window_keys.items():
            us = end_us if which else end_us - self.window.size_us
            keys[at] = window_column(us, self.window.type)
        return PartialGroups(end_us, tuple(keys), found.lanes)

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""
        own = [*([] if self._kept is None else [self._kept]), *self.session_keys]
        return self.answers.failures + sum(each.failures for each in own)

    def rows(self, ts_us: NDArray[np.int64], column: Callable[[Place], Column]) -> Rows:
        """Rows of a packet, as many columns as are needed."""
        return Rows(ts_us, ts_us, tuple(map(column, self.places)))

    def in_windows(self, rows: Rows, after_us: int) -> Rows:
        """Each row once for each of its windows that end after an instant, without those that WHERE leaves out."""
        if self.window is None:
            return self._with_passed_ends(rows, after_us)
        tuples, end_us = window_ends(self.window, rows.ts_us)
        if tuples is None:
            rows = Rows(rows.ts_us, end_us, rows.columns)
        else:
            taken = rows.take(tuples)
            rows = Rows(taken.ts_us, end_us, taken.columns)
        open_ = rows.end_us > after_us
        if not open_.all():
            rows = rows.take(np.flatnonzero(open_))
        kept = self.kept_rows(rows)
        return rows if kept is None else rows.take(kept)

    def _with_passed_ends(self, rows: Rows, after_us: int) -> Rows:
        """Rows whose windows a view has passed on."""
        end = self.decided.end
        if end is None:
            return rows
        at = self.places.index((self.decided.by, end.column))
        end_us = instants(rows.columns[at])[0] + end.add_us
        rows = Rows(rows.ts_us, end_us, rows.columns)
        open_ = end_us > after_us
        return rows if open_.all() else rows.take(np.flatnonzero(open_))

    def kept_rows(
        self, rows: Rows, start_us: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64] | None:
        """The rows that the conditions on window columns leave; None: all."""
        if self._kept is None or not len(rows):
            return None
        found = self._kept.is_true(self.fetch(rows, start_us), len(rows))
        return None if found.all() else np.flatnonzero(found)

    def fetch(self, rows: Rows, start_us: NDArray[np.int64] | None = None) -> Fetch:
        """The columns of rows and of their windows, which begin their size before they end unless it is said when."""
        if self.window is None:
            return fetch_of(self.places, rows)
        if start_us is None:
            start_us = rows.end_us - self.window.size_us
        return fetch_of(self.places, rows, start_us, self.window, self.ends)
