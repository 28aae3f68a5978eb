"""Kept results of one body: rows as positions into shared state, in the order of their oldest event time (PSoup).

A query's BEGIN-END clause is applied when it is asked, by binary search: a row is inside iff its oldest tuple is not before
the begin and its newest not after the end. For one stream these are the same time; for a join the rows that began before
the end but finished after it are looked at one by one, and there are no more of them than a join's window is long.

    positions  7   8   11        asked for 20..30: rows from the first oldest >= 20 to the last oldest <= 30,
    oldest     19  21  29        without those whose newest is above 30
    newest     25  28  31

What is found is only noted (`append`), and merged into the order when somebody asks or when enough has come together:
results that nobody asks for cost next to nothing. Rows that come out of order are merged with the end of the order only, as
far back as they reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.operators.shared_state import SharedState

Positions = tuple["NDArray[np.int64]", ...]  # one array per item, in host order

_MOST_PENDING_BLOCKS = 256
_MOST_PENDING_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that were merged together, ascending by their oldest event time."""

    oldest: NDArray[np.int64]
    positions: Positions

    def __len__(self) -> int:
        return len(self.oldest)


class Follower(Protocol):
    """What is kept beside a history: told of every row that is merged, and of purging."""

    def offer(self, batch: Batch) -> None: ...
    def purge(self, before_us: int) -> None: ...


class Lanes:
    """Arrays that lie beside the rows of a history, in its order; made by `compute` for rows that are merged."""

    def __init__(self, compute: Callable[[Positions], list[NDArray[Any]]]) -> None:
        self.compute = compute
        self.arrays: list[NDArray[Any]] = []


class History:
    """The rows of one body. `states` are the shared states of its items, in host order."""

    def __init__(self, states: Sequence[SharedState]) -> None:
        self._states = tuple(states)
        self._timed = [at for at, state in enumerate(states) if state.relation.is_stream]
        self.has_span = len(self._timed) > 1  # oldest and newest may differ
        self.newest_us: int | None = None  # of all rows
        self.followers: list[Follower] = []
        self._before_us = -(2**63)  # rows older than this are gone
        self._lanes: list[Lanes] = []
        self._pending: list[Positions] = []
        self._pending_rows = 0
        self._start = 0
        self._stop = 0
        count = 1 + self.has_span + len(states)
        self._arrays = [
            np.zeros(64, np.int64) for _ in range(count)
        ]  # oldest, newest if any, positions

    def __len__(self) -> int:
        return self._stop - self._start + self._pending_rows

    @property
    def nbytes(self) -> int:
        noted = 8 * self._pending_rows * len(self._states)
        return sum(int(array.nbytes) for array in self._all_arrays()) + noted

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
        return self._pending_rows > _MOST_PENDING_ROWS or len(self._pending) > _MOST_PENDING_BLOCKS

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
        batch = Batch(columns[0], tuple(columns[1 + self.has_span :]))
        self._merge(columns, [lanes.compute(batch.positions) for lanes in self._lanes])
        for follower in self.followers:
            follower.offer(batch)

    def purge(self, before_us: int) -> None:
        """Forget rows that began before `before_us`."""
        if before_us <= self._before_us:
            return
        self._before_us = before_us
        self._start += int(np.searchsorted(self.oldest, before_us))
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

    def everything(self) -> Batch:
        """All settled rows."""
        return Batch(self.oldest, self._rows(slice(self._start, self._stop)))

    def attach(self, compute: Callable[[Positions], list[NDArray[Any]]]) -> Lanes:
        """Keep arrays beside the rows from now on, those that are there included."""
        lanes = Lanes(compute)
        room = len(self._arrays[0])
        for values in compute(self.everything().positions):
            array = np.zeros(room, values.dtype)
            array[self._start : self._stop] = values
            lanes.arrays.append(array)
        self._lanes.append(lanes)
        return lanes

    def detach(self, lanes: Lanes) -> None:
        """Keep them no longer."""
        self._lanes.remove(lanes)

    def stretch(self, begin_us: int, end_us: int) -> slice:
        """Where the arrays beside the rows hold the rows that began inside a window."""
        oldest = self._arrays[0][self._start : self._stop]
        start = self._start + int(oldest.searchsorted(begin_us))
        stop = self._start + int(oldest.searchsorted(end_us, "right"))
        return slice(start, max(start, stop))

    def window(self, begin_us: int, end_us: int) -> Positions:
        """The settled rows inside a window, in the order of their oldest event time."""
        rows = self.stretch(begin_us, end_us)
        if self.cuts(end_us):
            inside = self._arrays[1][rows] <= end_us
            return tuple(positions[inside] for positions in self._rows(rows))
        return self._rows(rows)

    def cuts(self, end_us: int) -> bool:
        """Whether rows that began inside a window may have ended after it."""
        return self.has_span and self.newest_us is not None and self.newest_us > end_us

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
        start = int(np.searchsorted(columns[0], self._before_us))
        return [column[start:] for column in columns] if start else columns

    def _merge(self, columns: list[NDArray[np.int64]], beside: list[list[NDArray[Any]]]) -> None:
        self._reserve(len(columns[0]))
        after = self._start + int(np.searchsorted(self.oldest, columns[0][0], side="right"))
        stop = self._stop + len(columns[0])
        given = [*columns, *(column for part in beside for column in part)]
        if after == self._stop:
            for array, column in zip(self._all_arrays(), given, strict=True):
                array[after:stop] = column
        else:
            tail = np.concatenate((self._arrays[0][after : self._stop], columns[0]))
            order = np.argsort(tail, kind="stable")
            for array, column in zip(self._all_arrays(), given, strict=True):
                array[after:stop] = np.concatenate((array[after : self._stop], column))[order]
        self._stop = stop

    def _reserve(self, count: int) -> None:
        if self._stop + count <= len(self._arrays[0]):
            return
        kept = self._stop - self._start
        capacity = len(self._arrays[0])
        while 3 * (kept + count) > 2 * capacity:
            capacity *= 2
        for arrays in (self._arrays, *(lanes.arrays for lanes in self._lanes)):
            for at, array in enumerate(arrays):
                grown = np.empty(capacity, array.dtype)
                grown[:kept] = array[self._start : self._stop]
                arrays[at] = grown
        self._start, self._stop = 0, kept

    def _all_arrays(self) -> list[NDArray[Any]]:
        return [*self._arrays, *(array for lanes in self._lanes for array in lanes.arrays)]
