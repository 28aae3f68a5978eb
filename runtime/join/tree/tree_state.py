"""The state of one input of a join in a tree: rows by number, with indexes over their join values.

A row is a tuple of one item, or a partial combination. It is *active* when the join above may use it: then it is in all
indexes. It may instead be *parked* at a gate, which knows why (`feedback.py`): then it is in that gate's chains only.
Everything here is derived from base tuples; rows that can meet no future tuple are dropped in bulk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.join.tree.tree_kernels import (
    ACTIVE,
    find_absent,
    link_rows,
    living,
    park_rows,
    wake_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LEAST_ROOM = 256
KeyColumn = tuple[int, int]  # an item and the number of one of its key forms


class TreeState:
    """Rows over `items`, from left to right; `keys[row, k]` is the join value of `key_columns[k]`."""

    def __init__(
        self,
        items: Sequence[int],
        key_columns: Sequence[KeyColumn],
        words: int,
        dead: NDArray[np.int64],
    ) -> None:
        """`dead[place]`: tuples older than the one and before the other (an event time and a position) meet no future tuple.

        A tuple that comes late may be that old and still meets those that are there. The owner moves `dead` on.
        """
        self.items = tuple(items)
        self.key_columns = tuple(key_columns)
        self.dead = dead
        self.count = 0
        self._words = words
        self._indexes: list[NDArray[np.int64]] = []  # the key columns of each
        self._users: list[int] = []
        self._waiting: list[NDArray[np.int64]] = []  # the key columns of each gate
        self.parked: list[int] = []  # how many rows wait at each gate
        self._gather_columns()
        self._allocate(_LEAST_ROOM)
        self.full_at = _LEAST_ROOM  # rows, when dead ones are looked for

    @property
    def room(self) -> int:
        return len(self.lineage)

    def columns(self, wanted: Sequence[KeyColumn]) -> NDArray[np.int64]:
        """The numbers of key columns."""
        return np.array([self.key_columns.index(each) for each in wanted], np.int64)

    def add_index(self, columns: NDArray[np.int64]) -> int:
        """An index over key columns; before there are rows. The same columns share one."""
        for number, existing in enumerate(self._indexes):
            if np.array_equal(existing, columns):
                self._users[number] += 1
                return number
        self._indexes.append(columns)
        self._users.append(1)
        self._gather_columns()
        self._allocate(self.room)
        return len(self._indexes) - 1

    def release_index(self, index: int) -> None:
        """One user less; an index without users is not kept up."""
        self._users[index] -= 1
        self._gather_columns()

    def take_index(self, index: int) -> None:
        """One user more; an index that was not kept up is made anew."""
        self._users[index] += 1
        self._gather_columns()
        if self._users[index] == 1:
            self.heads[index] = -1
            self._link(self.active_rows(), np.array([index], np.int64))

    def add_gate(self, columns: NDArray[np.int64]) -> int:
        """Chains of rows that wait for the value in these key columns; before there are rows."""
        self._waiting.append(columns)
        self.parked.append(0)
        self._allocate(self.room)
        return len(self._waiting) - 1

    def reserve(self, rows: int) -> None:
        """Make room for that many more rows."""
        room = self.room
        while self.count + rows > room:
            room *= 2
        if room > self.room:
            self._move(np.arange(self.count), room)

    def activate(self, rows: NDArray[np.int64], clock: int) -> None:
        """Let the join above and whoever waits find the rows, from the time `clock` on."""
        self.where[rows] = ACTIVE
        self.since[rows] = clock
        self._link(rows, self._used)

    def _link(self, rows: NDArray[np.int64], indexes: NDArray[np.int64]) -> None:
        link_rows(
            rows, self.keys, indexes, *self._all_columns, self.heads, self.following, self.shift
        )

    def park(self, gate: int, rows: NDArray[np.int64]) -> None:
        """Keep rows until their value is there."""
        self.where[rows] = gate
        self.parked[gate] += len(rows)
        park_rows(
            rows, self.keys, self._waiting[gate], self.parked_heads[gate], self.next_parked, self.shift
        )  # fmt: skip

    def wake(
        self,
        gate: int,
        rows: NDArray[np.int64],
        keys: NDArray[np.int64],
        columns: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Take the rows that wait for a value that one of the given rows (of another state) has."""
        woken = np.empty(self.parked[gate], np.int64)
        count = wake_rows(
            rows, keys, columns, self.keys, self._waiting[gate],
            self.parked_heads[gate], self.next_parked, self.shift, woken,
        )  # fmt: skip
        self.parked[gate] -= count
        self.where[woken[:count]] = _PENDING
        return woken[:count]

    def absent(
        self,
        index: int,
        rows: NDArray[np.int64],
        keys: NDArray[np.int64],
        columns: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """For which of the given rows (of another state) no living row here has the value."""
        missing = np.empty(len(rows), np.bool_)
        find_absent(
            rows, keys, columns, self.rows, self._indexes[index], self.index(index), missing
        )
        return missing

    def index(self, number: int) -> tuple[Any, ...]:
        """A RowIndex, for kernels."""
        return self.heads[number], self.following, number, self.shift

    def index_columns(self, index: int) -> NDArray[np.int64]:
        return self._indexes[index]

    def active_rows(self) -> NDArray[np.int64]:
        """All rows that are in the indexes."""
        rows: NDArray[np.int64] = np.flatnonzero(self.where[: self.count] == ACTIVE)
        return rows

    def drop_dead(self) -> bool:
        """Forget dead rows, when enough came since the last time; whether rows were numbered anew."""
        if self.count < self.full_at:
            return False
        kept = living(self.positions, self.ts, 0, self.count, self.dead)
        kept = kept[self.where[kept] != _GONE]
        room = _LEAST_ROOM
        while room < 2 * len(kept):
            room *= 2
        self._move(kept, room)
        self.full_at = 2 * len(kept) + _LEAST_ROOM
        return True

    def forget(self, rows: NDArray[np.int64]) -> None:
        """Rows that will never be asked for."""
        self.where[rows] = _GONE

    def clear(self) -> None:
        """Forget all rows of a state without indexes."""
        self.count = 0

    def keep_tail(self, begin: int, kept: NDArray[np.int64]) -> None:
        """Of the rows from `begin` on, which are in no index yet, keep some (numbers from `begin`)."""
        end = begin + len(kept)
        rows = begin + kept
        self.positions[:, begin:end] = self.positions[:, rows]
        self.ts[:, begin:end] = self.ts[:, rows]
        self.lineage[begin:end] = self.lineage[rows]
        self.keys[begin:end] = self.keys[rows]
        self.count = end

    def _gather_columns(self) -> None:
        """The key columns of all indexes in one array, and how many each has."""
        widths = np.array([len(each) for each in self._indexes], np.int64)
        columns = np.zeros((len(widths), max(widths, default=0)), np.int64)
        for number, each in enumerate(self._indexes):
            columns[number, : len(each)] = each
        self._all_columns = columns, widths
        self._used = np.flatnonzero(np.array(self._users, np.int64))

    def _allocate(self, room: int) -> None:
        places = len(self.items)
        self.positions = np.empty((places, room), np.int64)
        self.ts = np.empty((places, room), np.int64)
        self.lineage = np.empty((room, self._words), np.uint64)
        self.keys = np.empty((room, len(self.key_columns)), np.int64)
        self.where = np.full(room, _PENDING, np.int16)
        self.since = np.empty(room, np.int64)
        self.following = np.empty((room, len(self._indexes)), np.int64)
        self.next_parked = np.empty(room, np.int64)
        self.shift = 64 - (room.bit_length() - 1)
        self.heads = np.full((len(self._indexes), room), -1, np.int64)
        self.parked_heads = np.full((len(self._waiting), room), -1, np.int64)
        arrays = (
            self.positions, self.ts, self.lineage, self.keys, self.where, self.since,
            self.following, self.next_parked, self.heads, self.parked_heads,
        )  # fmt: skip
        # TreeRows, for kernels.
        self.rows = (
            self.positions, self.ts, self.lineage, self.keys, self.where, self.since, self.dead,
        )  # fmt: skip
        self.nbytes = sum(int(each.nbytes) for each in arrays)
        self.row_bytes = self.nbytes // room  # what one row takes, indexes included

    def _move(self, kept: NDArray[np.int64], room: int) -> None:
        """Keep some rows in arrays with room, in their order, and chain them anew."""
        old = (self.positions, self.ts, self.lineage, self.keys, self.where, self.since)
        self._allocate(room)
        count = self.count = len(kept)
        self.positions[:, :count] = old[0][:, kept]
        self.ts[:, :count] = old[1][:, kept]
        self.lineage[:count] = old[2][kept]
        self.keys[:count] = old[3][kept]
        where = self.where[:count] = old[4][kept]
        self.since[:count] = old[5][kept]
        self.parked = [0] * len(self._waiting)
        self._link(np.flatnonzero(where == ACTIVE), self._used)
        for gate in range(len(self._waiting)):
            self.park(gate, np.flatnonzero(where == gate))


_GONE = -2
_PENDING = (
    -3
)  # made or woken, and neither active nor parked yet: when rows move, nobody may find it
