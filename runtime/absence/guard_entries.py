"""What a guard watches: tuples by their positions, and the smallest time at which a mark has reached them.

A key is the rule (a query among those that share a node) and the positions of the watched tuples. Keys are found by hashing, with
linear probing; entries lie in the order in which they came and are given up in bulk, when their tuples are past.

    marks at 105 and 103 for rule 0, tuple 7        the entry of (0, 7) has 103; FAR_US while there is none
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.state.key_table import enter, locate

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR_US = 2**63 - 1
_SMALLEST = 256


class GuardEntries:
    """The entries of one guard. `width` is the number of watched tuples."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._keys = np.zeros((_SMALLEST, width + 1), np.int64)
        self._table = np.full(2 * _SMALLEST, -1, np.int64)
        self.best = np.full(_SMALLEST, FAR_US, np.int64)  # by entry
        self.times = np.zeros(_SMALLEST, np.int64)  # the latest event time of the watched tuples
        self.sealed = np.zeros(_SMALLEST, np.bool_)  # delivered as missing when an input had ended
        self._used = 0
        self._look_again = 0  # with so many entries it is worth to see who is old

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the entries."""
        arrays = (self._keys, self._table, self.best, self.times, self.sealed)
        return sum(int(each.nbytes) for each in arrays)

    def add(self, keys: NDArray[np.int64], times_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """The entries of keys [row, rule and positions], made where there are none."""
        self._reserve(len(keys))
        found, self._used = locate(keys, self._keys, self._table, self._used, True)
        self.times[found] = times_us
        return np.asarray(found)

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The entries of keys; -1 where there are none."""
        found, _ = locate(keys, self._keys, self._table, self._used, False)
        return np.asarray(found)

    def mark(self, entries: NDArray[np.int64], times_us: NDArray[np.int64]) -> None:
        """Let marks reach entries (-1 is nobody) at some times."""
        lower(self.best, entries, times_us)

    def best_of(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """The smallest time of a mark of each."""
        return self.best[entries]

    def is_reached(self, entries: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a mark has reached each."""
        reached: NDArray[np.bool_] = self.best[entries] < FAR_US
        return reached

    def seal(self, entries: NDArray[np.int64]) -> None:
        """Remember that these were delivered as missing when an input had ended."""
        self.sealed[entries] = True

    def is_sealed(self, entries: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether they were (-1 was not)."""
        sealed: NDArray[np.bool_] = self.sealed[entries] & (entries >= 0)
        return sealed

    def forget(self, before_us: int) -> NDArray[np.int64] | None:
        """Give up entries whose tuples are all older, when half of them are; where the others are now (-1: gone)."""
        if self._used < self._look_again:
            return None
        self._look_again = self._used + self._used // 4
        kept = self.times[: self._used] >= before_us
        left = int(kept.sum())
        if self._used < 2 * _SMALLEST or 2 * left > self._used:
            return None
        capacity = len(self.best)  # as many will come again
        if capacity > 8 * left:
            capacity = max(_SMALLEST, 4 * left)
        return self._keep(kept, left, capacity)

    def _keep(self, kept: NDArray[np.bool_], left: int, capacity: int) -> NDArray[np.int64]:
        """Give up all others; where those that are kept are now (-1: gone)."""
        moved = np.where(kept, np.cumsum(kept) - 1, -1)
        keys, best = self._keys[: self._used][kept], self.best[: self._used][kept]
        times, sealed = self.times[: self._used][kept], self.sealed[: self._used][kept]
        self._lay_out(capacity)
        self._keys[:left], self.best[:left] = keys, best
        self.times[:left], self.sealed[:left] = times, sealed
        self._used = left
        self._look_again = 2 * left
        enter(self._keys, self._table, left)
        return np.asarray(moved)

    def _reserve(self, count: int) -> None:
        needed = self._used + count
        if needed <= len(self.best):
            return
        used = self._used
        keys, best, times, sealed = (
            each[:used] for each in (self._keys, self.best, self.times, self.sealed)
        )
        self._lay_out(self._room_for(needed))
        self._keys[:used], self.best[:used] = keys, best
        self.times[:used], self.sealed[:used] = times, sealed
        enter(self._keys, self._table, used)

    def _room_for(self, needed: int) -> int:
        return 1 << (2 * needed - 1).bit_length()

    def _slots_for(self, capacity: int) -> int:
        return 2 << (capacity - 1).bit_length()

    def _lay_out(self, capacity: int) -> None:
        self._keys = np.zeros((capacity, self._width + 1), np.int64)
        self._table = np.full(self._slots_for(capacity), -1, np.int64)
        self.best = np.full(capacity, FAR_US, np.int64)
        self.times = np.zeros(capacity, np.int64)
        self.sealed = np.zeros(capacity, np.bool_)


@njit(cache=True, nogil=True)
def lower(best, entries, times):  # type: ignore[no-untyped-def]
    """best[entry] = the least of it and the times of its marks."""
    for row in range(len(entries)):
        entry = entries[row]
        if entry >= 0 and times[row] < best[entry]:
            best[entry] = times[row]


@njit(cache=True, nogil=True)
def lift(latest, entries, times):  # type: ignore[no-untyped-def]
    """latest[entry] = the greatest of it and the times of its rows."""
    for row in range(len(entries)):
        if times[row] > latest[entries[row]]:
            latest[entries[row]] = times[row]


def warm() -> None:
    """Compile this module's kernels."""
    lift(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    entries = GuardEntries(1)
    found = entries.add(np.zeros((1, 2), np.int64), np.zeros(1, np.int64))
    entries.mark(entries.find(np.zeros((1, 2), np.int64)), found)
