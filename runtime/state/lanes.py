"""Lanes: arrays that lie beside the tuples of a shared state, one entry a tuple.

A state numbers its tuples by a growing position. Every lane keeps the entry of position p at index `p - base`, so kernels
work on plain arrays; when the array is full the state drops the purged front of all its lanes at once and moves `base`.
Columns are lanes, and so are join keys, theta values and each host's lineage: whoever needs one makes it, and the state
moves them all alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, cut
from cqc.runtime.columns.repeated_text import RepeatedText
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SMALL_TEXT = 4096  # bytes that are not worth giving back
_MANY_ROWS = 256  # of a packet whose texts are not copied at once


_NO_NUMBERS = np.zeros(0, np.int64)


class Lane:
    """An array of one entry (a scalar or a row) per tuple."""

    __slots__ = ("values",)

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def relocate(self, start: int, count: int, capacity: int) -> None:
        """Keep the `count` entries from index `start` on, at the front of an array of `capacity` entries."""
        kept = self.values[start : start + count]
        if capacity != len(self.values):
            self.values = np.zeros((capacity, *self.values.shape[1:]), self.values.dtype)
        self.values[:count] = kept

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


class ColumnLane(Protocol):
    """What a state asks of the lane that holds a declared column."""

    def write(self, at: int, end: int, column: Column) -> None: ...
    def read(self, indexes: NDArray[np.int64] | slice) -> Column: ...
    def relocate(self, start: int, count: int, capacity: int) -> None: ...
    @property
    def nbytes(self) -> int: ...


class NumberBlock:
    """Columns of one layout beside each other, `values[row, index]`: a packet is stored, and all are moved, by few calls."""

    __slots__ = ("rows", "values")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.rows = 0
        self.values = np.zeros((0, 0), dtype)

    def add_row(self) -> int:
        """One column more; its number."""
        self.rows += 1
        return self.rows - 1

    def allocate(self, capacity: int) -> None:
        """Room for so many tuples, once all columns are known."""
        self.values = np.zeros((self.rows, capacity), self.values.dtype)

    def relocate(self, start: int, count: int, capacity: int) -> None:
        """As for a lane."""
        kept = self.values[:, start : start + count]
        if capacity != self.values.shape[1]:
            self.allocate(capacity)
        self.values[:, :count] = kept


class NumberLane:
    """A column of numbers, instants or booleans: a row of a block; its validity is kept from the first NULL on."""

    __slots__ = ("_block", "row", "type", "valid")

    def __init__(self, type_: ColumnType, block: NumberBlock) -> None:
        self.type = type_
        self.row = block.add_row()
        self.valid: NDArray[np.bool_] | None = None
        self._block = block

    @property
    def values(self) -> NDArray[Any]:
        """By index."""
        row: NDArray[Any] = self._block.values[self.row]
        return row

    def write(self, at: int, end: int, column: Column) -> None:
        self._block.values[self.row, at:end] = column.values
        if column.valid is not None and self.valid is None:
            self.valid = np.ones(self._block.values.shape[1], np.bool_)
        if self.valid is not None:
            self.valid[at:end] = True if column.valid is None else column.valid

    def read(self, indexes: NDArray[np.int64] | slice) -> Column:
        valid = None if self.valid is None else self.valid[indexes]
        if isinstance(indexes, slice):
            return Column(self.type, self.values[indexes], valid)
        return Column(self.type, self.values.take(indexes), valid)

    def relocate(self, start: int, count: int, capacity: int) -> None:
        """The values move with their block."""
        if self.valid is not None:
            valid = Lane(self.valid)
            valid.relocate(start, count, capacity)
            self.valid = valid.values

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes) + (0 if self.valid is None else int(self.valid.nbytes))


class TextLane:
    """A column of text: where each value's bytes begin and how many there are (-1 is NULL), and one buffer of bytes.

    Byte offsets grow for ever, like positions; `origin` is the offset of the buffer's first byte. Memory is freed with
    the tuples, whatever the texts are, because nothing is interned. The texts of a large packet are copied when somebody first
    reads the lane, and never if nobody does before they are purged: until then the packet's own column is kept. While no text was
    copied the lane has no arrays: of wide streams hardly any column is ever read.
    """

    __slots__ = ("_bytes", "_capacity", "_end", "_length", "_origin", "_start", "_type", "_waiting")

    def __init__(self, capacity: int, type_: ColumnType = ColumnType.STRING) -> None:
        self._type = type_
        self._capacity = capacity
        self._start = Lane(_NO_NUMBERS)
        self._length = Lane(_NO_NUMBERS)
        self._bytes = np.zeros(_SMALL_TEXT, np.uint8)
        self._origin = 0
        self._end = 0
        self._waiting: list[tuple[int, Column]] = []  # by the index of their first tuple

    def write(self, at: int, end: int, column: Column) -> None:
        while self._waiting and self._waiting[-1][0] >= at:  # tuples that did not come to count
            self._waiting.pop()
        if end - at >= _MANY_ROWS and _is_worth_keeping(column):
            self._waiting.append((at, column))
            return
        self._settle()
        self._copy(at, end, column)

    def _copy(self, at: int, end: int, column: Column) -> None:
        self._allocate()
        offsets, data = text_buffers(column.values)
        size = len(data)
        self._reserve(size)
        begin = self._end - self._origin
        self._bytes[begin : begin + size] = data
        self._start.values[at:end] = offsets[:-1] + self._end
        self._length.values[at:end] = np.diff(offsets)
        if column.valid is not None:
            self._length.values[at:end][~column.valid] = -1
        self._end += size

    def _allocate(self) -> None:
        """Have the arrays from here on."""
        if not len(self._start.values):
            self._start.values, self._length.values = np.zeros((2, self._capacity), np.int64)

    def _settle(self) -> None:
        """Copy the texts that wait."""
        waiting, self._waiting = self._waiting, []
        for at, column in waiting:
            self._copy(at, at + len(column), column)

    def read(self, indexes: NDArray[np.int64] | slice) -> Column:
        if self._waiting:
            self._settle()
        self._allocate()
        length = self._length.values[indexes]
        valid = length >= 0
        offsets = np.zeros(len(length) + 1, np.int64)
        np.cumsum(np.maximum(length, 0), out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        copy_texts(self._bytes, self._start.values[indexes] - self._origin, offsets, data)
        whole = bool(valid.all())
        return Column(
            self._type,
            _text_array(offsets, data, None if whole else valid),
            None if whole else valid,
        )

    def relocate(self, start: int, count: int, capacity: int) -> None:
        if count and not (self._waiting and self._waiting[0][0] <= start):
            self._drop_bytes(int(self._start.values[start]))
            self._start.relocate(start, count, capacity)
            self._length.relocate(start, count, capacity)
        else:  # nothing that was copied is kept
            self._drop_bytes(self._end)
            if capacity != len(self._start.values):
                self._start.values = self._length.values = _NO_NUMBERS
        self._capacity = capacity
        live = [(at - start, column) for at, column in self._waiting if at + len(column) > start]
        self._waiting = [
            (max(at, 0), column if at >= 0 else cut(column, -at, len(column)))
            for at, column in live
        ]

    def _drop_bytes(self, before: int) -> None:
        kept = self._end - before
        front = before - self._origin
        if len(self._bytes) > _SMALL_TEXT and 8 * kept <= len(self._bytes):
            self._bytes = self._bytes[front : front + max(2 * kept, _SMALL_TEXT)].copy()
            front = 0
        self._bytes[:kept] = self._bytes[front : front + kept]
        self._origin = before

    def _reserve(self, size: int) -> None:
        used = self._end - self._origin
        if used + size > len(self._bytes):
            grown = np.empty(max(2 * len(self._bytes), used + size), np.uint8)
            grown[:used] = self._bytes[:used]
            self._bytes = grown

    @property
    def nbytes(self) -> int:
        waiting = sum(column.nbytes for _, column in self._waiting)
        return int(self._start.nbytes + self._length.nbytes + self._bytes.nbytes) + waiting


def _is_worth_keeping(column: Column) -> bool:
    """Whether a column holds on to little more memory than its texts take: it may be a slice of much more."""
    if not isinstance(column, RepeatedText):
        return bool(column.values.get_total_buffer_size() <= 2 * column.nbytes + _SMALL_TEXT)
    held = column.distinct.get_total_buffer_size()
    if held <= _SMALL_TEXT:
        return True
    texts = int(text_lengths(column.distinct)[column.codes].sum(dtype=np.int64))
    return bool(held <= texts + _SMALL_TEXT)


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy of one that is read-only: kernels would be compiled again for that layout."""
    return array if array.flags.writeable else array.copy()


