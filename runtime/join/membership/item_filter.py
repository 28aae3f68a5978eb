"""The filter of one join item: for each tuple of a packet, the slots that want it, as bits beside the tuple.

A join needs the outcome by tuple and has far fewer slots than a stream has queries, so most conditions are answered by rank
lineage: per column the limits of all slots are sorted, the bitmap of every stretch between two limits is made beforehand,
and a tuple's lineage is the AND of one bitmap a column. It costs one binary search a column and tuple, whatever the slots.

    slot 0: x >= 5 AND y = 1      x: cuts 3 | 5      sets {} {1} {0,1}
    slot 1: x >= 3                y: cuts 1 | 2      sets {1} {0,1} {1}      tuple (4, 1): {1} & {0,1} = {1}

Values are compared as whole numbers: doubles by their bits, in an order that keeps theirs, with NaN on top and one zero, so
that "greater than v" is "at least the number after v". Formulas that are no conjunction of such ranges (text, OR across
columns, expressions) go to a grouped filter, and so does everything once the bitmaps would grow too large.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.normal import NEVER, AllOf, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.join.step.conditions import place_among
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import bitmap, toggle_bits, word_count
from cqc.runtime.state.lanes import writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import Formula, Interval, Value
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.columns.packet import Packet

_LEAST = -(1 << 63)
_MOST = (1 << 63) - 1
_NAN_KEY = _MOST
_MOST_BYTES = 64 << 20  # of the bitmaps of one column


class ItemFilter:
    """Slots with a formula each, over packets of one relation."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = tuple(types)
        self._formulas: dict[int, Formula] = {}
        self._ranges: dict[int, dict[int, ValueAtom]] = {}  # by slot, by column
        self._others = StreamFilter(self._types)
        self._other_slots: set[int] = set()
        self._columns: list[ColumnSets] | None = None
        self._words = 1
        self._start = np.zeros(1, np.uint64)

    def add(self, slot: int, formula: Formula) -> None:
        """Give a slot its formula."""
        self._columns = None
        self._formulas[slot] = formula
        ranges = column_ranges(formula)
        if ranges is None or any(self._types[column].held_as_text for column in ranges):
            self._give_away(slot)
        else:
            self._ranges[slot] = ranges

    def remove(self, slot: int) -> None:
        """Free a slot."""
        self._columns = None
        del self._formulas[slot]
        if slot in self._other_slots:
            self._others.remove(slot)
            self._other_slots.remove(slot)
        else:
            del self._ranges[slot]

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return self._others.failures

    def ranges(self) -> list[ColumnSets]:
        """The columns that some slot limits; another list whenever that has changed."""
        return self._columns if self._columns is not None else self._prepare()

    @property
    def is_plain(self) -> bool:
        """Whether ranges of numbers and instants say everything."""
        types = [self._types[each.column] for each in self.ranges()]
        return not self._other_slots and ColumnType.BOOLEAN not in types

    @property
    def start(self) -> NDArray[np.uint64]:
        """The slots that a tuple has before any range is asked."""
        return self._start

    def match(self, packet: Packet) -> NDArray[np.uint64]:
        """[tuples, words]: for each tuple the slots that want it, as bits."""
        columns = self.ranges()
        lineage = np.empty((len(packet), self._words), np.uint64)
        lineage[:] = self._start
        for each in columns:
            each.narrow(packet.columns[each.column], lineage)
        if self._other_slots:
            others = self._others.match(packet).by_tuple()
            words = min(others.shape[1], self._words)
            lineage[:, :words] |= others[:, :words]
        return lineage

    def _give_away(self, slot: int) -> None:
        self._others.add(slot, self._formulas[slot])
        self._other_slots.add(slot)

    def _prepare(self) -> list[ColumnSets]:
        self._words = word_count(max(self._formulas, default=0) + 1)
        numbers = sorted({column for ranges in self._ranges.values() for column in ranges})
        columns = [
            ColumnSets(column, self._types[column], self._ranges, self._words) for column in numbers
        ]
        if any(each.sets.nbytes > _MOST_BYTES for each in columns):
            for slot in list(self._ranges):
                del self._ranges[slot]
                self._give_away(slot)
            columns = []
        self._start = bitmap(
            [slot for slot in self._ranges if self._formulas[slot] != NEVER], self._words
        )
        self._columns = columns
        return columns


