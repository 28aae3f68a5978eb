"""Sets of single values over one column: which atoms a value belongs to, by one hash lookup.

`x IN (...)` with many values and `=` on text are sets of points. Every distinct value of all sets is one point with a list of
the atoms that contain it, so a list of a thousand values costs a tuple no more than a list of one.

    atom 7: {'a', 'b'}   atom 8: {'b'}          'a' -> 7     'b' -> 8, 7
    texts  b c a         hits (0, 8) (0, 7) (2, 7)

Values are hashed as 64-bit keys, text by a hash of its bytes that is checked against the text itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import take
from cqc.runtime.columns.growing_array import Growing
from cqc.runtime.filter.column_cuts import double_key
from cqc.runtime.filter.linked_lists import AtomLists
from cqc.runtime.kernel import njit
from cqc.runtime.state.hash_chains import hash_texts
from cqc.runtime.state.lanes import text_buffers, text_lengths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import Value
    from cqc.runtime.columns.columns import Column

Hits = tuple["NDArray[np.int32]", "NDArray[np.int32]"]  # tuples and ids of what they hit
_NONE = -1
_FEW = 64
_NO_TEXT = np.zeros(1, np.int64), np.empty(0, np.uint8)


class PointIndex:
    """The point sets of one column."""

    def __init__(self, type_: ColumnType) -> None:
        self._is_text = type_.held_as_text
        self._is_double = type_ is ColumnType.DOUBLE
        self._points: dict[int | bytes, int] = {}
        self._waiting: list[int | bytes] = []
        self._atoms = AtomLists()
        self._keys = Growing(np.int64)
        self._ends = Growing(np.int64)  # where each point's text ends
        self._ends.append(0)
        self._bytes = Growing(np.uint8)
        self._slots = np.full(32, _NONE, np.int32)  # the hash table: point numbers
        self._longest = 0  # bytes of a text

    @property
    def nbytes(self) -> int:
        """Memory, about; a dict entry with its value is counted as 130 bytes."""
        arrays = (self._keys, self._ends, self._bytes, self._atoms)
        return sum(array.nbytes for array in arrays) + self._slots.nbytes + 130 * len(self._points)

    def add(self, atom: int, values: Iterable[Value]) -> None:
        """Make the values hit the atom."""
        for value in values:
            key = self._key(value)
            point = self._points.get(key)
            if point is None:
                point = self._points[key] = len(self._points)
                self._waiting.append(key)
                self._atoms.new_list()
            self._atoms.add(point, atom)

    def remove(self, atom: int, values: Iterable[Value]) -> None:
        """Undo `add`. A point without atoms stays until there are many of them."""
        for value in values:
            self._atoms.remove(self._points[self._key(value)], atom)
        if len(self._points) > max(_FEW, 2 * self._atoms.lists_in_use):
            self._purge()

    def hits(self, column: Column) -> Hits:
        """Which tuples hit which atoms."""
        self._settle()
        if self._is_text:
            fits = text_lengths(column.values) <= self._longest
            fitting = np.flatnonzero(fits if column.valid is None else fits & column.valid)
            if 2 * len(fitting) < len(
                column
            ):  # the others are NULL, or too long to be any of the points
                tuples, atoms = self._hits(take(column, fitting))
                return fitting[tuples].astype(np.int32), atoms
        return self._hits(column)

    def _hits(self, column: Column) -> Hits:
        points = np.empty(len(column), np.int32)
        keys, offsets, data = self._keys_of(column)
        valid = np.empty(0, np.bool_) if column.valid is None else column.valid
        find_points(
            keys, offsets, data, valid, self._slots, self._keys.view(),
            self._ends.view(), self._bytes.view(), points,
        )  # fmt: skip
        tuples = np.flatnonzero(points >= 0).astype(np.int32)
        return self._atoms.spread(tuples, points[tuples])

    def _key(self, value: Value) -> int | bytes:
        if isinstance(value, str):
            return value.encode()
        return double_key(float(value)) if self._is_double else int(value)

    def _keys_of(self, column: Column) -> tuple[Any, Any, Any]:
        if self._is_text:
            offsets, data = text_buffers(column.values)
            return hash_texts(offsets, data), offsets, data
        if self._is_double:
            values = np.ascontiguousarray(column.values)
            return (order_keys(values, values.view(np.int64)), *_NO_TEXT)
        return (column.values.astype(np.int64, copy=False), *_NO_TEXT)

    def _purge(self) -> None:
        """Start again with the points that have atoms."""
        kept = {key: self._atoms.members(point) for key, point in self._points.items()}
        self._points, self._waiting, self._atoms = {}, [], AtomLists()
        self._keys, self._ends, self._bytes = (
            Growing(np.int64),
            Growing(np.int64),
            Growing(np.uint8),
        )
        self._ends.append(0)
        self._slots = np.full(32, _NONE, np.int32)
        for key, atoms in kept.items():
            if atoms:
                self._points[key] = self._atoms.new_list()
                self._waiting.append(key)
                for atom in atoms:
                    self._atoms.add(self._points[key], atom)

    def _settle(self) -> None:
        """Put new points into the hash table."""
        if not self._waiting:
            return
        first = len(self._keys)
        if self._is_text:
            lengths = np.array([len(key) for key in self._waiting], np.int64)  # type: ignore[arg-type]
            self._longest = max(self._longest, int(lengths.max()))
            data = np.frombuffer(b"".join(self._waiting), np.uint8)  # type: ignore[arg-type]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            self._keys.extend(hash_texts(offsets, data))
            self._ends.extend(offsets[1:] + len(self._bytes))
            self._bytes.extend(data)
        else:
            self._keys.extend(np.array(self._waiting, np.int64))
        self._waiting = []
        if 2 * len(self._keys) > len(self._slots):
            self._slots = np.full(1 << (4 * len(self._keys) - 1).bit_length(), _NONE, np.int32)
            first = 0
        insert_points(self._slots, self._keys.view(), first)


@njit(cache=True, nogil=True)
def order_keys(values, bits):  # type: ignore[no-untyped-def]
    """The keys of doubles (`double_key`)."""
    keys = np.empty(len(values), np.int64)
    for at in range(len(values)):
        value, key = values[at], bits[at]
        if value != value:
            key = np.int64(0x7FF8000000000000)
        elif value == 0.0:
            key = np.int64(0)
        elif key < 0:
            key ^= np.int64(0x7FFFFFFFFFFFFFFF)
        keys[at] = key
    return keys


@njit(cache=True, nogil=True, inline="always")
def _home(key, size):  # type: ignore[no-untyped-def]
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(size - 1))


@njit(cache=True, nogil=True)
def insert_points(slots, keys, first):  # type: ignore[no-untyped-def]
    """Put the points from `first` on into the hash table (its size a power of two)."""
    for point in range(first, len(keys)):
        at = _home(keys[point], len(slots))
        while slots[at] >= 0:
            at = (at + 1) & (len(slots) - 1)
        slots[at] = point


@njit(cache=True, nogil=True)
def find_points(keys, offsets, data, valid, slots, point_keys, ends, texts, out):  # type: ignore[no-untyped-def]
    """The point of each value, or -1."""
    for row in range(len(keys)):
        out[row] = -1
        if len(valid) and not valid[row]:
            continue
        at = _home(keys[row], len(slots))
        while slots[at] >= 0:
            point = slots[at]
            if point_keys[point] == keys[row] and (
                len(offsets) == 1 or _same_text(offsets, data, row, ends, texts, point)
            ):
                out[row] = point
                break
            at = (at + 1) & (len(slots) - 1)


@njit(cache=True, nogil=True, inline="always")
def _same_text(offsets, data, row, ends, texts, point):  # type: ignore[no-untyped-def]
    length = offsets[row + 1] - offsets[row]
    if length != ends[point + 1] - ends[point]:
        return False
    byte = 0
    while byte < length and data[offsets[row] + byte] == texts[ends[point] + byte]:
        byte += 1
    return byte == length
