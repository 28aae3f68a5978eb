"""Where the findings of an operator's slots go, as arrays.

A packet may hit thousands of slots, each of one query. Asking a dictionary about each of them would cost more than the join,
so the answers are kept by slot: the SELECT list whose group the slot's only query is in, and the query's name. Slots with
several queries, and slots not asked about yet, have marks of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKNOWN, NOBODY, SEVERAL = -1, -2, -3


class Addresses:
    """The slots of one operator."""

    def __init__(self, table: object) -> None:
        self.table = table  # held, so that its identity stays its own
        self.changes_seen = 0
        self._lists: NDArray[np.int64] = np.full(64, UNKNOWN, np.int64)
        self._names: NDArray[np.object_] = np.empty(64, np.object_)

    def lists(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each slot (ascending) the number of its SELECT list, or a mark."""
        if len(slots) and slots[-1] >= len(self._lists):
            self._grow(int(slots[-1]) + 1)
        return self._lists[slots]

    def names(self, slots: NDArray[np.int64]) -> list[str]:
        """The queries of slots that have one."""
        names: list[str] = self._names[slots].tolist()
        return names

    def learn(self, slot: int, number: int, name: str | None = None) -> None:
        """What was found out about a slot."""
        self._lists[slot] = number
        self._names[slot] = name

    def forget(self, slot: int) -> None:
        """The queries of a slot have changed."""
        if slot < len(self._lists):
            self.learn(slot, UNKNOWN)

    def _grow(self, size: int) -> None:
        size = max(size, 2 * len(self._lists))
        lists, names = np.full(size, UNKNOWN, np.int64), np.empty(size, np.object_)
        lists[: len(self._lists)] = self._lists
        names[: len(self._names)] = self._names
        self._lists, self._names = lists, names
