"""A number for each key that was seen, the same whenever it comes again; a key is the values of some columns of a row.

NULL is a value like others, NaN is one value, and -0.0 is 0.0. Keys are rows of whole numbers in one table (`key_table`): a text is its
number (`text_numbers`), any other value its bits with a second number beside it that says whether it is NULL. So there is no Python
object for a key, and the values of a key are found again by its number.

    room, floor:   ('a', 1) -> 0   ('b', 1) -> 1   ('a', NULL) -> 2   ('a', 1) -> 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import DTYPES, Column
from cqc.runtime.state.hash_chains import KeyKind, keys_of
from cqc.runtime.state.key_table import enter, locate
from cqc.runtime.state.text_numbers import TextNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SMALLEST = 256


class KeyNumbers:
    """The keys of some columns, numbered from 0 on in the order in which they came."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = tuple(
            ColumnType.STRING if type_ is ColumnType.NULL else type_ for type_ in types
        )
        self._texts = [TextNumbers() if type_.held_as_text else None for type_ in self._types]
        width = sum(1 if texts is not None else 2 for texts in self._texts)
        self._keys = np.zeros((_SMALLEST, width), np.int64)
        self._table = np.full(2 * _SMALLEST, -1, np.int64)
        self._used = 0 if self._types else 1

    def __len__(self) -> int:
        """How many keys there are; without columns, one."""
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the keys."""
        texts = sum(each.nbytes for each in self._texts if each is not None)
        return texts + int(self._keys.nbytes + self._table.nbytes)

    def of(self, columns: Sequence[Column], length: int) -> NDArray[np.int64]:
        """The number of each row's key, new ones given as needed."""
        if not self._types:
            return np.zeros(length, np.int64)
        self._reserve(length)
        keys = self._rows(columns, length, adding=True)
        found, self._used = locate(keys, self._keys, self._table, self._used, True)
        return np.asarray(found)

    def known(self, columns: Sequence[Column], length: int) -> NDArray[np.int64]:
        """The number of each row's key; -1 for a key that has none."""
        if not self._types:
            return np.zeros(length, np.int64)
        keys = self._rows(columns, length, adding=False)
        found, _ = locate(keys, self._keys, self._table, self._used, False)
        return np.asarray(found)

    def _rows(self, columns: Sequence[Column], length: int, *, adding: bool) -> NDArray[np.int64]:
        """The keys of rows as whole numbers."""
        keys = np.zeros((length, self._keys.shape[1]), np.int64)
        at = 0
        for column, texts in zip(columns, self._texts, strict=True):
            if texts is not None:
                keys[:, at] = texts.of(column) if adding else texts.known(column)
                at += 1
                continue
            keys[:, at] = keys_of(column, KeyKind.PLAIN)
            if column.valid is not None:
                missing = ~column.valid
                keys[missing, at] = 0
                keys[:, at + 1] = missing
            at += 2
        return keys

    def columns(self, numbers: NDArray[np.int64]) -> tuple[Column, ...]:
        """The keys with these numbers, by column."""
        rows, at = self._keys[numbers], 0
        found: list[Column] = []
        for type_, texts in zip(self._types, self._texts, strict=True):
            values = np.ascontiguousarray(rows[:, at])
            if texts is not None:
                found.append(_text_column(type_, texts, values))
                at += 1
                continue
            valid = rows[:, at + 1] == 0
            of_type = (
                values.view(np.float64)
                if type_ is ColumnType.DOUBLE
                else values.astype(DTYPES[type_], copy=False)
            )
            found.append(Column(type_, of_type, None if valid.all() else valid))
            at += 2
        return tuple(found)

    def _reserve(self, count: int) -> None:
        needed = self._used + count
        if needed <= len(self._keys):
            return
        capacity = 1 << (2 * needed - 1).bit_length()
        grown = np.zeros((capacity, self._keys.shape[1]), np.int64)
        grown[: self._used] = self._keys[: self._used]
        self._keys = grown
        self._table = np.full(2 * capacity, -1, np.int64)
        enter(self._keys, self._table, self._used)


def _text_column(type_: ColumnType, texts: TextNumbers, numbers: NDArray[np.int64]) -> Column:
    valid = numbers >= 0
    values = texts.texts(np.maximum(numbers, 0))
    if valid.all():
        return Column(type_, values)
    values = pc.if_else(pa.array(valid), values, pa.scalar(None, pa.string()))
    return Column(type_, values, valid)
