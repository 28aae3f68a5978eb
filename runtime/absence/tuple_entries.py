"""What a guard over one tuple watches: a cell for each tuple and rule, side by side.

Tuples that wait lie close together in their state, and a tuple is mostly of several rules, so the cell of (rule, tuple) is found
by counting and not by hashing (`guard_entries`). A cell of a guard that asks for what is missing says whether a mark has reached
it; of the other kind, the smallest time of a mark.

    3 rules        rule 1 of tuple 42 is cell 42 * 3 + 1

Cells are counted from the first tuple that ever was, though only those of the last ones are kept.
"""

from __future__ import annotations

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
_REACHED, _SEALED = 1, 2


class TupleEntries:
    """The cells of one guard. `has_times`: the time of the first mark counts, and not only that there is one."""

    def __init__(self, *, has_times: bool) -> None:
        self._has_times = has_times
        self._stride = 1
        self._base = 0
        self._used = 0  # tuples
        self._look_again = 0  # with so many it is worth to see who is old
        self._cells: NDArray[Any] = self._made(_SMALLEST)

    def __len__(self) -> int:
        return self._used * self._stride

    def _made(self, tuples: int) -> NDArray[Any]:
        count = tuples * self._stride
        return np.full(count, FAR_US, np.int64) if self._has_times else np.zeros(count, np.uint8)

    @property
    def nbytes(self) -> int:
        """Memory of the cells."""
        return int(self._cells.nbytes)

    @property
    def is_large(self) -> bool:
        """Whether hashing would be better."""
        return self.nbytes > _MOST_BYTES

    def best_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The smallest time of a mark of each, where times count."""
        best: NDArray[np.int64] = self._cells[cells - self._base * self._stride]
        return best

    def add(self, keys: NDArray[np.int64], times_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells of keys [row, rule and position]."""
        del times_us
        if not len(keys):
            return np.zeros(0, np.int64)
        positions = keys[:, 1]
        if not self._used:
            self._base = int(positions.min())
        elif (least := int(positions.min())) < self._base:
            self._begin_at(least)
        self._reserve(int(positions.max()) + 1 - self._base)
        cells: NDArray[np.int64] = positions * self._stride + keys[:, 0]
        return cells

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same; -1 where there are none."""
        positions = keys[:, 1]
        known = (positions >= self._base) & (positions < self._base + self._used)
        return np.where(known, positions * self._stride + keys[:, 0], -1)

    def mark(self, cells: NDArray[np.int64], times_us: NDArray[np.int64]) -> None:
        """Let marks reach cells (-1 is nobody) at some times."""
        if len(cells) and cells.min() < 0:
            known = cells >= 0
            cells, times_us = cells[known], times_us[known]
        places = cells - self._base * self._stride
        if self._has_times:
            lower(self._cells, places, times_us)
        else:
            self._cells[places] |= _REACHED

    def is_reached(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a mark has reached each."""
        found = self._cells[cells - self._base * self._stride]
        reached: NDArray[np.bool_] = found < FAR_US if self._has_times else (found & _REACHED) > 0
        return reached

    def seal(self, cells: NDArray[np.int64]) -> None:
        """Remember that these were delivered as missing when an input had ended."""
        if not self._has_times:
            self._cells[cells - self._base * self._stride] |= _SEALED

    def is_sealed(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether they were (-1 was not)."""
        found = np.zeros(len(cells), np.bool_)
        if not self._has_times:
            known = cells >= 0
            places = cells[known] - self._base * self._stride
            found[known] = (self._cells[places] & _SEALED) > 0
        return found

    # Cells move

    def widen(self, rules: int) -> Change | None:
        """Have cells for more rules; where those that were there are now."""
        if rules <= self._stride:
            return None
        before, wider = self._stride, max(rules, self._stride * 5 // 4)
        kept = self._cells[: self._used * before].reshape(self._used, before)
        self._stride = wider
        self._cells = self._made(max(self._used, _SMALLEST))
        self._cells[: self._used * wider].reshape(self._used, wider)[:, :before] = kept
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
        left, shift = self._used - gone, gone * self._stride
        cells = self._made(max(2 * left, _SMALLEST))
        cells[: left * self._stride] = self._cells[shift : self._used * self._stride]
        self._cells, self._base, self._used = cells, self._base + gone, left
        self._look_again = 2 * left

    def hashed(self, state: SharedState) -> GuardEntries:
        """The same cells as entries that are found by hashing."""
        found = GuardEntries(1)
        empty = FAR_US if self._has_times else 0
        cells = np.flatnonzero(self._cells[: self._used * self._stride] != empty)
        positions = self._base + cells // self._stride
        cells, positions = cells[positions >= state.first], positions[positions >= state.first]
        keys = np.stack((cells % self._stride, positions), axis=1)
        entries = found.add(keys, state.ts_at(positions))
        values = self._cells[cells]
        if self._has_times:
            found.mark(entries, values)
            return found
        reached = entries[(values & _REACHED) > 0]
        found.mark(reached, np.zeros(len(reached), np.int64))
        found.seal(entries[(values & _SEALED) > 0])
        return found

    def _begin_at(self, position: int) -> None:
        """Have cells for older tuples too: a mark may speak of one that nobody waits for."""
        more = self._base - position
        cells = self._made(max(self._used + more, _SMALLEST))
        cells[more * self._stride : (more + self._used) * self._stride] = self._cells[
            : self._used * self._stride
        ]
        self._cells, self._base, self._used = cells, position, self._used + more

    def _reserve(self, tuples: int) -> None:
        if tuples * self._stride > len(self._cells):
            cells = self._made(max(2 * tuples, _SMALLEST))
            cells[: self._used * self._stride] = self._cells[: self._used * self._stride]
            self._cells = cells
        self._used = max(self._used, tuples)
