"""Entries: what is known of a key for an alert, by column.

An entry is there while its key is pending or firing for the alert, and as long as ONCE EVERY looks back at what was delivered.
Entries that are over are used again when their key comes back, and dropped together when there are many of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.alerts.alert_kernels import link_entries, remember

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_SIZE = 64
_TIMES = 4  # since, last observation, first good one since the last bad one, last delivery


class Entries:
    """All entries of alerts that have their keys in common."""

    def __init__(self) -> None:
        self.count = 0
        self.keys = np.zeros(_FIRST_SIZE, np.int64)
        self.alert_of = np.zeros(_FIRST_SIZE, np.int64)
        self.links = np.full(_FIRST_SIZE, -1, np.int64)
        self.times = np.zeros((_FIRST_SIZE, _TIMES), np.int64)
        self.counts = np.zeros(_FIRST_SIZE, np.int64)
        self.states = np.zeros(_FIRST_SIZE, np.int8)
        self.marks = np.zeros(_FIRST_SIZE, np.int8)
        self.lasts = np.zeros(_FIRST_SIZE, np.int64)  # numbers of kept rows
        self.heads = np.full(_FIRST_SIZE, -1, np.int64)  # by key

    def reserve(self, more: int, keys: int) -> None:
        """Room for more entries, and for so many keys."""
        if self.count + more > len(self.alert_of):
            self._resize(2 * (self.count + more))
        if keys > len(self.heads):
            grown = np.full(2 * keys, -1, np.int64)
            grown[: len(self.heads)] = self.heads
            self.heads = grown

    def _resize(self, size: int) -> None:
        for name in ("keys", "alert_of", "links", "times", "counts", "states", "marks", "lasts"):
            old = getattr(self, name)
            grown = np.zeros(
                (size, *old.shape[1:]), old.dtype
            )  # memory that nobody has touched costs nothing
            grown[: self.count] = old[: self.count]
            setattr(self, name, grown)

    def remembered(self, terms: NDArray[np.int64], now_us: int) -> tuple[NDArray[np.bool_], int]:
        """Which entries are still needed when only observations from an instant on can come, and how many."""
        needed = np.empty(self.count, np.bool_)
        live = remember(self.alert_of[: self.count], terms, self.times, self.states, now_us, needed)
        return needed, live

    def keep(self, entries: NDArray[np.int64], keys: NDArray[np.int64], key_count: int) -> None:
        """Only these stay, with other numbers for their keys."""
        count = len(entries)
        for name in ("alert_of", "times", "counts", "states", "marks", "lasts"):
            own = getattr(self, name)
            kept = own[entries].copy()
            own[count : self.count] = 0
            own[:count] = kept
        self.keys[:count] = keys
        self.count = count
        self.link(key_count)

    def link(self, key_count: int) -> None:
        """Make the chains of the keys anew."""
        self.heads = np.full(max(2 * key_count, _FIRST_SIZE), -1, np.int64)
        order = np.argsort(-self.alert_of[: self.count], kind="stable")
        link_entries(self.keys, self.alert_of, order, self.heads, self.links)

    @property
    def nbytes(self) -> int:
        """What they take."""
        return 96 * len(self.alert_of) + 8 * len(self.heads)
