"""Constants over all rows, for columns that may be nested."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.columns import spread as spread_flat
from cqc.runtime.columns.nested import NestedColumn


def spread(column: Column, rows: int) -> Column:
    """One value a row, where a constant stands for all; nested values that are no constant are not made texts of for that."""
    return column if isinstance(column, NestedColumn) else spread_flat(column, rows)


def is_constant(column: Column | None) -> bool:
    """Whether a column stands for one value on every row; so does an argument that is left out."""
    if type(column) not in (Column, type(None)):
        return False  # one with a form of its own, which would make texts when asked for values
    if column is None or isinstance(column.values, pa.Scalar):
        return True
    if isinstance(column.values, pa.Array):
        return False  # NumPy would make objects of its texts to count the dimensions
    return np.ndim(column.values) == 0
