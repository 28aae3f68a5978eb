"""A number for each distinct text, for ever: texts lie one behind the other in one buffer and are found by hashing.

It takes the bytes of a text once, and about 24 bytes beside them. NULL is -1, and -2 a text that was only looked for and is not there.

    a, b, a     0, 1, 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.columns.repeated_text import RepeatedText
from cqc.runtime.kernel import njit
from cqc.runtime.state.hash_chains import hash_texts
from cqc.runtime.state.lanes import copy_texts, text_buffers, writable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 256
UNKNOWN = -2


class TextNumbers:
    """The numbers of all texts that were asked for."""

    def __init__(self) -> None:
        self._bytes = np.zeros(_SMALLEST, np.uint8)
        self._begins = np.zeros(
            _SMALLEST + 1, np.int64
        )  # by number; the end of the last one behind it
        self._table = np.full(2 * _SMALLEST, -1, np.int32)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the texts and their table."""
        return int(self._bytes.nbytes + self._begins.nbytes + self._table.nbytes)

    def of(self, column: Column) -> NDArray[np.int64]:
        """The number of each text of a column, given where it has none."""
        if isinstance(column, RepeatedText):
            numbers = self.of(Column(column.type, column.distinct))[column.codes]
            if column.valid is not None:
                numbers[~column.valid] = -1
            return numbers
        return self._numbered(column, adding=True)

    def known(self, column: Column) -> NDArray[np.int64]:
        """The number of each text of a column; -2 for a text that has none."""
        if isinstance(column, RepeatedText):
            numbers = self.known(Column(column.type, column.distinct))[column.codes]
            if column.valid is not None:
                numbers[~column.valid] = -1
            return numbers
        return self._numbered(column, adding=False)

    def _numbered(self, column: Column, *, adding: bool) -> NDArray[np.int64]:
        offsets, data = text_buffers(column.values)
        hashes = hash_texts(offsets, writable(data))
        if adding:
            self._reserve(len(column), len(data))
        numbers, self._used = number_texts(
            offsets, writable(data), hashes, self._bytes, self._begins, self._table, self._used,
            adding,
        )  # fmt: skip
        if column.valid is not None:
            numbers[~column.valid] = -1
        return np.asarray(numbers)

    def texts(self, numbers: NDArray[np.int64]) -> Any:
        """The texts of some numbers, as Arrow has them."""
        begins = self._begins[numbers]
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(self._begins[numbers + 1] - begins, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        copy_texts(self._bytes, begins, offsets, data)
        return pa.LargeStringArray.from_buffers(
            len(numbers), pa.py_buffer(offsets), pa.py_buffer(data)
        ).cast(pa.string())

    def _reserve(self, count: int, size: int) -> None:
        end = int(self._begins[self._used])
        if end + size > len(self._bytes):
            grown = np.empty((end + size) * 5 // 4, np.uint8)
            grown[:end] = self._bytes[:end]
            self._bytes = grown
        needed = self._used + count + 1
        if needed > len(self._begins):
            begins = np.zeros(needed * 5 // 4, np.int64)
            begins[: self._used + 1] = self._begins[: self._used + 1]
            self._begins = begins
        if 4 * needed > 3 * len(self._table):
            self._table = np.full(1 << (2 * needed - 1).bit_length(), -1, np.int32)
            begins = self._begins[: self._used + 1]
            enter_texts(hash_texts(begins, self._bytes), self._table)


@njit(cache=True, nogil=True)
def number_texts(offsets, data, hashes, stored, begins, table, used, adding):  # type: ignore[no-untyped-def]
    """The number of each text, and how many there are then. There is room for all; without `adding`, none is made."""
    numbers = np.empty(len(hashes), np.int64)
    mask = np.uint64(len(table) - 1)
    for row in range(len(hashes)):
        first, size = offsets[row], offsets[row + 1] - offsets[row]
        slot = np.uint64(hashes[row]) & mask
        while True:
            number = table[slot]
            if number < 0 and not adding:
                number = UNKNOWN
                break
            if number < 0:
                number = used
                begin = begins[used]
                for at in range(size):
                    stored[begin + at] = data[first + at]
                used += 1
                begins[used] = begin + size
                table[slot] = number
                break
            begin = begins[number]
            if begins[number + 1] - begin == size:
                same = True
                for at in range(size):
                    if stored[begin + at] != data[first + at]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        numbers[row] = number
    return numbers, used


@njit(cache=True, nogil=True)
def enter_texts(hashes, table):  # type: ignore[no-untyped-def]
    """Put texts that differ into an empty table."""
    mask = np.uint64(len(table) - 1)
    for number in range(len(hashes)):
        slot = np.uint64(hashes[number]) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = number


def warm() -> None:
    """Compile this module's kernels."""
    numbers = TextNumbers()
    numbers.of(text_column(pa.array(["a", "b", "a"])))
    numbers.known(text_column(pa.array(["a", "c"])))
    numbers.texts(np.zeros(1, np.int64))
    enter_texts(np.zeros(1, np.int64), np.full(4, -1, np.int32))
