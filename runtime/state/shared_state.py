"""Shared state: the base tuples of one stream or table, kept once however many queries need them (CACQ's SteM).

Tuples are by column and numbered by a growing position. What a query needs beside them is made when the first such query
comes: hash chains per join column, values for theta lists, lineage words per host. All of it can be rebuilt from the columns.

Purging drops a prefix of the positions. Tuples arrive nearly in event-time order: the running maximum of event time tells
up to which position everything is old enough, so a late straggler delays the purge of what came after it by a moment.

    position   0   1   2   3        purge(before 12): positions 0 and 1 go;
    event time 10  11  14  12       13 would also free 2 and 3 only together, when 14 is old
    running max 10 11  14  14
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import DTYPES
from cqc.runtime.columns.packet import Packet
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US
from cqc.runtime.state.hash_chains import KEY, NO_ROWS, HashChains, KeyKind, link
from cqc.runtime.state.lanes import ColumnLane, Lane, NumberBlock, NumberLane, TextLane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.columns import Column

_LEAST_CAPACITY = 1024
_SPARSE = 8  # so much of what there is may be unused before it is given back


class SharedState:
    """Tuples at positions first..head-1; the entry of position p is at index p - base of every lane."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.first = 0
        self.head = 0
        self.base = 0
        self.is_picked_from = False  # hardly any tuple of the last packet was stored
        self._capacity = _LEAST_CAPACITY
        self._blocks = {dtype: NumberBlock(dtype) for dtype in dict.fromkeys(DTYPES.values())}
        self._columns: list[ColumnLane] = [
            TextLane(self._capacity, column.type)
            if column.type.held_as_text
            else NumberLane(column.type, self._blocks[DTYPES[column.type]])
            for column in relation.columns
        ]
        for block in self._blocks.values():
            block.allocate(self._capacity)
        # Where every column is a row of a block and no NULL was seen yet: the rows.
        self._number_rows: list[tuple[NumberBlock, int]] | None = None
        if not any(column.type.held_as_text for column in relation.columns):
            types = [DTYPES[column.type] for column in relation.columns]
            rows = range(len(types))
            self._number_rows = [(self._blocks[types[at]], self.block_row(at)) for at in rows]
        self._whole = self._blocks[np.dtype(np.int64)]
        self._real = self._blocks[np.dtype(np.float64)]
        self._ts = Lane(np.zeros(self._capacity, np.int64))
        self._newest = Lane(np.zeros(self._capacity, np.int64))  # running maximum of event time
        self._arrival = Lane(np.zeros(self._capacity, np.int64))
        self._attached: list[Lane] = []
        self.chains = HashChains(self._capacity)
        self._value_columns: dict[int, int] = {}
        self._values = Lane(np.zeros((self._capacity, 0), np.float64))
        self._largest: list[float] = []  # of each value column: the largest magnitude seen
        self.layout = 0  # counts how often an array moved to another place in memory

    def __len__(self) -> int:
        return self.head - self.first

    @property
    def ts(self) -> NDArray[np.int64]:
        """Event times by index."""
        return self._ts.values

    @property
    def newest(self) -> NDArray[np.int64]:
        """The latest event time up to each tuple, by index."""
        return self._newest.values

    @property
    def newest_us(self) -> int:
        """The latest event time that is kept; there must be a tuple."""
        return int(self._newest.values[self.head - 1 - self.base])

    @property
    def values(self) -> NDArray[np.float64]:
        """Columns of theta lists as doubles, `values[index, number]`."""
        return self._values.values

    @property
    def whole_numbers(self) -> NDArray[np.int64]:
        """The columns of whole numbers and instants, `[row, index]`."""
        return self._whole.values

    @property
    def real_numbers(self) -> NDArray[np.float64]:
        """The columns of doubles, `[row, index]`."""
        return self._real.values

    def block_row(self, column: int) -> int:
        """The row of a column that is not text."""
        lane = self._columns[column]
        assert isinstance(lane, NumberLane)
        return lane.row

    @property
    def capacity(self) -> int:
        return self._capacity

    def insert(self, packet: Packet) -> int:
        """Store a packet's tuples, and return the position of the first. NumPy columns are copied, so the packet may be dropped."""
        at, first = self.lay_down(packet), self.head
        chains = self.chains
        rows = chains.whole_rows
        if any(packet.columns[place].valid is not None for place in chains.whole_columns):
            rows = NO_ROWS
        store_derived(
            self._ts.values, self._newest.values, at, len(packet), first == self.first,
            self._whole.values, rows, chains.heads, chains.links, chains.valid, first, chains.shift,
        )  # fmt: skip
        self.take_in(packet, is_chained=len(rows) > 0)
        return first

    def lay_down(self, packet: Packet, *, all_there: bool = False) -> int:
        """Write tuples behind the last one, where they do not count yet, and return the index of the first. `all_there`: no NULL."""
        count = len(packet.ts_us)
        if self.head - self.base + count > self._capacity:
            self._make_room(count)
        at = self.head - self.base
        end = at + count
        columns = packet.columns
        if self._number_rows is not None and all_there:
            for place, (block, row) in enumerate(self._number_rows):
                block.values[row, at:end] = columns[place].values
        else:
            for lane, column in zip(self._columns, columns, strict=True):
                lane.write(at, end, column)
                if column.valid is not None:
                    self._number_rows = None  # from now on lanes know who is NULL
        self._arrival.values[at:end] = packet.arrival
        self._ts.values[at:end] = packet.ts_us
        return at

    def take_in(self, packet: Packet, *, is_chained: bool) -> None:
        """Commit the tuples written by `lay_down`, after `store_derived` was called for them."""
        first = self.head
        if not is_chained:
            self.chains.insert_all(packet.columns, first, self.base)
        self.head = first + len(packet.ts_us)
        for place, number in self._value_columns.items():
            self._write_values(packet.columns[place], number, first - self.base)

    def purge(self, before_us: int) -> int:
        """Forget tuples older than `before_us`, as far as positions allow. Returns how many were forgotten."""
        live = self._newest.values[self.first - self.base : self.head - self.base]
        gone = int(live.searchsorted(before_us))
        self.first += gone
        if gone and self._capacity > _LEAST_CAPACITY and _SPARSE * len(self) <= self._capacity:
            self._give_back()
        return gone

    def _give_back(self) -> None:
        """Let go of memory that most tuples have left, beside what they will need when as many come again."""
        capacity = self._capacity
        while capacity > _LEAST_CAPACITY and 4 * len(self) <= capacity:
            capacity //= 2
        self._relocate(capacity)

    def first_since(self, ts_us: int) -> int:
        """A position such that all tuples before it are older than `ts_us`."""
        live = self._newest.values[self.first - self.base : self.head - self.base]
        return self.first + int(np.searchsorted(live, max(ts_us, BEFORE_ALL_US)))

    def column(self, column: int, positions: NDArray[np.int64]) -> Column:
        """The values of one column at the positions, in their order."""
        return self._columns[column].read(positions - self.base)

    def rows(self, positions: NDArray[np.int64]) -> tuple[Column, ...]:
        """All columns at the positions, in their order."""
        indexes = positions - self.base
        return tuple(lane.read(indexes) for lane in self._columns)

    def rows_when_read(self, positions: NDArray[np.int64] | range) -> Sequence[Column]:
        """The same, each column when it is first looked at. A range is not copied: read it before tuples come or go."""
        if isinstance(positions, range):
            return _Unread(
                self._columns, slice(positions.start - self.base, positions.stop - self.base)
            )
        return _Unread(self._columns, positions - self.base)

    def ts_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Event times at the positions."""
        times: NDArray[np.int64] = self._ts.values[positions - self.base]
        return times

    def arrival_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Arrival numbers at the positions."""
        numbers: NDArray[np.int64] = self._arrival.values[positions - self.base]
        return numbers

    def packet(self, start: int = 0) -> Packet:
        """The tuples kept from a position on, in the order of their positions."""
        positions = np.arange(max(self.first, start), self.head)
        return Packet(self.rows(positions), self.ts_at(positions), self.arrival_at(positions))

    def key_form(self, column: int, kind: KeyKind) -> int:
        """The number of the chains for a key column, made now if there are none."""
        form = self.chains.form(column, kind)
        if form is None:
            form = self.chains.add_form(column, kind, self._whole_row(column))
            self.layout += 1
            kept = self.column(column, np.arange(self.first, self.head))
            self.chains.insert(form, kept, self.first, self.base)
        return form

    def _whole_row(self, column: int) -> int | None:
        """Where a column of whole numbers or instants is in their block; None for columns of other types."""
        is_whole = DTYPES.get(self.relation.columns[column].type) == np.int64
        return self.block_row(column) if is_whole else None

    def value_column(self, column: int) -> int:
        """The number of a column among `values`, stored from now on (and for what is kept) if it was not."""
        number = self._value_columns.get(column)
        if number is None:
            number = len(self._value_columns)
            self._value_columns[column] = number
            wider = np.zeros((self._capacity, number + 1), np.float64)
            wider[:, :number] = self._values.values
            self._values.values = wider
            self.layout += 1
            self._largest.append(0.0)
            kept = self.column(column, np.arange(self.first, self.head))
            self._write_values(kept, number, self.first - self.base)
        return number

    def largest_value(self, column: int) -> float:
        """The largest magnitude ever stored in a value column."""
        return self._largest[self._value_columns[column]]

    def attach(self, lane: Lane) -> None:
        """Keep a lane in step with the tuples; it has `capacity` entries."""
        self._attached.append(lane)

    def detach(self, lane: Lane) -> None:
        self._attached.remove(lane)

    @property
    def bytes(self) -> int:
        """Memory of the tuples and of everything derived from them."""
        lanes: Sequence[Lane | ColumnLane] = (*self._columns, *self._all_lanes())
        return sum(lane.nbytes for lane in lanes) + self.chains.nbytes

    def _all_lanes(self) -> list[Lane]:
        return [self._ts, self._newest, self._arrival, self._values, *self._attached]

    def _write_values(self, column: Column, number: int, at: int) -> None:
        count = len(column.values)
        if not count:
            return
        target = self._values.values[at : at + count, number]
        target[:] = column.values
        if column.type is not ColumnType.DOUBLE:
            self._largest[number] = max(self._largest[number], float(np.abs(target).max()))

    def _make_room(self, count: int) -> None:
        capacity = self._capacity
        while 3 * (len(self) + count) > 2 * capacity:
            capacity *= 2
        self._relocate(capacity)

    def _relocate(self, capacity: int) -> None:
        live = len(self)
        start = self.first - self.base
        for block in self._blocks.values():
            block.relocate(start, live, capacity)
        for column in self._columns:
            column.relocate(start, live, capacity)
        for lane in self._all_lanes():
            lane.relocate(start, live, capacity)
        self.chains.relocate(start, live, capacity, self.first)
        self.base = self.first
        self.layout += capacity != self._capacity
        self._capacity = capacity


