"""Texts by number: whether a text was seen before, in this packet or in an earlier one, and which one it is.

Texts are kept in a hash table with their bytes, so that equal numbers are equal texts and nothing else. There is room for so many bytes;
when they are used up the table begins anew with the texts that come.

    cmd.exe  net.exe  cmd.exe  NULL   ->  0 1 0 -1, new: rows 0 and 1         net.exe  sc.exe   ->  1 2, new: row 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.state.lanes import text_buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_TEXTS, _FIRST_BYTES = 256, 16 * 1024
_EIGHT = np.uint64(8)
_ONE = np.uint64(1)
_NO_MASK = np.empty(0, np.bool_)


class Table(NamedTuple):
    """Texts by their hashes."""

    slots: NDArray[np.int32]  # a power of two; -1 where nobody is
    hashes: NDArray[np.uint64]  # by number
    ends: NDArray[np.int64]  # where the bytes of each end; one more at the front
    data: NDArray[np.uint8]


class Numbered(NamedTuple):
    """The numbers of some texts, -1 for NULL; at which rows the new ones are, by number; whether all numbers are new."""

    numbers: NDArray[np.int32]
    fresh: NDArray[np.int32]
    anew: bool


class TextNumbers:
    """Numbers texts from 0 on."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._table = _table(_FIRST_TEXTS, _FIRST_BYTES)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Memory."""
        return sum(each.nbytes for each in self._table)

    def clear(self) -> None:
        """Forget all texts."""
        self._table = _table(_FIRST_TEXTS, _FIRST_BYTES)
        self._count = 0

    def number(self, texts: Any, valid: NDArray[np.bool_] | None) -> Numbered | None:
        """Number the texts of an Arrow array; None where they have no room, and then nothing is known."""
        offsets, data = text_buffers(texts)
        rows = len(offsets) - 1
        numbers, fresh = np.empty(rows, np.int32), np.empty(rows, np.int32)
        there = _NO_MASK if valid is None else np.ascontiguousarray(valid)
        was_empty, anew = not self._count, False
        row = new = 0
        while True:
            row, self._count, new = number_texts(
                offsets, data, there, self._table, row, self._count, numbers, fresh, new
            )
            if row == rows:
                return Numbered(numbers, fresh[:new], anew)
            if self._has_grown(int(offsets[row + 1] - offsets[row])):
                continue
            self.clear()
            if was_empty or anew:
                return None
            row, new, anew = 0, 0, True

    def _has_grown(self, length: int) -> bool:
        """Make room for a text, if there may be so much."""
        _, hashes, ends, data = self._table
        texts, used = len(hashes), int(ends[self._count])
        size = len(data)
        if self._count == texts:
            texts *= 2
        while used + length > size:
            size *= 2
        grown = _table(texts, size)
        if sum(each.nbytes for each in grown) > self._most_bytes:
            return False
        grown.hashes[: self._count] = hashes[: self._count]
        grown.ends[: self._count + 1] = ends[: self._count + 1]
        grown.data[:used] = data[:used]
        enter_numbers(grown.slots, grown.hashes, self._count)
        self._table = grown
        return True


def _table(texts: int, size: int) -> Table:
    slots = np.full(2 * texts, -1, np.int32)
    return Table(
        slots, np.empty(texts, np.uint64), np.zeros(texts + 1, np.int64), np.empty(size, np.uint8)
    )


@njit(cache=True, nogil=True, inline="always")
def _word(data, at):  # type: ignore[no-untyped-def]
    """Eight bytes as one number: compilers make one load of it."""
    return (
        np.uint64(data[at])
        | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
        | (np.uint64(data[at + np.uint64(2)]) << np.uint64(16))
        | (np.uint64(data[at + np.uint64(3)]) << np.uint64(24))
        | (np.uint64(data[at + np.uint64(4)]) << np.uint64(32))
        | (np.uint64(data[at + np.uint64(5)]) << np.uint64(40))
        | (np.uint64(data[at + np.uint64(6)]) << np.uint64(48))
        | (np.uint64(data[at + np.uint64(7)]) << np.uint64(56))
    )


@njit(cache=True, nogil=True)
def _hash(data, at, end):  # type: ignore[no-untyped-def]
    code = (end - at) * np.uint64(0x9E3779B97F4A7C15)
    while at + _EIGHT <= end:
        code = (code ^ _word(data, at)) * np.uint64(0xD6E8FEB86659FD93)
        code ^= code >> np.uint64(32)
        at += _EIGHT
    last = np.uint64(0)
    while at < end:
        last = (last << _EIGHT) | np.uint64(data[at])
        at += _ONE
    code = (code ^ last) * np.uint64(0xD6E8FEB86659FD93)
    return code ^ (code >> np.uint64(32))


@njit(cache=True, nogil=True)
def _same(data, at, end, others, start):  # type: ignore[no-untyped-def]
    while at + _EIGHT <= end:
        if _word(data, at) != _word(others, start):
            return False
        at += _EIGHT
        start += _EIGHT
    while at < end:
        if data[at] != others[start]:
            return False
        at += _ONE
        start += _ONE
    return True


@njit(cache=True, nogil=True)
def number_texts(offsets, data, valid, table, first, count, numbers, fresh, new):  # type: ignore[no-untyped-def]
    """Number texts from row `first` on, where `count` are known; returns the row that had no room, and both counts."""
    slots, hashes, ends, kept = table
    mask = np.uint64(len(slots) - 1)
    for row in range(first, len(offsets) - 1):
        if len(valid) and not valid[row]:
            numbers[row] = -1
            continue
        begin, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        code = _hash(data, begin, end)
        at = code & mask
        number = slots[at]
        while number >= 0:
            same_length = np.uint64(ends[number + 1] - ends[number]) == end - begin
            if (
                hashes[number] == code
                and same_length
                and _same(data, begin, end, kept, np.uint64(ends[number]))
            ):
                break
            at = (at + _ONE) & mask
            number = slots[at]
        if number < 0:
            start = ends[count]
            if count == len(hashes) or start + np.int64(end - begin) > len(kept):
                return row, count, new
            kept[start : start + np.int64(end - begin)] = data[begin:end]
            ends[count + 1] = start + np.int64(end - begin)
            hashes[count] = code
            slots[at] = count
            fresh[new] = row
            new += 1
            number = np.int32(count)
            count += 1
        numbers[row] = number
    return len(offsets) - 1, count, new


@njit(cache=True, nogil=True)
def enter_numbers(slots, hashes, count):  # type: ignore[no-untyped-def]
    """Enter so many numbers into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        at = hashes[number] & mask
        while slots[at] >= 0:
            at = (at + _ONE) & mask
        slots[at] = number


def warm() -> None:
    """Compile the kernels."""
    import pyarrow as pa

    numbers = TextNumbers(1 << 20)
    numbers.number(pa.array([str(each) for each in range(_FIRST_TEXTS + 1)]), None)
    numbers.number(pa.array(["0", None]), np.array([True, False]))