class ColumnSets:
    """The slots that each stretch of one column's values allows."""

    def __init__(
        self, column: int, type_: ColumnType, ranges: dict[int, dict[int, ValueAtom]], words: int
    ) -> None:
        self.column = column
        self.is_double = type_ is ColumnType.DOUBLE
        begins: list[
            tuple[int, int]
        ] = []  # (key, slot): from here on the slot is allowed, until its next end
        ends: list[tuple[int, int]] = []
        free: list[int] = []
        null: list[int] = []
        for slot, own in ranges.items():
            atom = own.get(column)
            if atom is None:
                free.append(slot)
                continue
            if atom.matches_null:
                null.append(slot)
            for interval in atom.intervals:
                low, high = interval_keys(interval, is_double=self.is_double)
                if low <= high:
                    begins.append((low, slot))
                    if high < _MOST:
                        ends.append((high + 1, slot))
        changes = begins + ends
        keys = np.array([key for key, _ in changes], np.int64)
        self.cuts = np.unique(keys)
        toggles = np.zeros((len(self.cuts) + 1, words), np.uint64)
        slots = np.array([slot for _, slot in changes], np.int64)
        toggle_bits(toggles, np.searchsorted(self.cuts, keys) + 1, slots)
        self.sets = np.bitwise_xor.accumulate(toggles, axis=0) | bitmap(free, words)
        self._null_set = bitmap(free + null, words)

    def narrow(self, column: Column, lineage: NDArray[np.uint64]) -> None:
        """AND the allowed slots into each tuple's lineage."""
        valid = _ALL_VALID if column.valid is None else writable(column.valid)
        if self.is_double:
            values = writable(column.values)
            narrow_doubles(values, valid, self.cuts, self.sets, self._null_set, lineage)
        else:
            values = writable(column.values.astype(np.int64, copy=False))
            narrow_numbers(values, valid, self.cuts, self.sets, self._null_set, lineage)


_ALL_VALID = np.ones(0, np.bool_)  # stands for a column without NULL
_NO_CUTS = np.zeros(0, np.int64)


def column_ranges(formula: Formula) -> dict[int, ValueAtom] | None:
    """The formula as one atom a column, all of which must hold; None when it is not of that form."""
    if formula == NEVER:
        return {}
    parts = formula.parts if isinstance(formula, AllOf) else (formula,)
    found: dict[int, ValueAtom] = {}
    for part in parts:
        if not isinstance(part, ValueAtom) or part.column in found:
            return None
        found[part.column] = part
    return found


def interval_keys(interval: Interval, *, is_double: bool) -> tuple[int, int]:
    """The least and the largest key inside an interval."""
    low, high = _LEAST, _MOST
    if interval.low is not None:
        low = _key(interval.low, is_double=is_double) + (0 if interval.low_closed else 1)
    if interval.high is not None:
        high = _key(interval.high, is_double=is_double) - (0 if interval.high_closed else 1)
    return low, high


def _key(value: Value, *, is_double: bool) -> int:
    if not is_double:
        return int(value)
    number = float(value)
    if number != number:
        return _NAN_KEY
    bits: int = struct.unpack("<q", struct.pack("<d", number + 0.0))[0]
    return bits if bits >= 0 else bits ^ _MOST


@njit(cache=True, nogil=True, inline="always")
def double_key(value, one, bits):  # type: ignore[no-untyped-def]
    """The whole number that stands for a double; `one` is room for one, `bits` the same as a whole number."""
    if value != value:
        return np.int64(_NAN_KEY)
    one[0] = value + 0.0
    return bits[0] if bits[0] >= 0 else bits[0] ^ np.int64(_MOST)


@njit(cache=True, nogil=True)
def narrow_numbers(values, valid, cuts, sets, null_set, lineage):  # type: ignore[no-untyped-def]
    """lineage[row] &= the slots that allow values[row]; an empty `valid` means that no value is NULL."""
    # The loops are written out: a helper that is handed arrays, or a slice, would count references for every tuple.
    words = lineage.shape[1]
    for row in range(len(values)):
        if len(valid) and not valid[row]:
            for word in range(words):
                lineage[row, word] &= null_set[word]
        else:
            place = place_among(cuts, values[row])
            for word in range(words):
                lineage[row, word] &= sets[place, word]


@njit(cache=True, nogil=True)
def narrow_doubles(values, valid, cuts, sets, null_set, lineage):  # type: ignore[no-untyped-def]
    """The same for doubles, by keys in the order of their values."""
    one = np.empty(1, np.float64)
    bits = one.view(np.int64)
    words = lineage.shape[1]
    for row in range(len(values)):
        if len(valid) and not valid[row]:
            for word in range(words):
                lineage[row, word] &= null_set[word]
        else:
            place = place_among(cuts, double_key(values[row], one, bits))
            for word in range(words):
                lineage[row, word] &= sets[place, word]


def warm() -> None:
    """Compile this module's kernels."""
    numbers, words = np.zeros(1, np.int64), np.zeros((1, 1), np.uint64)
    narrow_numbers(numbers, _ALL_VALID, _NO_CUTS, words, words[0], words)
    narrow_doubles(np.zeros(1), _ALL_VALID, _NO_CUTS, words, words[0], words)
