"""Hash chains over the tuples of a shared state: who has this key, newest first.

Each key column of a state has buckets of positions, and each tuple links to the next older tuple of its bucket. Positions
only grow, so a chain is in falling order: a walk ends at the first position that was purged, and nothing is ever unlinked.

    position  0 1 2 3 4      key of position   7 5 7 7 5
    bucket of 7: 3 -> 2 -> 0 -> end            bucket of 5: 4 -> 1 -> end

Keys are int64 whatever the column's type, made so that equal values (in the sense of the language) have equal keys: DOUBLE
by its bits with one zero and one NaN, BIGINT compared with DOUBLE by the bits of its DOUBLE, text by a 64-bit hash
(a match on text is verified on the texts themselves). A NULL key is in no chain.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import uint64

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.kernel import njit
from cqc.runtime.state.lanes import text_buffers, writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

NEXT, KEY = 0, 1  # the two fields of a link
NO_ROWS = np.zeros(0, np.int64)
_END = -1


class KeyKind(Enum):
    """How a column's values become keys."""

    PLAIN = "plain"
    AS_DOUBLE = "as double"


def keys_of(column: Column, kind: KeyKind) -> NDArray[np.int64]:
    """The keys of a column's values (anything where NULL)."""
    if column.type.held_as_text:
        offsets, data = text_buffers(column.values)
        return hash_texts(offsets, writable(data))  # type: ignore[no-any-return]  # a numba kernel
    if column.type is ColumnType.DOUBLE or kind is KeyKind.AS_DOUBLE:
        return double_keys(writable(column.values.astype(np.float64, copy=False)))  # type: ignore[no-any-return]
    if column.type is ColumnType.BOOLEAN:
        return column.values.astype(np.int64)  # type: ignore[no-any-return]
    return column.values  # type: ignore[no-any-return]  # int64 already


@njit(cache=True, nogil=True)
def double_keys(values):  # type: ignore[no-untyped-def]
    """The bits of each double, with one zero and one NaN."""
    cleaned = np.empty(len(values), np.float64)
    for row in range(len(values)):
        value = values[row]
        if value != value:
            cleaned[row] = np.nan
        else:
            cleaned[row] = value + 0.0  # -0.0 becomes 0.0
    return cleaned.view(np.int64)


@njit(cache=True, nogil=True)
def hash_texts(offsets, data):  # type: ignore[no-untyped-def]
    """A 64-bit hash of each text (FNV-1a over its bytes, finished by a multiply-shift)."""
    keys = np.empty(len(offsets) - 1, np.int64)
    for row in range(len(keys)):
        code = uint64(0xCBF29CE484222325)
        for at in range(offsets[row], offsets[row + 1]):
            code = (code ^ uint64(data[at])) * uint64(0x100000001B3)
        code ^= code >> uint64(32)
        keys[row] = np.int64(code * uint64(0x9E3779B97F4A7C15))
    return keys


@njit(cache=True, nogil=True, inline="always")
def bucket_of(key, shift):  # type: ignore[no-untyped-def]
    """The bucket of a key: the high bits of a multiplicative hash; `shift` is 64 - log2(buckets)."""
    mixed = uint64(key) ^ (uint64(key) >> uint64(32))
    return np.int64((mixed * uint64(0x9E3779B97F4A7C15)) >> uint64(shift))


@njit(cache=True, nogil=True)
def link(heads, links, valid, form_from, form_to, first, base, count, shift):  # type: ignore[no-untyped-def]
    """Put positions first..first+count-1, whose keys are in `links`, at the front of their chains in some forms."""
    for form in range(form_from, form_to):
        for row in range(count):
            index = first + row - base
            if valid[form, index]:
                bucket = bucket_of(links[form, index, 1], shift)
                links[form, index, 0] = heads[form, bucket]
                heads[form, bucket] = first + row
            else:
                links[form, index, 0] = _END


