"""What a guard over one tuple watches: a cell for each tuple and rule, side by side.

Tuples that wait lie close together in their state, and a tuple is mostly of several rules, so the cell of (rule, tuple) is found
by counting and not by hashing (`guard_entries`). Of a guard that asks for something to be there a cell is the smallest time of a mark
(here); of one that asks for nothing to be there it is a bit (`tuple_bits`).

    room for 3 rules        rule 1 of tuple 42 is cell 42 * 3 + 1

Cells are counted from the first tuple that ever was, though only those of the last ones are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.absence.guard_entries import FAR_US, GuardEntries, lower

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.state.shared_state import SharedState

    Change = Callable[[NDArray[np.int64]], NDArray[np.int64]]

_SMALLEST = 256
_MOST_BYTES = 1 << 27  # with more, cells that nobody uses cost more than hashing


class TupleCells(ABC):
    """The cells of one guard: arrays with a row for each tuple, whatever a row holds."""

    def __init__(self) -> None:
        self._stride = self._room_for(1)  # rules that a row has room for
        self._base = 0
        self._used = 0  # tuples
        self._look_again = 0  # with so many it is worth to see who is old
        self._arrays = self._made(_SMALLEST)

    @abstractmethod
    def _room_for(self, rules: int) -> int:
        """For how many rules a row is made that must hold so many."""

    @abstractmethod
    def _made(self, tuples: int) -> list[NDArray[Any]]:
        """Arrays with empty rows."""

    def __len__(self) -> int:
        """How many tuples have cells."""
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the cells."""
        return sum(int(each.nbytes) for each in self._arrays)

    @property
    def is_large(self) -> bool:
        """Whether hashing would be better."""
        return self.nbytes > _MOST_BYTES

    def add(self, keys: NDArray[np.int64], times_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells of keys [row, rule and position]."""
        del times_us
        if not len(keys):
            return np.zeros(0, np.int64)
        self.have(keys[:, 1])
        cells: NDArray[np.int64] = keys[:, 1] * self._stride + keys[:, 0]
        return cells

    def have(self, positions: NDArray[np.int64]) -> None:
        """Make rows for tuples (at least one)."""
        least = int(positions.min())
        if not self._used:
            self._base = least
        elif least < self._base:
            self._begin_at(least)
        tuples = int(positions.max()) + 1 - self._base
        if tuples > len(self._arrays[0]):
            self._move(self._made(max(2 * tuples, _SMALLEST)), 0, 0, self._used)
        self._used = max(self._used, tuples)

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same; -1 where there are none."""
        positions = keys[:, 1]
        known = (positions >= self._base) & (positions < self._base + self._used)
        return np.where(known, positions * self._stride + keys[:, 0], -1)

    # Cells move

    def widen(self, rules: int) -> Change | None:
        """Have cells for more rules; where those that were there are now."""
        if rules <= self._stride:
            return None
        before, wider = self._stride, self._room_for(max(rules, self._stride * 5 // 4))
        self._stride = wider
        self._move(self._made(max(self._used, _SMALLEST)), 0, 0, self._used)
        return lambda cells: np.where(cells < 0, -1, cells // before * wider + cells % before)

    def forget(self, before_us: int, state: SharedState) -> None:
        """Drop the cells of older tuples, when these are half of all."""
        if self._used < max(self._look_again, _SMALLEST):
            return
        end = self._base + self._used
        first = min(max(self._base, state.first), end)
        young = state.ts_at(np.arange(first, end)) >= before_us
        gone = (first - self._base) + (int(young.argmax()) if young.any() else len(young))
        self._look_again = self._used + self._used // 4
        if 2 * gone < self._used:
            return
        left = self._used - gone
        self._move(self._made(max(2 * left, _SMALLEST)), gone, 0, left)
        self._base, self._used = self._base + gone, left
        self._look_again = 2 * left

    @abstractmethod
    def hashed(self, state: SharedState) -> GuardEntries:
        """The same cells as entries that are found by hashing."""

    def _begin_at(self, position: int) -> None:
        """Have cells for older tuples too: a mark may speak of one that nobody waits for."""
        more = self._base - position
        self._move(self._made(max(self._used + more, _SMALLEST)), 0, more, self._used)
        self._base, self._used = position, self._used + more

    def _move(self, arrays: list[NDArray[Any]], begin: int, to: int, count: int) -> None:
        """Take other arrays, with so many of the rows that are there."""
        for old, new in zip(self._arrays, arrays, strict=True):
            new[to : to + count, : old.shape[1]] = old[begin : begin + count]
        self._arrays = arrays

    def _keys_of(
        self, rows: NDArray[np.int64], rules: NDArray[np.int64], state: SharedState
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The keys of some cells, and which of them are of tuples that are there."""
        positions = self._base + rows
        return np.stack((rules, positions), axis=1), positions >= state.first


class TupleEntries(TupleCells):
    """The cells of a guard that asks for something to be there: the smallest time of a mark, FAR_US while there is none."""

    def _room_for(self, rules: int) -> int:
        return rules

    def _made(self, tuples: int) -> list[NDArray[Any]]:
        return [np.full((tuples, self._stride), FAR_US, np.int64)]

    def best_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The smallest time of a mark of each."""
        best: NDArray[np.int64] = self._flat()[cells - self._base * self._stride]
        return best

    def mark(self, cells: NDArray[np.int64], times_us: NDArray[np.int64]) -> None:
        """Let marks reach cells (-1 is nobody) at some times."""
        if len(cells) and cells.min() < 0:
            known = cells >= 0
            cells, times_us = cells[known], times_us[known]
        lower(self._flat(), cells - self._base * self._stride, times_us)

    def is_reached(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a mark has reached each."""
        reached: NDArray[np.bool_] = self.best_of(cells) < FAR_US
        return reached

    def seal(self, cells: NDArray[np.int64]) -> None:
        """Only what is missing is sealed."""

    def is_sealed(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Nothing is."""
        return np.zeros(len(cells), np.bool_)

    def hashed(self, state: SharedState) -> GuardEntries:
        """The same cells as entries that are found by hashing."""
        found = GuardEntries(1)
        rows, rules = np.nonzero(self._arrays[0][: self._used] < FAR_US)
        keys, there = self._keys_of(rows, rules, state)
        keys, best = keys[there], self._arrays[0][rows, rules][there]
        found.mark(found.add(keys, state.ts_at(keys[:, 1])), best)
        return found

    def _flat(self) -> NDArray[np.int64]:
        return self._arrays[0].reshape(-1)
