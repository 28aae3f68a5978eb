"""Kept results of one body: rows as positions into shared state, in the order of their oldest event time (PSoup).

A query's BEGIN-END clause is applied when it is asked, by binary search: a row is inside iff its oldest tuple is not before
the begin and its newest not after the end. For one stream these are the same time; for a join only rows that began shortly
before the end, by no more than the longest row is long, may have finished after it: those alone are looked at one by one.

    positions  7   8   11        asked for 20..30: rows from the first oldest >= 20 to the last oldest <= 30,
    oldest     19  21  29        without those whose newest is above 30
    newest     25  28  31

What is found is only noted (`append`), and merged into the order by `settle`. Rows that come out of order are merged with the end of the order only, as
far back as they reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.state.shared_state import SharedState

Positions = tuple["NDArray[np.int64]", ...]  # one array per item, in host order


_MOST_PENDING_PARTS = 256
_MOST_PENDING_ROWS = 1 << 13
_SMALL, _SPARSE = (
    1024,
    8,
)  # rows that are not worth giving back; how much of what there is may be unused


@record
class Batch:
    """Rows that were merged together, ascending by their oldest event time."""

    oldest: NDArray[np.int64]
    positions: Positions

    def __len__(self) -> int:
        return len(self.oldest)


class Follower(Protocol):
    """What is kept beside a history: told of every row that is merged, and of purging."""

    def offer(self, batch: Batch, number: int) -> None:
        """Rows were merged; those numbered from `number` on are new or have moved."""

    def purge(self, before_us: int) -> None:
        """Rows that began before this are gone."""


class History:
    """The rows of one body. `states` are the shared states of its items, in host order.

    `beside` numbers more may stand beside the positions of each row, and go with them. Settled rows are numbered in their order, `first_row` to `end_row - 1`; purging does not change the numbers.
    """

    def __init__(self, states: Sequence[SharedState], beside: int = 0) -> None:
        self._states = tuple(states)
        self._timed = [at for at, state in enumerate(states) if state.relation.is_stream]
        self.has_span = len(self._timed) > 1  # oldest and newest may differ
        self.newest_us: int | None = None  # of all rows
        self.followers: list[Follower] = []
        self._before_us = -(2**63)  # rows older than this are gone
        self.is_as_noted = True  # the order is the one in which rows were noted
        self._longest_us = 0  # the most by which a row's oldest and newest differ
        self._pending: list[Positions] = []
        self._pending_rows = 0
        self._first_index = 0  # the number of the row at index 0
        self._start = 0
        self._stop = 0
        count = 1 + self.has_span + len(states) + beside
        self._arrays = [
            np.zeros(64, np.int64) for _ in range(count)
        ]  # oldest, newest if any, positions

    def __len__(self) -> int:
        return self._stop - self._start + self._pending_rows

    @property
    def nbytes(self) -> int:
        noted = 8 * self._pending_rows * len(self._states)
        return sum(int(array.nbytes) for array in self._arrays) + noted

    def append(self, positions: Positions) -> None:
        """Note rows that were found."""
        self._pending.append(positions)
        self._pending_rows += len(positions[0])

    @property
    def has_pending(self) -> bool:
        """Something was noted and not merged."""
        return bool(self._pending)

    @property
    def is_full(self) -> bool:
        """Enough was noted to be worth merging."""
        return self._pending_rows > _MOST_PENDING_ROWS or len(self._pending) > _MOST_PENDING_PARTS

    def settle(self) -> None:
        """Merge what was noted into the order, and offer it to those who follow it."""
        if not self._pending:
            return
        found = [np.concatenate(parts) for parts in zip(*self._pending, strict=True)]
        self._pending, self._pending_rows = [], 0
        found = self._without_purged(found)
        columns = self._in_order(found)
        if not len(columns[0]):
            return
        newest_us = int(columns[self.has_span].max())
        self.newest_us = newest_us if self.newest_us is None else max(self.newest_us, newest_us)
        if self.has_span:
            self._longest_us = max(self._longest_us, int((columns[1] - columns[0]).max()))
        number = self._first_index + self._merge(columns)
        batch = Batch(columns[0], tuple(columns[1 + self.has_span :]))
        for follower in self.followers:
            follower.offer(batch, number)

    def purge(self, before_us: int) -> None:
        """Forget rows that began before `before_us`."""
        if before_us <= self._before_us:
            return
        self._before_us = before_us
        self._start += int(np.searchsorted(self.oldest, before_us))
        self._give_back()
        for follower in self.followers:
            follower.purge(before_us)

    def still_there(self, batch: Batch) -> Batch:
        """The rows of a batch that have not been purged."""
        start = int(np.searchsorted(batch.oldest, self._before_us))
        if not start:
            return batch
        return Batch(batch.oldest[start:], tuple(part[start:] for part in batch.positions))

    @property
    def oldest(self) -> NDArray[np.int64]:
        """The oldest event time of each settled row, ascending."""
        return self._arrays[0][self._start : self._stop]

    def replace_beside(self, numbers: NDArray[np.int64]) -> None:
        """Give the settled rows other numbers beside their positions, in the last place."""
        self._arrays[-1][self._start : self._stop] = numbers

    def everything(self) -> Batch:
        """All settled rows."""
        return Batch(self.oldest, self._rows(slice(self._start, self._stop)))

    @property
    def first_row(self) -> int:
        """The number of the first settled row."""
        return self._first_index + self._start

    @property
    def end_row(self) -> int:
        """One more than the number of the last settled row."""
        return self._first_index + self._stop

    def rows_from(self, number: int) -> Positions:
        """The settled rows from a number on."""
        return self._rows(slice(number - self._first_index, self._stop))

    def between(self, begin_us: int, end_us: int) -> tuple[int, int]:
        """The numbers of the rows that began inside a window: the first of them, and one more than the last."""
        found: tuple[int, int] = find_stretch(
            self._arrays[0], self._start, self._stop, self._first_index, begin_us, end_us
        )
        return found

    def window(self, begin_us: int, end_us: int) -> Positions:
        """The settled rows inside a window, in the order of their oldest event time."""
        start, stop = self.between(begin_us, end_us)
        if not self.cuts(end_us):
            return self._rows(slice(start - self._first_index, stop - self._first_index))
        sure, inside = self.cut(start, stop, end_us)
        rows = self._rows(slice(start - self._first_index, sure - self._first_index))
        unsure = self._rows(slice(sure - self._first_index, stop - self._first_index))
        return tuple(
            np.concatenate((certain, doubtful[inside]))
            for certain, doubtful in zip(rows, unsure, strict=True)
        )

    def cuts(self, end_us: int) -> bool:
        """Whether rows that began inside a window may have ended after it."""
        return self.has_span and self.newest_us is not None and self.newest_us > end_us

    def cut(self, start: int, stop: int, end_us: int) -> tuple[int, NDArray[np.bool_]]:
        """Of rows that began inside a window: those before a number ended inside it too, and for the others whether they did."""
        sure, _ = self.between(end_us - self._longest_us + 1, end_us)
        sure = min(max(sure, start), stop)
        newest = self._arrays[1][sure - self._first_index : stop - self._first_index]
        return sure, newest <= end_us

    def sure_until(self, ends_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows that began up to there have surely ended inside windows with these ends."""
        if not self.has_span or self.newest_us is None:
            return ends_us
        return np.where(ends_us < self.newest_us, ends_us - self._longest_us, ends_us)

    def unsure(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each window the indexes (from, to) of the rows that began in it and may have ended after it."""
        after_us = np.maximum(begins_us, self.sure_until(ends_us) + 1)
        starts = self.oldest.searchsorted(after_us)
        stops = self.oldest.searchsorted(ends_us, "right")
        return self._start + starts, self._start + np.maximum(starts, stops)

    def ended(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Positions]:
        """Of those rows the ones that did not end after it: the window of each, and the rows."""
        starts, stops = self.unsure(begins_us, ends_us)
        lengths = stops - starts
        window = np.repeat(np.arange(len(starts)), lengths)
        within = np.arange(len(window)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        indexes = np.repeat(starts, lengths) + within
        inside = self._arrays[1][indexes] <= ends_us[window]
        indexes, window = indexes[inside], window[inside]
        return window, tuple(each[indexes] for each in self._arrays[2:])

    def _rows(self, rows: slice) -> Positions:
        return tuple(positions[rows] for positions in self._arrays[1 + self.has_span :])

    def _without_purged(self, found: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Only rows all of whose tuples are still there; the others are older than anybody may ask."""
        for at in self._timed:
            first = self._states[at].first
            if first and (found[at] < first).any():
                there = found[at] >= first
                found = [positions[there] for positions in found]
        return found

    def _in_order(self, found: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Oldest, newest (where it may differ) and positions of rows, by oldest, equal times as they came."""
        times = [self._states[at].ts_at(found[at]) for at in self._timed]
        oldest = np.minimum.reduce(times) if self.has_span else times[0]
        columns = [oldest, *([np.maximum.reduce(times)] if self.has_span else []), *found]
        if (oldest[1:] < oldest[:-1]).any():
            order = np.argsort(oldest, kind="stable")
            columns = [column[order] for column in columns]
            self.is_as_noted = False
        start = int(np.searchsorted(columns[0], self._before_us))
        return [column[start:] for column in columns] if start else columns

    def _merge(self, columns: list[NDArray[np.int64]]) -> int:
        """Put rows into the order; the index from which on rows are new or have moved."""
        self._reserve(len(columns[0]))
        after = self._start + int(np.searchsorted(self.oldest, columns[0][0], side="right"))
        stop = self._stop + len(columns[0])
        if after == self._stop:
            for array, column in zip(self._arrays, columns, strict=True):
                array[after:stop] = column
        else:
            self.is_as_noted = False
            tail = np.concatenate((self._arrays[0][after : self._stop], columns[0]))
            order = np.argsort(tail, kind="stable")
            for array, column in zip(self._arrays, columns, strict=True):
                array[after:stop] = np.concatenate((array[after : self._stop], column))[order]
        self._stop = stop
        return after

    def _reserve(self, count: int) -> None:
        if self._stop + count <= len(self._arrays[0]):
            return
        kept = self._stop - self._start
        capacity = len(self._arrays[0])
        while 3 * (kept + count) > 2 * capacity:
            capacity *= 2
        self._move(capacity)

    def _give_back(self) -> None:
        """Let go of memory that most rows have left, beside what they will need when as many come again."""
        kept, capacity = self._stop - self._start, len(self._arrays[0])
        if capacity <= _SMALL or _SPARSE * kept > capacity:
            return
        while capacity > _SMALL and 4 * kept <= capacity:
            capacity //= 2
        self._move(capacity)

    def _move(self, capacity: int) -> None:
        kept = self._stop - self._start
        for at, array in enumerate(self._arrays):
            grown = np.empty(capacity, array.dtype)
            grown[:kept] = array[self._start : self._stop]
            self._arrays[at] = grown
        self._first_index += self._start
        self._start, self._stop = 0, kept


@njit(cache=True, nogil=True)
def find_stretch(oldest, start, stop, first_index, begin_us, end_us):  # type: ignore[no-untyped-def]
    """The numbers of the rows from `begin_us` to `end_us` among the ascending oldest[start:stop]."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if oldest[middle] < begin_us:
            low = middle + 1
        else:
            high = middle
    first, high = low, stop
    while low < high:
        middle = (low + high) >> 1
        if oldest[middle] <= end_us:
            low = middle + 1
        else:
            high = middle
    return first_index + first, first_index + low


def warm() -> None:
    """Compile this module's kernel."""
    find_stretch(np.zeros(1, np.int64), 0, 1, 0, 0, 0)
