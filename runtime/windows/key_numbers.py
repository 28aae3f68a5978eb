"""A number for every key that was seen, the same whenever it comes again, without a Python object a key.

Texts are kept once, in one stretch of bytes, and found by hashing; keys are found as rows of numbers.

    k: "a" NULL "b" "a"     0 1 2 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.absence.guard_entries import locate
from cqc.runtime.columns.columns import DTYPES, Column
from cqc.runtime.kernel import njit
from cqc.runtime.pull.aggregate.grouping import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SMALLEST = 256
_NULL = -(2**63) + 1


class TextNumbers:
    """Numbers of texts, from 0 on."""

    def __init__(self) -> None:
        self._table = np.full(2 * _SMALLEST, -1, np.int64)
        self._hashes = np.zeros(_SMALLEST, np.uint64)
        self._ends = np.zeros(_SMALLEST + 1, np.int64)
        self._bytes = np.zeros(_SMALLEST * 16, np.uint8)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the texts and their table."""
        arrays = (self._table, self._hashes, self._ends, self._bytes)
        return sum(int(each.nbytes) for each in arrays)

    def of(self, texts: pa.Array) -> NDArray[np.int64]:
        """The number of each text, new ones made as needed; NULL has one of its own."""
        encoded = texts.dictionary_encode(null_encoding="mask")
        distinct = encoded.dictionary.cast(pa.large_string())
        _, ends, data = distinct.buffers()
        offsets = np.frombuffer(ends, np.int64)[
            distinct.offset : distinct.offset + len(distinct) + 1
        ]
        whole = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        size = int(offsets[-1] - offsets[0]) if len(distinct) else 0
        self._reserve(len(distinct), size)
        found = np.empty(len(distinct) + 1, np.int64)
        found[-1] = _NULL
        self._used = intern(
            offsets, whole, found, self._table, self._hashes, self._ends, self._bytes, self._used
        )
        indices = encoded.indices
        numbers = indices.fill_null(len(distinct)) if indices.null_count else indices
        picked: NDArray[np.int64] = found[numbers.to_numpy(zero_copy_only=False)]
        return picked

    def column(self, numbers: NDArray[np.int64]) -> Column:
        """The texts with these numbers."""
        missing = numbers == _NULL
        known = np.where(missing, 0, numbers)
        begins, ends = self._ends[known], self._ends[known + 1]
        lengths = np.where(missing, 0, ends - begins)
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        source = np.repeat(begins - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
        data = pa.py_buffer(np.ascontiguousarray(self._bytes[source]))
        texts = pa.LargeStringArray.from_buffers(len(numbers), pa.py_buffer(offsets), data)
        plain = texts.cast(pa.string())
        if not missing.any():
            return Column(ColumnType.STRING, plain)
        shown = pc.if_else(pa.array(~missing), plain, pa.scalar(None, pa.string()))
        return Column(ColumnType.STRING, shown, ~missing)

    def _reserve(self, count: int, size: int) -> None:
        if self._used + count > len(self._hashes):
            capacity = 1 << int(2 * (self._used + count) - 1).bit_length()
            self._hashes = _longer(self._hashes, capacity)
            self._ends = _longer(self._ends, capacity + 1)
            self._table = np.full(2 * capacity, -1, np.int64)
            enter_hashes(self._hashes, self._table, self._used)
        needed = int(self._ends[self._used]) + size
        if needed > len(self._bytes):
            self._bytes = _longer(self._bytes, 2 * needed)


class KeyNumbers:
    """Numbers of keys of some columns, from 0 on; NULL is a value like others."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = tuple(types)
        self._texts = [TextNumbers() if type_ is ColumnType.STRING else None for type_ in types]
        width = sum(1 if texts is not None else 2 for texts in self._texts)
        self._keys = np.zeros((_SMALLEST, width), np.int64)
        self._table = np.full(2 * _SMALLEST, -1, np.int64)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the keys."""
        texts = sum(each.nbytes for each in self._texts if each is not None)
        return texts + int(self._keys.nbytes + self._table.nbytes)

    def of(self, columns: Sequence[Column], length: int) -> NDArray[np.int64]:
        """The number of each key, new ones made as needed."""
        if not self._types:
            return np.zeros(length, np.int64)
        parts: list[NDArray[np.int64]] = []
        for column, texts in zip(columns, self._texts, strict=True):
            if texts is not None:
                parts.append(texts.of(column.values))
            elif column.valid is None:
                parts += [canonical(column), np.zeros(length, np.int64)]
            else:
                parts += [
                    np.where(column.valid, canonical(column), 0),
                    (~column.valid).astype(np.int64),
                ]
        self._reserve(length)
        keys = np.stack(parts, axis=1)
        found, self._used = locate(keys, self._keys, self._table, self._used, True)
        return np.asarray(found)

    def columns(self, numbers: NDArray[np.int64]) -> list[Column]:
        """The keys with these numbers, by column."""
        rows, at = self._keys[numbers], 0
        found: list[Column] = []
        for type_, texts in zip(self._types, self._texts, strict=True):
            if texts is not None:
                found.append(texts.column(rows[:, at]))
                at += 1
                continue
            values, missing = np.ascontiguousarray(rows[:, at]), rows[:, at + 1] > 0
            of_type = (
                values.view(np.float64)
                if type_ is ColumnType.DOUBLE
                else values.astype(DTYPES[type_])
            )
            found.append(Column(type_, of_type, ~missing if missing.any() else None))
            at += 2
        return found

    def _reserve(self, count: int) -> None:
        needed = self._used + count
        if needed <= len(self._keys):
            return
        capacity = 1 << int(2 * needed - 1).bit_length()
        keys = self._keys[: self._used]
        self._keys = np.zeros((capacity, keys.shape[1]), np.int64)
        self._table = np.full(2 * capacity, -1, np.int64)
        locate(keys, self._keys, self._table, 0, True)


def _longer(values: NDArray[Any], length: int) -> NDArray[Any]:
    longer = np.zeros(length, values.dtype)
    longer[: len(values)] = values
    return longer


@njit(cache=True, nogil=True)
def intern(offsets, data, found, table, hashes, ends, stored, used):  # type: ignore[no-untyped-def]
    """The number of each text, entered where it is new; there is room for all of them. How many there are then."""
    mask = np.uint64(len(table) - 1)
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        value = np.uint64(0xCBF29CE484222325) ^ np.uint64(end - begin)
        for at in range(begin, end):
            value = (value ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        value ^= value >> np.uint64(29)
        slot = (value * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
        number = -1
        while True:
            number = table[slot]
            if number < 0:
                number = used
                table[slot] = number
                hashes[number] = value
                first = ends[number]
                for at in range(end - begin):
                    stored[first + at] = data[begin + at]
                ends[number + 1] = first + end - begin
                used += 1
                break
            if hashes[number] == value and ends[number + 1] - ends[number] == end - begin:
                first, same = ends[number], True
                for at in range(end - begin):
                    if stored[first + at] != data[begin + at]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        found[row] = number
    return used


@njit(cache=True, nogil=True)
def enter_hashes(hashes, table, used):  # type: ignore[no-untyped-def]
    """Put texts that differ into an empty table."""
    mask = np.uint64(len(table) - 1)
    for number in range(used):
        slot = (hashes[number] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = number


def warm() -> None:
    """Compile this module's kernels."""
    numbers = TextNumbers()
    numbers.of(pa.array(["a"]))
    enter_hashes(np.zeros(1, np.uint64), np.full(4, -1, np.int64), 1)
