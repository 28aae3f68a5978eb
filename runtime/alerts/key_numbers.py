"""Keys as numbers: equal keys have the same number in every packet, and new keys get the next one.

Numbers and times are their own bits, texts are found in a table of all texts so far, and several columns are folded two by two.
NULL is a value like others, NaN is one value, and -0.0 is 0.0. Nothing is done for each row in Python.

    PER room, floor:  ('a', 1) -> 0   ('b', 1) -> 1   ('a', 2) -> 2   ('a', 1) -> 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import uint64

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.kernel import njit
from cqc.runtime.pull.aggregate.grouping import canonical
from cqc.runtime.state.hash_chains import hash_texts
from cqc.runtime.state.lanes import text_buffers, writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

_FIRST_SIZE = 64


@njit(cache=True, nogil=True)
def number_pairs(left, right, slots, lefts, rights, count, numbers):  # type: ignore[no-untyped-def]
    """The number of each pair of whole numbers, new pairs added; how many there are then. The tables have room for all."""
    mask = len(slots) - 1
    for row in range(len(left)):
        first, second = left[row], right[row]
        mixed = uint64(second) * uint64(0x9E3779B97F4A7C15) ^ uint64(first)
        mixed = (mixed ^ (mixed >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
        at = np.int64(mixed >> uint64(20)) & mask
        while True:
            number = slots[at]
            if number < 0:
                slots[at] = count
                lefts[count], rights[count] = first, second
                numbers[row] = count
                count += 1
                break
            if lefts[number] == first and rights[number] == second:
                numbers[row] = number
                break
            at = (at + 1) & mask
    return count


@njit(cache=True, nogil=True)
def number_texts(offsets, data, hashes, slots, kept_hashes, ends, kept, count, numbers):  # type: ignore[no-untyped-def]
    """The same for texts, whose bytes are kept one after the other; text k ends at `ends[k]`."""
    mask = len(slots) - 1
    for row in range(len(offsets) - 1):
        start, size, code = offsets[row], offsets[row + 1] - offsets[row], hashes[row]
        at = np.int64(uint64(code) >> uint64(20)) & mask
        while True:
            number = slots[at]
            if number < 0:
                begin = ends[count - 1] if count else 0
                for byte in range(size):
                    kept[begin + byte] = data[start + byte]
                slots[at], kept_hashes[count], ends[count] = count, code, begin + size
                numbers[row] = count
                count += 1
                break
            if kept_hashes[number] == code:
                begin = ends[number - 1] if number else 0
                same = ends[number] - begin == size
                byte = 0
                while same and byte < size:
                    same = kept[begin + byte] == data[start + byte]
                    byte += 1
                if same:
                    numbers[row] = number
                    break
            at = (at + 1) & mask
    return count


class _Pairs:
    """Pairs of whole numbers that were seen."""

    def __init__(self) -> None:
        self.count = 0
        self._slots = np.full(_FIRST_SIZE, -1, np.int64)
        self._lefts = np.zeros(_FIRST_SIZE, np.int64)
        self._rights = np.zeros(_FIRST_SIZE, np.int64)

    def numbers(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        self._reserve(self.count + len(left))
        found = np.empty(len(left), np.int64)
        self.count = number_pairs(
            writable(left),
            writable(right),
            self._slots,
            self._lefts,
            self._rights,
            self.count,
            found,
        )
        return found

    def _reserve(self, most: int) -> None:
        if 2 * most <= len(self._slots):
            return
        size = _size_for(most)
        lefts, rights = self._lefts[: self.count], self._rights[: self.count]
        self._slots = np.full(size, -1, np.int64)
        self._lefts, self._rights = np.zeros(size, np.int64), np.zeros(size, np.int64)
        again = np.empty(self.count, np.int64)
        number_pairs(lefts.copy(), rights.copy(), self._slots, self._lefts, self._rights, 0, again)

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + self._lefts.nbytes + self._rights.nbytes


class _Texts:
    """Texts that were seen."""

    def __init__(self) -> None:
        self.count = 0
        self._slots = np.full(_FIRST_SIZE, -1, np.int64)
        self._hashes = np.zeros(_FIRST_SIZE, np.int64)
        self._ends = np.zeros(_FIRST_SIZE, np.int64)
        self._bytes = np.zeros(_FIRST_SIZE, np.uint8)

    def numbers(self, values: Any) -> NDArray[np.int64]:
        offsets, data = text_buffers(values)
        offsets, data = writable(offsets), writable(data)
        size = int(offsets[-1] - offsets[0])
        self._reserve(self.count + len(values), size)
        found = np.empty(len(values), np.int64)
        self.count = number_texts(
            offsets,
            data,
            hash_texts(offsets, data),
            self._slots,
            self._hashes,
            self._ends,
            self._bytes,
            self.count,
            found,
        )
        return found

    def _reserve(self, most: int, more_bytes: int) -> None:
        used = int(self._ends[self.count - 1]) if self.count else 0
        if used + more_bytes > len(self._bytes):
            grown = np.zeros(2 * (used + more_bytes), np.uint8)
            grown[:used] = self._bytes[:used]
            self._bytes = grown
        if 2 * most <= len(self._slots):
            return
        size = _size_for(most)
        hashes, ends = np.zeros(size, np.int64), np.zeros(size, np.int64)
        hashes[: self.count] = self._hashes[: self.count]
        ends[: self.count] = self._ends[: self.count]
        self._hashes, self._ends = hashes, ends
        self._slots = np.full(size, -1, np.int64)
        place_hashes(hashes, self._slots, self.count)

    @property
    def nbytes(self) -> int:
        arrays = (self._slots, self._hashes, self._ends, self._bytes)
        return sum(each.nbytes for each in arrays)


@njit(cache=True, nogil=True)
def place_hashes(hashes, slots, count):  # type: ignore[no-untyped-def]
    """Put texts that are known to differ into empty slots."""
    mask = len(slots) - 1
    for number in range(count):
        at = np.int64(uint64(hashes[number]) >> uint64(20)) & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = number


def _size_for(most: int) -> int:
    return 1 << int(4 * most - 1).bit_length()


class KeyNumbers:
    """The keys of one PER clause."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._texts = [_Texts() if type_ is ColumnType.STRING else None for type_ in types]
        self._pairs = [_Pairs() for _ in types]

    def __len__(self) -> int:
        """One more than the largest number."""
        return self._pairs[-1].count if self._pairs else 1

    def of(self, columns: Sequence[Column], length: int) -> NDArray[np.int64]:
        """The number of each row's key."""
        numbers = np.zeros(length, np.int64)
        for column, texts, pairs in zip(columns, self._texts, self._pairs, strict=True):
            own = canonical(column) if texts is None else texts.numbers(column.values)
            left = 2 * numbers
            if column.valid is not None:
                own = np.where(column.valid, own, 0)
                left += column.valid
            else:
                left += 1
            numbers = pairs.numbers(left, own)
        return numbers

    @property
    def nbytes(self) -> int:
        """What the tables take."""
        texts = [each.nbytes for each in self._texts if each is not None]
        return sum(texts) + sum(each.nbytes for each in self._pairs)


def warm() -> None:
    """Compile the kernels."""
    import pyarrow as pa

    from cqc.runtime.columns.columns import Column, text_column

    keys = KeyNumbers((ColumnType.STRING, ColumnType.BIGINT))
    for count in (3, 200):
        texts = text_column(pa.array([str(at) for at in range(count)]))
        keys.of((texts, Column(ColumnType.BIGINT, np.arange(count))), count)
