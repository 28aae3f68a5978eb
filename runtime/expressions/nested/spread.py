"""Constants over all rows, for columns that may be nested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.columns.columns import spread as spread_flat
from cqc.runtime.columns.nested import NestedColumn

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column


def spread(column: Column, rows: int) -> Column:
    """One value a row, where a constant stands for all; nested values that are no constant are not made texts of for that."""
    return column if isinstance(column, NestedColumn) else spread_flat(column, rows)