class HashChains:
    """All key columns of one state: `links[form, index] = (next older position, key)`, `heads[form, bucket]`.

    A walk stays in one form: the links of a form lie beside each other, so that as many as can be are near the processor.
    """

    __slots__ = (
        "_forms",
        "_rows",
        "heads",
        "links",
        "shift",
        "valid",
        "whole_columns",
        "whole_rows",
    )

    def __init__(self, capacity: int) -> None:
        self._forms: dict[tuple[int, KeyKind], int] = {}
        self._rows: list[int | None] = []
        # Where the keys of every form are whole numbers, as the state has them: their rows there, and their columns.
        self.whole_rows = NO_ROWS
        self.whole_columns: tuple[int, ...] = ()
        self.valid = np.zeros((0, capacity), np.bool_)
        self.links = np.zeros((0, capacity, 2), np.int64)
        self._new_heads()

    def form(self, column: int, kind: KeyKind) -> int | None:
        return self._forms.get((column, kind))

    def add_form(self, column: int, kind: KeyKind, whole_row: int | None = None) -> int:
        """Make room for one more key column; the caller then inserts the keys of the tuples that are there.

        `whole_row`: where the state has the values of the column as whole numbers.
        """
        number = len(self._forms)
        self._forms[column, kind] = number
        self._rows.append(whole_row if kind is KeyKind.PLAIN else None)
        self.whole_rows, self.whole_columns = NO_ROWS, ()
        if None not in self._rows:
            self.whole_rows = np.array(self._rows, np.int64)
            self.whole_columns = tuple(place for place, _ in self._forms)
        capacity = self.links.shape[1]
        self.links = np.concatenate([self.links, np.zeros((1, capacity, 2), np.int64)])
        self.valid = np.concatenate([self.valid, np.zeros((1, capacity), np.bool_)])
        old = self.heads
        self._new_heads()
        self.heads[:number] = old
        return number

    def insert(self, form: int, column: Column, first: int, base: int) -> None:
        """Chain the tuples from position `first` on in one form; they have these values in the form's column."""
        (kind,) = (kind for (_, kind), number in self._forms.items() if number == form)
        count = len(column.values)
        at = first - base
        self.links[form, at : at + count, KEY] = keys_of(column, kind)
        self.valid[form, at : at + count] = True if column.valid is None else column.valid
        link(self.heads, self.links, self.valid, form, form + 1, first, base, count, self.shift)

    def insert_all(self, columns: Sequence[Column], first: int, base: int) -> None:
        """Chain tuples that have these columns in every form."""
        if not self._forms:
            return
        at, count = first - base, len(columns[0].values)
        links, valid = self.links[:, at : at + count], self.valid[:, at : at + count]
        valid[:] = True
        for (place, kind), form in self._forms.items():
            column = columns[place]
            links[form, :, KEY] = keys_of(column, kind)
            if column.valid is not None:
                valid[form] = column.valid
        forms = len(self._forms)
        link(self.heads, self.links, self.valid, 0, forms, first, base, count, self.shift)

    def mean_length(self, form: int, part: slice) -> float:
        """How many tuples of a part of the state one of them meets on the way through its chain, itself counted."""
        keys = self.links[form, part, KEY][self.valid[form, part]]
        if not len(keys):
            return 0.0
        counts = np.unique(keys, return_counts=True)[1]
        return float(np.square(counts).sum() / len(keys))

    def relocate(self, start: int, count: int, capacity: int, first: int) -> None:
        """Move with the state; when the capacity changed, the chains are linked anew in as many buckets."""
        forms = len(self._forms)
        grown = capacity != self.links.shape[1]
        stop = start + count
        kept, kept_valid = self.links[:, start:stop], self.valid[:, start:stop]
        if grown:
            self.links = np.zeros((forms, capacity, 2), np.int64)
            self.valid = np.zeros((forms, capacity), np.bool_)
        self.links[:, :count] = kept
        self.valid[:, :count] = kept_valid
        if grown:
            self._new_heads()
            link(self.heads, self.links, self.valid, 0, forms, first, first, count, self.shift)

    def _new_heads(self) -> None:
        buckets = max(1024, 1 << (self.links.shape[1] - 1).bit_length())
        self.shift = 64 - (buckets.bit_length() - 1)
        self.heads = np.full((len(self._forms), buckets), _END, np.int64)

    @property
    def nbytes(self) -> int:
        return int(self.links.nbytes + self.heads.nbytes + self.valid.nbytes)


def warm() -> None:
    """Compile this module's kernels."""
    from cqc.runtime.columns.columns import from_python

    chains = HashChains(4)
    for at, (type_, value) in enumerate(_SAMPLES):
        form = chains.add_form(at, KeyKind.PLAIN)
        chains.insert(form, from_python(type_, [value]), 0, 0)


_SAMPLES: list[tuple[ColumnType, Any]] = [
    (ColumnType.BIGINT, 1),
    (ColumnType.DOUBLE, 1.0),
    (ColumnType.STRING, "a"),
]
