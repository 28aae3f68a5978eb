"""A gate before one input of a producing join: rows wait there while nobody further up asks for what they would make.

The rows will later, as parts of the producer's results, meet the opposite state of a consumer. While that state has no row with
a row's join values (the paper's minimal non-demanded sub-tuple, Type I; without common values: while the state is empty) nothing
made of the row is of use, so it is parked, by value: the blacklist. The chains of the values are the consumer's buffer of what
it suspended as well. New rows with such a value go straight there. When the value appears the rows are resumed and join what is active
then. They were in no index before, so each pair of rows meets once, when the later becomes active.

    (A join B) join C, on A.y = C.y: a1(y=100) waits at the gate A -> C until a C with y=100 comes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.join.tree.tree_kernels import find_absent_by_bloom, set_bloom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.tree.tree_state import KeyColumn, TreeState


class Gate:
    """Rows of `waiter` wait for values in `awaited`; `waiter_columns[k]` must equal `awaited_columns[k]`."""

    def __init__(
        self,
        waiter: TreeState,
        waiter_columns: Sequence[KeyColumn],
        awaited: TreeState,
        awaited_columns: Sequence[KeyColumn],
        *,
        bloom: bool,
        permanent: bool,
    ) -> None:
        """`permanent`: the awaited rows are of static tables."""
        self.waiter = waiter
        self.awaited = awaited
        self.permanent = permanent
        self.checked = self.parked = self.resumed = 0
        self.is_on = True
        self._columns = waiter.columns(waiter_columns)
        self._awaited_columns = awaited.columns(awaited_columns)
        self._number = waiter.add_gate(self._columns)
        self._bloom = Bloom(awaited, self._awaited_columns) if bloom else None
        self._index = -1 if bloom else awaited.add_index(self._awaited_columns)

    @property
    def waiting(self) -> int:
        """How many rows wait here now."""
        return self.waiter.parked[self._number]

    def hold(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Park the rows whose value is not there; the others."""
        if self._bloom is not None:
            absent = self._bloom.absent(rows, self.waiter.keys, self._columns)
        else:
            absent = self.awaited.absent(self._index, rows, self.waiter.keys, self._columns)
        held = rows[absent]
        self.checked += len(rows)
        if not len(held):
            return rows
        self.parked += len(held)
        if self.permanent:
            self.waiter.forget(held)
        else:
            self.waiter.park(self._number, held)
        return rows[~absent]

    def switch(self, *, is_on: bool) -> None:
        """Stop or start to hold rows; those that wait are still resumed. Only where presence is asked of an index."""
        self.is_on = is_on
        if is_on:
            self.awaited.take_index(self._index)
        else:
            self.awaited.release_index(self._index)

    def resume(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows that waited for a value of the rows that became active in the awaited state."""
        if self._bloom is not None:
            self._bloom.add(rows)
        if not self.waiting:
            return rows[:0]
        woken = self.waiter.wake(self._number, rows, self.awaited.keys, self._awaited_columns)
        self.resumed += len(woken)
        return woken

    def renew(self) -> None:
        """The rows of the awaited state were numbered anew, and some have gone."""
        if self._bloom is not None:
            self._bloom.fill()


class Bloom:
    """A blocked Bloom filter over the active rows of a state: sure when it says that a value is absent."""

    def __init__(self, state: TreeState, columns: NDArray[np.int64]) -> None:
        self._state = state
        self._columns = columns
        self.fill()

    def fill(self) -> None:
        """Start anew with the rows that are active now, with 16 bits or more for each."""
        words = 256
        while words < self._state.room // 4:
            words *= 2
        self._bits = np.zeros(words, np.uint64)
        self._shift = 64 - (words.bit_length() - 1)
        self._noted = 0
        self.add(self._state.active_rows())

    def add(self, rows: NDArray[np.int64]) -> None:
        """Note rows that became active."""
        self._noted += len(rows)
        if self._noted > 8 * len(self._bits):
            self.fill()
            return
        set_bloom(rows, self._state.keys, self._columns, self._bits, self._shift)

    def absent(
        self, rows: NDArray[np.int64], keys: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        missing = np.empty(len(rows), np.bool_)
        find_absent_by_bloom(rows, keys, columns, self._bits, self._shift, missing)
        return missing
