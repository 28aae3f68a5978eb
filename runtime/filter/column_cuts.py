r"""The constants of all queries on one column, in order, and where a packet's values lie among them.

An interval is two *cuts*, places between neighbouring values of the column's type. A cut is kept as the smallest value above
it: `x <= 4` and `x < 5` over BIGINT are the same cut, 5. Values of DOUBLE are cut by their bits, read as whole numbers that
have the order of the values (one zero, one NaN above Infinity); text by its bytes, where the cut above `ab` is `ab\\0`.

Each cut has a row id that never changes. New cuts wait and are merged into the sorted order before the next packet,
so that registering a query costs a few lookups. A cut nobody uses stays until there are many of them.

To locate a value, the range of the constants is divided into cells, and the few cuts of the value's cell are searched: one
step for small whole numbers, two or three for anything spread evenly, never more than a binary search.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.bits.bit_sweep import NO_TUPLE
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import double_bits
from cqc.runtime.state.lanes import text_buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import Interval, Value
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.filter.bits.row_ids import RowIds

_LARGEST = 2**63 - 1
_NAN_KEY = 0x7FF8000000000000
_MOST_CELLS = 1 << 16
_FEW_UNUSED = 64
_MOST_KNOWN = (
    1 << 16
)  # beyond, a search in the order finds a cut: a dict would take a hundred bytes each
_WHOLE = (ColumnType.BIGINT, ColumnType.TIMESTAMP, ColumnType.DATE)
Key = int | bytes


class ColumnCuts:
    """The cuts of one column. `order` has their ids in order, the cut at the end last."""

    def __init__(self, column: int, type_: ColumnType, ids: RowIds) -> None:
        self._column = column
        self._type = type_
        self.is_text = type_.held_as_text
        self._is_whole = type_ in _WHOLE
        self._ids = ids
        self.end = ids.take(column)  # its row: the tuples that are not NULL
        self.order: NDArray[np.int32] = np.array([self.end], np.int32)
        self._keys: Any = [] if type_.held_as_text else np.empty(0, np.int64)
        self._waiting: list[tuple[Any, int]] = []  # cuts that are not in the order yet
        self._known: dict[Key, int] = {}  # all cuts, or if there are many only those that wait
        self._many = False
        self._unused = 0
        self._locator = _make_locator(type_, self._keys)

    def __len__(self) -> int:
        return len(self.order)

    def pair(self, interval: Interval) -> tuple[int, int]:
        """The ids of an interval's two cuts, used once more."""
        low = NO_TUPLE
        if interval.low is not None:
            low = self._cut(interval.low, above=not interval.low_closed)
        if interval.high is None:
            return low, self.end
        return low, self._cut(interval.high, above=interval.high_closed)

    def release(self, row_id: int) -> None:
        """One query less uses the cut."""
        if row_id not in (NO_TUPLE, self.end) and self._ids.drop(row_id):
            self._unused += 1

    def settle(self) -> bool:
        """Bring the order up to date; says whether it changed."""
        changed = bool(self._waiting)
        if self._waiting:
            self._merge()
        if self._unused > max(_FEW_UNUSED, len(self.order) // 2):
            self._purge()
            changed = True
        if changed:
            self._locator = _make_locator(self._type, self._keys)
        return changed

    def locate(self, column: Column, out: NDArray[np.int32]) -> None:
        """Write for each value the number of cuts not above it; NULL is beyond the end."""
        if self._type.is_nested:  # nobody asks about its order, only about what is in it
            out[:] = 0
            if column.valid is not None:
                out[~column.valid] = len(self.order)
            return
        self._locator.locate(column, out)

    @property
    def nbytes(self) -> int:
        """Memory of the sorted order, about."""
        return self.order.nbytes * 3 + self._locator.nbytes

    def _cut(self, value: Value, *, above: bool) -> int:
        key: Key | None
        if self._is_whole and isinstance(value, int) and -_LARGEST < value < _LARGEST:
            key = value + above
        else:
            key = _key(self._type, value, above=above)
        if key is None:
            return self.end
        row_id = self._known.get(key)
        if row_id is None and self._many:
            at = bisect_left(self._keys, key)
            if at < len(self._keys) and self._keys[at] == key:
                row_id = int(self.order[at])
        uses = self._ids.uses
        if row_id is None:
            row_id = self._known[key] = self._ids.take(self._column)
            self._waiting.append((key, row_id))
            return row_id
        if not uses[row_id]:
            self._unused -= 1
        uses[row_id] += 1
        return row_id

    def _merge(self) -> None:
        new = sorted(self._waiting)
        self._waiting = []
        ids = np.array([row_id for _, row_id in new], np.int32)
        keys = [key for key, _ in new]
        if self._type.held_as_text:
            places = np.array([bisect_left(self._keys, key) for key in keys], np.int64)
            self._keys = sorted([*self._keys, *keys])
        else:
            places = np.searchsorted(self._keys, np.array(keys, np.int64))
            self._keys = np.insert(self._keys, places, np.array(keys, np.int64))
        self.order = np.insert(self.order, places, ids)
        if len(self.order) > _MOST_KNOWN:
            self._known, self._many = {}, True

    def _purge(self) -> None:
        uses = self._ids.uses
        keep = np.array([uses[row_id] > 0 for row_id in self.order.tolist()], np.bool_)
        for row_id in self.order[~keep].tolist():
            self._ids.free(row_id)
        self.order = self.order[keep]
        if self._type.held_as_text:
            self._keys = [key for key, kept in zip(self._keys, keep, strict=False) if kept]
        else:
            self._keys = self._keys[keep[:-1]]
        self._unused = 0
        self._many = len(self.order) > _MOST_KNOWN
        keys = [] if self._many else list(self._keys)
        self._known = dict(zip(keys, self.order.tolist(), strict=False))


def _key(type_: ColumnType, value: Value, *, above: bool) -> Key | None:
    """The smallest value above a cut, as a key; None for the cut at the end."""
    if isinstance(value, str):
        return value.encode() + (b"\0" if above else b"")
    if type_ is ColumnType.DOUBLE:
        key = double_key(float(value))
    elif type_ is ColumnType.BOOLEAN:
        return None if value and above else int(value) + above
    else:
        key = max(int(value), -_LARGEST - 1)
    key += above
    return None if key > _LARGEST else key


def double_key(value: float) -> int:
    """A whole number for a double, in the order of the doubles: one zero, NaN above Infinity."""
    if value != value:
        return _NAN_KEY
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else bits ^ _LARGEST


def _make_locator(type_: ColumnType, keys: Any) -> _Locator:
    if type_.held_as_text:
        return _TextLocator(keys)
    if type_ is ColumnType.DOUBLE:
        return _DoubleLocator(keys)
    return _WholeLocator(keys)


class _WholeLocator:
    """Cells of 2**shift neighbouring whole numbers."""

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self._keys = keys
        self._base, self._shift, cells = 0, 0, 1
        if len(keys):
            self._base = int(keys[0])
            spread = int(keys[-1]) - self._base
            while spread >> self._shift >= _MOST_CELLS:
                self._shift += 1
            cells = (spread >> self._shift) + 1
        distance = keys.astype(np.uint64) - np.uint64(self._base % 2**64)
        self._starts = _starts((distance >> np.uint64(self._shift)).astype(np.int64), cells)

    @property
    def nbytes(self) -> int:
        return self._starts.nbytes

    def locate(self, column: Column, out: NDArray[np.int32]) -> None:
        values = np.ascontiguousarray(column.values, np.int64)
        locate_whole(values, _mask(column), self._keys, self._base, self._shift, self._starts, out)


class _DoubleLocator:
    """Cells of equal width between the smallest and the largest constant."""

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self._keys = np.append(
            keys, (_LARGEST, _LARGEST)
        )  # two more, so that a look ahead finds something
        values = _doubles_of(keys)
        finite = values[np.isfinite(values)]
        self._base, self._scale = 0.0, 0.0
        cells = min(_MOST_CELLS, 4 * len(keys) + 1)
        if len(finite) and finite[-1] > finite[0]:
            self._base = float(finite[0])
            with np.errstate(over="ignore"):
                self._scale = float(cells / (finite[-1] - finite[0]))
        if not np.isfinite(self._scale):
            self._scale = 0.0
        self._starts = _starts(double_cells(values, self._base, self._scale, cells), cells)

    @property
    def nbytes(self) -> int:
        return self._starts.nbytes

    def locate(self, column: Column, out: NDArray[np.int32]) -> None:
        values = np.ascontiguousarray(column.values)
        locate_doubles(
            values, _mask(column), self._keys,
            self._base, self._scale, self._starts, out,
        )  # fmt: skip


class _TextLocator:
    """A binary search by bytes: ranges of text are rare."""

    def __init__(self, keys: list[bytes]) -> None:
        self._offsets = np.zeros(len(keys) + 1, np.int64)
        np.cumsum([len(key) for key in keys], out=self._offsets[1:])
        self._bytes = np.frombuffer(b"".join(keys), np.uint8)

    @property
    def nbytes(self) -> int:
        return self._offsets.nbytes + self._bytes.nbytes

    def locate(self, column: Column, out: NDArray[np.int32]) -> None:
        offsets, data = text_buffers(column.values)
        locate_texts(offsets, data, _mask(column), self._offsets, self._bytes, out)


_Locator = _WholeLocator | _DoubleLocator | _TextLocator
_NO_MASK = np.empty(0, np.bool_)


def _mask(column: Column) -> NDArray[np.bool_]:
    return _NO_MASK if column.valid is None else np.ascontiguousarray(column.valid)


def _starts(cell_of_key: NDArray[np.int64], cells: int) -> NDArray[np.int32]:
    """Where each cell's keys begin, and the end of the last."""
    starts = np.zeros(cells + 1, np.int32)
    np.cumsum(np.bincount(cell_of_key, minlength=cells), out=starts[1:])
    return starts


def _doubles_of(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles whose keys these are, Infinity for those above it."""
    values = np.where(keys < 0, keys ^ _LARGEST, keys).view(np.float64)
    return np.where(np.isnan(values), np.inf, values)


@njit(cache=True, nogil=True, inline="always")
def _double_cell(value, base, scale, last):  # type: ignore[no-untyped-def]
    """Which cell a double is in, `last` at most: never falls as the double grows, NaN being largest."""
    place = (value - base) * scale if scale != 0.0 else 0.0
    place = last if not place < last else place  # also NaN
    return np.int64(max(0.0, place))


@njit(cache=True, nogil=True)
def double_cells(values, base, scale, cells):  # type: ignore[no-untyped-def]
    """The cells of doubles."""
    found = np.empty(len(values), np.int64)
    for at in range(len(values)):
        found[at] = _double_cell(values[at], base, scale, np.float64(cells - 1))
    return found


@njit(cache=True, nogil=True, inline="always")
def _not_above(keys, low, high, key):  # type: ignore[no-untyped-def]
    """How many keys are at most `key`, given that it is between low and high."""
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def locate_whole(values, valid, keys, base, shift, starts, out):  # type: ignore[no-untyped-def]
    """The bucket of each whole number."""
    cells = np.uint64(len(starts) - 1)
    for at in range(len(values)):
        value = values[at]
        if value < base:
            out[at] = 0
            continue
        cell = (np.uint64(value) - np.uint64(base)) >> np.uint64(shift)
        if cell >= cells:
            out[at] = len(keys)
        elif shift == 0:
            out[at] = starts[cell + np.uint64(1)]
        else:
            out[at] = _not_above(keys, starts[cell], starts[cell + np.uint64(1)], value)
    if len(valid):
        for at in range(len(values)):
            if not valid[at]:
                out[at] = len(keys) + 1


@njit(cache=True, nogil=True)
def locate_doubles(values, valid, keys, base, scale, starts, out):  # type: ignore[no-untyped-def]
    """The bucket of each double. `keys` has two large ones more than there are."""
    last = np.float64(len(starts) - 2)
    for at in range(len(values)):
        value = values[at] + 0.0  # -0.0 becomes 0.0
        bits = double_bits(value)
        key = bits ^ ((bits >> 63) & np.int64(_LARGEST))
        key = np.int64(_NAN_KEY) if value != value else key
        cell = np.uint64(_double_cell(value, base, scale, last))
        low = np.uint64(starts[cell])
        # Nearly every cell has two keys at most: two comparisons without a branch find the place.
        if np.uint64(starts[cell + np.uint64(1)]) - low <= np.uint64(2):
            found = np.int32(keys[low] <= key) + np.int32(keys[low + np.uint64(1)] <= key)
            out[at] = np.int32(low) + found
        else:
            out[at] = _not_above(keys, np.int64(low), np.int64(starts[cell + np.uint64(1)]), key)
    if len(valid):
        for at in range(len(values)):
            if not valid[at]:
                out[at] = len(keys) - 1


@njit(cache=True, nogil=True)
def locate_texts(offsets, data, valid, key_offsets, key_data, out):  # type: ignore[no-untyped-def]
    """The bucket of each text, by its bytes."""
    keys = len(key_offsets) - 1
    for at in range(len(out)):
        if len(valid) and not valid[at]:
            out[at] = keys + 1
            continue
        low, high = 0, keys
        length = offsets[at + 1] - offsets[at]
        while low < high:
            middle = (low + high) >> 1
            key_length = key_offsets[middle + 1] - key_offsets[middle]
            below = key_length <= length
            for byte in range(min(length, key_length)):
                mine, its = data[offsets[at] + byte], key_data[key_offsets[middle] + byte]
                if mine != its:
                    below = its < mine
                    break
            if below:
                low = middle + 1
            else:
                high = middle
        out[at] = low