def text_buffers(array: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The byte offsets (from 0, one more than there are texts) and the bytes of an Arrow text array; NULLs are empty."""
    _, offsets, data = array.buffers()
    count = len(array)
    if offsets is None:
        return np.zeros(count + 1, np.int64), np.zeros(0, np.uint8)
    own = np.frombuffer(offsets, np.int32)[array.offset : array.offset + count + 1].astype(np.int64)
    if data is None:
        return own - own[0], np.zeros(0, np.uint8)
    return own - own[0], np.frombuffer(data, np.uint8)[own[0] : own[-1]]


def text_lengths(array: Any) -> NDArray[np.int32]:
    """How many bytes each text of an Arrow text array has."""
    offsets = array.buffers()[1]
    if offsets is None:
        return np.zeros(len(array), np.int32)
    own = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths: NDArray[np.int32] = np.diff(own)
    return lengths


def _text_array(
    offsets: NDArray[np.int64], data: NDArray[np.uint8], valid: NDArray[np.bool_] | None
) -> Any:
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.StringArray.from_buffers(len(offsets) - 1, buffers[1], buffers[2], buffers[0])


@njit(cache=True, nogil=True)
def copy_texts(source, start, offsets, target):  # type: ignore[no-untyped-def]  # numba infers
    """Copy text i from source[start[i]:] to target[offsets[i]:offsets[i+1]]."""
    for row in range(len(start)):
        # Numbers without a sign: an index that may be negative would be looked at for every byte.
        begin, to = np.uint64(start[row]), np.uint64(offsets[row])
        for at in range(np.uint64(offsets[row + 1]) - to):
            target[to + at] = source[begin + at]


def warm() -> None:
    """Compile this module's kernel."""
    numbers = np.zeros(1, np.int64)
    copy_texts(np.zeros(1, np.uint8), numbers, np.zeros(2, np.int64), np.zeros(1, np.uint8))
