"""What the texts of a column were found to hit, kept for the next packets.

Real text repeats: within a packet, and from one packet to the next. So each text is numbered (`text_numbers`) and searched when it is
new; of all others it is known where they lie among the cuts and which sparse atoms they hit. A column whose texts are nearly all new is
left alone for some packets. Kept until queries change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.growing_array import Growing
from cqc.runtime.columns.repeated_text import CodedHits, RepeatedText, is_long_and_new
from cqc.runtime.filter.literal_search import together
from cqc.runtime.filter.text_numbers import TextNumbers
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.filter.atoms import Atoms

_MOST_BYTES = 4 * 1024 * 1024  # of texts that are kept for one column
_FEW_ROWS = 64  # below, looking texts up costs more than it saves
_MOST_NEW = 0.75  # of the texts of a packet: with more, looking them up does not pay
_LOOK_AGAIN = 16  # packets after which a column that did not repeat is looked at again


_ALL_VALID = np.empty(0, np.bool_)


class TextsFound(NamedTuple):
    """The number of each row's text, -1 for NULL; and by number, what is known: its bucket, and the atoms that it hits."""

    numbers: NDArray[np.int32]
    buckets: NDArray[np.int32]
    starts: NDArray[np.int64]  # `ids[starts[number] : starts[number + 1]]`
    ids: NDArray[np.int32]

    def buckets_of_rows(self, null: int) -> NDArray[np.int32]:
        """Where the text of each row lies; `null` for NULL."""
        found = np.empty(len(self.numbers), np.int32)
        buckets_of_numbers(self.numbers, self.buckets, null, found)
        return found


class _Column:
    """The texts of one column."""

    def __init__(self) -> None:
        self.texts = TextNumbers(_MOST_BYTES)
        self.rests = 0  # packets for which it is left alone
        self._clear()

    def _clear(self) -> None:
        self._buckets, self._ids = Growing(np.int32), Growing(np.int32)
        self._starts = Growing(np.int64)
        self._starts.append(0)
        self._dictionary: Any = None  # the last one that came, and the numbers of its texts
        self._dictionary_numbers = np.empty(0, np.int32)

    @property
    def nbytes(self) -> int:
        held = (self.texts, self._buckets, self._ids, self._starts, self._dictionary_numbers)
        return sum(each.nbytes for each in held)

    def look(self, number: int, column: Column, atoms: Atoms) -> TextsFound | None:
        if isinstance(column, RepeatedText):
            return self._by_dictionary(number, column, atoms)
        if is_long_and_new(column):
            self.rests = _LOOK_AGAIN
            return None
        numbers = self._numbers(number, column.values, column.valid, atoms)
        return None if numbers is None else self._found(numbers)

    def _by_dictionary(self, number: int, column: RepeatedText, atoms: Atoms) -> TextsFound | None:
        distinct = column.distinct
        if self._dictionary is None or not _same(self._dictionary, distinct):
            if len(distinct) > len(column):  # most of them are not here
                numbers = self._numbers(number, column.values, column.valid, atoms)
                return None if numbers is None else self._found(numbers)
            numbers = self._numbers(number, distinct, None, atoms)
            if numbers is None:
                return None
            self._dictionary, self._dictionary_numbers = distinct, numbers
        valid = _ALL_VALID if column.valid is None else column.valid
        of_rows = np.empty(len(column), np.int32)
        numbers_of_codes(column.codes, self._dictionary_numbers, valid, of_rows)
        return self._found(of_rows)

    def _found(self, numbers: NDArray[np.int32]) -> TextsFound:
        return TextsFound(numbers, self._buckets.view(), self._starts.view(), self._ids.view())

    def _numbers(
        self, number: int, texts: Any, valid: NDArray[np.bool_] | None, atoms: Atoms
    ) -> NDArray[np.int32] | None:
        """The numbers of some texts, of which new ones are searched; None where there are too many of those."""
        found = self.texts.number(texts, valid)
        if found is None or found.anew:
            self._clear()
        if found is None:
            self.rests = _LOOK_AGAIN
            return None
        fresh = len(found.fresh)
        if fresh:
            every = fresh == len(texts)
            new = Column(ColumnType.STRING, texts if every else texts.take(pa.array(found.fresh)))
            buckets = np.empty(fresh, np.int32)
            atoms.cuts[number].locate(new, buckets)
            hits = CodedHits(*together(atoms.hits_of(number, new)), fresh)
            self._buckets.extend(buckets)
            self._starts.extend(hits.starts[1:] + len(self._ids))
            self._ids.extend(hits.ids)
        present = len(texts) if valid is None else int(np.count_nonzero(valid))
        # The first texts are new in any case; of a column that repeats, later ones are not.
        had_a_chance = found.anew or len(self.texts) - fresh >= present
        if present >= _FEW_ROWS and fresh > _MOST_NEW * present and had_a_chance:
            self.rests = _LOOK_AGAIN
        return found.numbers


class KnownTexts:
    """The texts that each column of a filter had lately."""

    def __init__(self) -> None:
        self._columns: dict[int, _Column] = {}

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return sum(each.nbytes for each in self._columns.values())

    def forget(self) -> None:
        """Queries changed: texts hit something else now."""
        self._columns.clear()

    def look(self, number: int, column: Column, atoms: Atoms) -> TextsFound | None:
        """What the texts of a column hit; None where looking them up does not pay."""
        if len(column) < _FEW_ROWS:
            return None
        known = self._columns.get(number)
        if known is None:
            known = self._columns[number] = _Column()
        if known.rests and not isinstance(column, RepeatedText):
            known.rests -= 1
            return None
        return known.look(number, column, atoms)


def _same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and (one is other or bool(one.equals(other)))


@njit(cache=True, nogil=True)
def numbers_of_codes(codes, numbers, valid, out):  # type: ignore[no-untyped-def]
    """The number of each row's text, by its code; -1 where it is not valid. `valid` may be empty: all are."""
    if len(valid) == 0:
        for row in range(len(codes)):
            out[row] = numbers[codes[row]]
        return
    for row in range(len(codes)):
        out[row] = numbers[codes[row]] if valid[row] else np.int32(-1)


@njit(cache=True, nogil=True)
def buckets_of_numbers(numbers, buckets, null, out):  # type: ignore[no-untyped-def]
    """The bucket of each row's text, by its number; `null` where that is negative."""
    for row in range(len(numbers)):
        number = numbers[row]
        out[row] = buckets[number] if number >= 0 else np.int32(null)


def warm() -> None:
    """Compile the kernels."""
    one, found = np.zeros(1, np.int32), np.empty(1, np.int32)
    numbers_of_codes(one, one, np.ones(1, np.bool_), found)
    buckets_of_numbers(one, one, 0, found)