class _Unread(Sequence["Column"]):
    """Columns that are read when somebody looks at them."""

    def __init__(self, lanes: Sequence[ColumnLane], indexes: NDArray[np.int64] | slice) -> None:
        self._lanes = lanes
        self._indexes = indexes
        self._read: dict[int, Column] = {}

    def __len__(self) -> int:
        return len(self._lanes)

    @overload
    def __getitem__(self, at: int) -> Column: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Column]: ...
    def __getitem__(self, at: int | slice) -> Column | Sequence[Column]:
        if isinstance(at, slice):
            return [self[each] for each in range(len(self))[at]]
        column = self._read.get(at)
        if column is None:
            column = self._read[at] = self._lanes[at].read(self._indexes)
        return column


@njit(cache=True, nogil=True)
def store_derived(  # type: ignore[no-untyped-def]
    ts, newest, at, count, is_first, whole, rows, heads, links, valid, first, shift
):  # fmt: skip
    """newest[i] = the largest event time up to each new tuple; chain the tuples in all forms, whose keys are rows of `whole`."""
    most = np.int64(BEFORE_ALL_US) if is_first else newest[at - 1]
    for index in range(at, at + count):
        most = max(most, ts[index])
        newest[index] = most
    for form in range(len(rows)):
        for index in range(at, at + count):
            links[form, index, KEY] = whole[rows[form], index]
            valid[form, index] = True
    link(heads, links, valid, 0, len(rows), first, first - at, count, shift)


def warm() -> None:
    """Compile this module's kernel."""
    numbers, words = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    valid = np.zeros((1, 1), np.bool_)
    store_derived(
        numbers, numbers, 0, 1, True, words, NO_ROWS, words, words[:, :, None].copy(), valid, 0, 63
    )
