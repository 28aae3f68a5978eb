"""Which rows are equal: groups of GROUP BY, rows of DISTINCT, values of COUNT(DISTINCT ...).

NULLs are one value, NaNs are one value, and -0.0 is 0.0. Every column becomes numbers from 0 on, equal where the values are
(Arrow's hash table does the work), and several columns are folded into one such numbering. `GroupNumbers` remembers the
numbers it gave, so that rows that come later find their group again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import DTYPES, Column, null_column, to_python

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

_NAN_BITS = int(np.array(np.nan).view(np.int64))


def number_rows(columns: Sequence[Column], length: int) -> tuple[NDArray[np.int64], int]:
    """A number for each row, equal where the rows are, in order of first appearance; and how many there are."""
    numbers, count = np.zeros(length, np.int64), min(length, 1)
    for at, column in enumerate(columns):
        own, own_count = number_values(column)
        if at == 0:
            numbers, count = own, own_count
        elif own_count > 1:
            numbers, count = _encode(pa.array(numbers * own_count + own))
    return numbers, count


def number_values(column: Column) -> tuple[NDArray[np.int64], int]:
    """The same for one column."""
    if column.type.held_as_text:
        return _encode(column.values)
    values = canonical(column)
    missing = None if column.valid is None else ~column.valid
    return _encode(pa.array(values, mask=missing))


def canonical(column: Column) -> NDArray[np.int64]:
    """Numbers as int64, equal where the values are equal (NULL aside)."""
    if column.type is not ColumnType.DOUBLE:
        whole: NDArray[np.int64] = column.values.astype(np.int64)
        return whole
    bits: NDArray[np.int64] = (column.values + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
    return np.where(np.isnan(column.values), _NAN_BITS, bits)


def first_rows(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """For each number the first row that has it."""
    firsts = np.empty(count, np.int64)
    firsts[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return firsts


def _encode(values: Any) -> tuple[NDArray[np.int64], int]:
    encoded = values.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


class GroupNumbers:
    """Groups seen so far, numbered as they came, with the key values of each."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = tuple(
            ColumnType.STRING if type_ is ColumnType.NULL else type_ for type_ in types
        )
        self._numbers: dict[tuple[Hashable, ...], int] = {}
        self._values: list[list[Any]] = [[] for _ in self._types]
        self._columns: tuple[Column, ...] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, keys: Sequence[Column], length: int) -> NDArray[np.int64]:
        """The group of each row, new ones made as needed."""
        local, count = number_rows(keys, length)
        firsts = first_rows(local, count)
        sampled = [_python_keys(key, firsts) for key in keys]
        found = np.empty(count, np.int64)
        for at, key in enumerate(zip(*sampled, strict=True)):
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._numbers)
                for values, value in zip(self._values, key, strict=True):
                    values.append(value)
                self._columns = None
            found[at] = number
        return found[local]

    def key_columns(self) -> tuple[Column, ...]:
        """The key values of every group, by number."""
        if self._columns is None:
            self._columns = tuple(
                _column_of_keys(type_, values)
                for type_, values in zip(self._types, self._values, strict=True)
            )
        return self._columns


def _python_keys(column: Column, rows: NDArray[np.int64]) -> list[Any]:
    """Key values as things that can be looked up: doubles by their bits, because NaN does not equal itself."""
    if column.type.held_as_text:
        texts: list[Any] = column.values.take(pa.array(rows)).to_pylist()
        return texts
    valid = None if column.valid is None else column.valid[rows]
    return to_python(Column(ColumnType.BIGINT, canonical(column)[rows], valid))


def _column_of_keys(type_: ColumnType, values: list[Any]) -> Column:
    if type_.held_as_text:
        missing = np.array([value is not None for value in values], np.bool_)
        return Column(type_, pa.array(values, pa.string()), None if missing.all() else missing)
    if not values:
        return null_column(type_, 0)
    valid = np.array([value is not None for value in values], np.bool_)
    numbers = np.array([0 if value is None else value for value in values], np.int64)
    made = numbers.view(np.float64) if type_ is ColumnType.DOUBLE else numbers.astype(DTYPES[type_])
    return Column(type_, made, None if valid.all() else valid)
