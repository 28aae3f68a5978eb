"""Alerts over one stream that have PER in common: they look at each observation together.

The key of an observation is found once for all of them, and the entries of a key are in one chain, so an observation that is good
for all alerts, and whose key is neither pending nor firing, costs one look into a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.alerts.alert_kernels import (
    FIRING,
    INACTIVE,
    SINCE,
    TOLD,
    TOLD_RESOLVED,
    expire,
    find_steps,
    number_lasts,
    take_steps,
)
from cqc.runtime.alerts.entries import Entries
from cqc.runtime.alerts.kept_rows import KeptRows
from cqc.runtime.columns.columns import take
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.pull.over.ordering import SortKey, sorted_rows
from cqc.runtime.state.key_numbers import KeyNumbers
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.alerts.alert_plan import AlertPlan, Clears
    from cqc.runtime.columns.columns import Column

_MANY = 1024  # entries and rows that may be over before they are dropped


@dataclass(slots=True, eq=False)
class Batch:
    """Decided observations in their order, and for which alerts they are bad: those of row r end at `bad_ends[r]`."""

    rows: Rows
    arrivals: NDArray[np.int64]
    bad_ends: NDArray[np.int64]
    bad_alerts: NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Told:
    """What is to be told: an alert, its state, instants and counts, and the observations, row by row."""

    alerts: NDArray[np.int64]
    states: NDArray[np.int64]
    times_us: NDArray[np.int64]
    since_us: NDArray[np.int64]
    counts: NDArray[np.int64]
    rows: Rows


class AlertGroup:
    """The keys of one PER clause, and what alerts know of them.

    Args:
        keys: the expressions of PER.
        columns: the numbers and types of the columns that are kept of an observation, which may become more.
        of_view: observations of one event time come good ones first, then by their values, and not in the order of arrival.
    """

    def __init__(
        self, keys: Sequence[Expression], columns: Mapping[int, ColumnType], *, of_view: bool
    ) -> None:
        self.keys = tuple(keys)
        self.of_view = of_view
        self.entries = Entries()
        self._compiled = [compile_expression(key) for key in keys]
        self._numbers = KeyNumbers([key.type for key in keys])
        self._columns = dict(columns)
        self.kept = KeptRows(tuple(columns.values()))
        self._steps_taken = 0  # since it was last asked what is over
        self._next_us = (
            ALL_SEEN  # no key is silent for too long before the watermark is greater than this
        )

    # Observations

    def take(
        self, batch: Batch, plans: Mapping[int, AlertPlan], terms: NDArray[np.int64], clears: Clears
    ) -> Told | None:
        """Take decided observations. Returns what is to be told."""
        rows = batch.rows
        key_of_row = self._keys_of(batch)
        if not len(self._numbers):
            return None
        steps = self._steps(batch, key_of_row, terms)
        if not len(steps):
            return None
        entries = self.entries
        alerts = entries.alert_of[steps[:, 1]]
        clear = self._clear(rows, steps, alerts, plans, clears)
        order = np.arange(len(steps))
        if self.of_view:
            order = self._in_order(rows, steps, alerts, plans)
        events = np.empty((2 * len(steps), 6), np.int64)
        base = len(self.kept)
        made, silent_us = take_steps(
            steps,
            order,
            clear,
            rows.ts_us,
            base,
            entries.alert_of,
            terms,
            entries.times,
            entries.counts,
            entries.states,
            entries.marks,
            entries.lasts,
            events,
        )
        found = self._told(events[:made], rows, base)
        self._steps_taken += len(steps)
        self._next_us = min(self._next_us, silent_us)
        self.kept.append(rows.take(number_lasts(steps, entries.lasts, base, len(rows))))
        return found

    def _keys_of(self, batch: Batch) -> NDArray[np.int64]:
        """The numbers of the keys of observations; -1 for those of which none was bad, which are most."""
        rows = batch.rows
        columns = self.key_columns(rows)
        bad = np.flatnonzero(np.diff(batch.bad_ends, prepend=0))
        if 2 * len(bad) > len(rows):
            return self._numbers.of(columns, len(rows))
        if len(bad):
            self._numbers.of([take(column, bad) for column in columns], len(bad))
        return self._numbers.known(columns, len(rows))

    def key_columns(self, rows: Rows) -> list[Column]:
        """What PER says of some observations."""
        return [each.run(self.fetch(rows), len(rows)) for each in self._compiled]

    def fetch(self, rows: Rows) -> Any:
        """The columns of observations as expressions ask for them."""
        places = {column: at for at, column in enumerate(self._columns)}

        def column(_item: int, number: int) -> Column:
            return rows.columns[places[number]]

        return column

    def _steps(
        self, batch: Batch, key_of_row: NDArray[np.int64], terms: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        entries = self.entries
        entries.reserve(len(batch.bad_alerts), len(self._numbers))
        is_live = entries.states != INACTIVE
        found: list[NDArray[np.int64]] = []
        row, room = 0, 2 * len(batch.bad_alerts) + 256
        while row < len(key_of_row):
            steps = np.empty((room, 3), np.int64)
            row, made, entries.count = find_steps(
                row,
                key_of_row,
                batch.arrivals,
                batch.bad_ends,
                batch.bad_alerts,
                entries.heads,
                entries.links,
                entries.keys,
                entries.alert_of,
                is_live,
                entries.times,
                terms,
                entries.count,
                steps,
            )
            found.append(steps[:made])
            room *= 2
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _clear(
        self,
        rows: Rows,
        steps: NDArray[np.int64],
        alerts: NDArray[np.int64],
        plans: Mapping[int, AlertPlan],
        clears: Clears,
    ) -> NDArray[np.bool_]:
        """Which steps are clear: by CLEAR WHEN, which is asked only of what is good, or because they are good."""
        clear: NDArray[np.bool_] = steps[:, 2] == 0
        for condition, has_it in clears.owners(plans):
            own = np.flatnonzero((steps[:, 2] == 0) & has_it[alerts])
            if not len(own):
                continue
            asked, back = numbered(steps[own, 0], len(rows))
            some = rows.take(asked)
            clear[own] = clears.of(condition).is_true(self.fetch(some), len(some))[back]
        return clear

    def _in_order(
        self,
        rows: Rows,
        steps: NDArray[np.int64],
        alerts: NDArray[np.int64],
        plans: Mapping[int, AlertPlan],
    ) -> NDArray[np.int64]:
        """Steps of each entry by time, good ones first, then by the values of the SELECT list."""
        ts_us, entries, bad = rows.ts_us[steps[:, 0]], steps[:, 1], steps[:, 2]
        ranks = np.zeros(len(steps), np.int64)
        order = np.lexsort((bad, ts_us, entries))
        same = np.zeros(len(steps), np.bool_)
        left, right = order[:-1], order[1:]
        equal = (
            (entries[left] == entries[right])
            & (ts_us[left] == ts_us[right])
            & (bad[left] == bad[right])
        )
        same[left] |= equal
        same[right] |= equal
        if not same.any():
            return order
        tied = np.flatnonzero(same)
        by_outputs: dict[Any, list[int]] = {}
        for number in np.unique(alerts[tied]).tolist():
            by_outputs.setdefault(plans[number].outputs, []).append(number)
        for numbers in by_outputs.values():
            own = tied[np.isin(alerts[tied], numbers)]
            some = rows.take(steps[own, 0])
            shown = plans[numbers[0]].outputs.columns(self.fetch(some), len(some))
            keys = [SortKey(column, descending=False, nulls_first=True) for column in shown]
            ranks[own[sorted_rows(np.zeros(len(own), np.int64), keys)]] = np.arange(len(own))
        return np.lexsort((ranks, bad, ts_us, entries))

    def _told(self, events: NDArray[np.int64], rows: Rows, base: int) -> Told | None:
        if not len(events):
            return None
        numbers = events[:, 2]
        is_new = numbers >= base
        if is_new.all():
            observed = rows.take(numbers - base)
        elif not is_new.any():
            observed = self.kept.take(numbers)
        else:
            old = self.kept.take(numbers[~is_new])
            back = np.empty(len(numbers), np.int64)
            back[~is_new] = np.arange(len(old))
            back[is_new] = len(old) + np.arange(int(is_new.sum()))
            observed = Rows.joined([old, rows.take(numbers[is_new] - base)]).take(back)
        alerts = self.entries.alert_of[events[:, 1]]
        return Told(alerts, events[:, 0], events[:, 3], events[:, 4], events[:, 5], observed)

    # Silence and forgetting

    def silent(self, watermark_us: int, terms: NDArray[np.int64]) -> Told | None:
        """The keys of which nothing was heard for too long."""
        if watermark_us <= self._next_us and watermark_us != ALL_SEEN:
            return None
        entries = self.entries
        count = entries.count
        events = np.empty((count, 6), np.int64)
        made, self._next_us = expire(
            watermark_us,
            entries.alert_of[:count],
            terms,
            entries.times,
            entries.counts,
            entries.states,
            entries.marks,
            entries.lasts,
            events,
        )
        return self._told(events[:made], Rows.none(()), len(self.kept))

    def look_again(self) -> None:
        """Entries came from elsewhere: look at all of them when the watermark moves."""
        self._next_us = NOTHING_SEEN

    def forget(self, now_us: int, terms: NDArray[np.int64]) -> None:
        """Drop what is over, when there is much of it; nothing before `now_us` can come any more."""
        entries = self.entries
        if max(entries.count, len(self.kept) // 4) < _MANY and len(self._numbers) < 4 * _MANY:
            return
        if self._steps_taken < entries.count:  # to look at all of them would be most of the work
            return
        self._steps_taken = 0
        needed, live = entries.remembered(terms, now_us)
        if max(entries.count, len(self.kept) // 2, len(self._numbers) // 8) > 2 * live + _MANY:
            self.keep_only(np.flatnonzero(needed))

    def keep_only(self, chosen: NDArray[np.int64]) -> None:
        """Drop all other entries, and the keys and rows that only they had."""
        entries = self.entries
        lasts, back = np.unique(entries.lasts[chosen], return_inverse=True)
        self.kept.keep(lasts)
        self._numbers = KeyNumbers([key.type for key in self.keys])
        rows = self.kept.all()
        keys = self._numbers.of(self.key_columns(rows), len(rows))
        entries.lasts[chosen] = back
        entries.keep(chosen, keys[back] if len(back) else back, len(self._numbers))

    # Alerts come and go

    def widen(self, columns: Mapping[int, ColumnType], widened: Any) -> None:
        """More columns are kept of an observation; those that are there have NULL in them (`widened` says how)."""
        rows = widened(self._columns, self.kept.all())
        self._columns = dict(columns)
        self.kept = KeptRows(tuple(columns.values()))
        self.kept.append(rows)

    def resolve(self, number: int, watermark_us: int) -> Told | None:
        """An alert leaves: the firings that were delivered are resolved."""
        entries = self.entries
        own = entries.alert_of[: entries.count] == number
        told = (entries.marks[: entries.count] & TOLD) != 0
        fires = np.flatnonzero(own & told & (entries.states[: entries.count] == FIRING))
        events = np.empty((len(fires), 6), np.int64)
        events[:, 0], events[:, 1], events[:, 2] = TOLD_RESOLVED, fires, entries.lasts[fires]
        events[:, 3], events[:, 4] = watermark_us, entries.times[fires, SINCE]
        events[:, 5] = entries.counts[fires]
        found = self._told(events, Rows.none(()), len(self.kept))
        self.keep_only(np.flatnonzero(~own))
        return found

    @property
    def failures(self) -> int:
        """Evaluations of PER that failed and gave NULL."""
        return sum(each.failures for each in self._compiled)

    @property
    def nbytes(self) -> int:
        """What is held."""
        return self.entries.nbytes + self.kept.nbytes + self._numbers.nbytes


def numbered(values: NDArray[np.int64], below: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each value once, ascending, and where each value is among those; all are below a number that is not large."""
    is_there = np.zeros(below, np.bool_)
    is_there[values] = True
    found = np.flatnonzero(is_there)
    place = np.empty(below, np.int64)
    place[found] = np.arange(len(found))
    return found, place[values]
