"""DISTINCT, ORDER BY and LIMIT over rows of several windows at once.

A periodic query that is due for many instants has its rows in one table with the number of the window beside each, so these
are done once for all of them: the window is the first key of everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.pull.aggregate.grouping import canonical, first_rows, number_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@record
class SortKey:
    """One ORDER BY key with the value for each row."""

    column: Column
    descending: bool
    nulls_first: bool


def distinct_rows(window: NDArray[np.int64], columns: Sequence[Column]) -> NDArray[np.int64]:
    """The first of equal rows of each window, ascending."""
    within = [Column(ColumnType.BIGINT, window), *columns]
    numbers, count = number_rows(within, len(window))
    return first_rows(numbers, count)


def sorted_rows(window: NDArray[np.int64], keys: Sequence[SortKey]) -> NDArray[np.int64]:
    """The rows in order, window by window; equal rows stay as they are."""
    levels: list[NDArray[np.int64]] = []
    for key in reversed(keys):
        levels += sort_levels(key)
    return np.lexsort([*levels, window])


def limited_rows(window: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The first rows of each window (its rows side by side)."""
    starts = (
        np.flatnonzero(np.concatenate(([True], window[1:] != window[:-1])))
        if len(window)
        else window
    )
    lengths = np.diff(np.append(starts, len(window)))
    within = np.arange(len(window)) - np.repeat(starts, lengths)
    return np.flatnonzero(within < limit)


def sort_levels(key: SortKey) -> list[NDArray[np.int64]]:
    """What to sort by, the least important first: the value, then whether there is one."""
    ranks = _ranks(key.column)
    if key.descending:
        ranks = ~ranks
    valid = key.column.valid
    if valid is None:
        return [ranks]
    missing = valid if key.nulls_first else ~valid
    return [np.where(valid, ranks, 0), missing.astype(np.int64)]


def _ranks(column: Column) -> NDArray[np.int64]:
    """Whole numbers in the order of the values; NaN above all."""
    if column.type.held_as_text:
        return _text_ranks(column)
    bits = canonical(column)
    if column.type is not ColumnType.DOUBLE:
        return bits
    return bits ^ ((bits >> 63) & np.int64(np.iinfo(np.int64).max))


def _text_ranks(column: Column) -> NDArray[np.int64]:
    encoded = column.values.dictionary_encode(null_encoding="mask")
    ordered = pc.sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
    ranks = np.zeros(len(ordered) + 1, np.int64)  # one more for NULL
    ranks[ordered] = np.arange(len(ordered))
    indices = encoded.indices.fill_null(len(ordered)).to_numpy(zero_copy_only=False)
    found: NDArray[np.int64] = ranks[indices]
    return found
