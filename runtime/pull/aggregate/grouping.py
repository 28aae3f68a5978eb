"""Which rows are equal: groups of GROUP BY, rows of DISTINCT, values of COUNT(DISTINCT ...).

NULLs are one value, NaNs are one value, and -0.0 is 0.0. Every column becomes numbers from 0 on, equal where the values are
(Arrow's hash table does the work), and several columns are folded into one such numbering. Numbers that hold for rows that
come later too are given by `state/key_numbers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

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
