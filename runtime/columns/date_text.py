"""Dates as text, over whole columns: `yyyy-MM-dd`, as days since the epoch.

Data has the plain form. CAST reads Spark's looser one too: a bare year, a year and a month, and anything after a space or a T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.times.instants import (
    FIRST_DAY,
    LAST_DAY,
    format_day,
    parse_day,
    parse_day_cast,
)
from cqc.runtime.columns.distinct_text import text_of_numbers, values_of_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

Parsed = tuple["NDArray[np.int64]", "NDArray[np.bool_]"]

DAY_US = 86_400_000_000
_USUAL = r"^\d{4}-\d{2}-\d{2}$"


def parse_date(texts: Any, *, cast: bool = False) -> Parsed:
    """Days of texts (an Arrow array or scalar), and which are no date."""
    usual = _by_arrow(texts)
    if usual is not None:
        return usual
    return values_of_text(texts, parse_day_cast if cast else parse_day, 0, np.int64)


def format_date(days: NDArray[np.int64]) -> Any:
    """`yyyy-MM-dd`."""
    if days.ndim == 0 or (len(days) and (days.min() < FIRST_DAY or days.max() > LAST_DAY)):
        return text_of_numbers(days, format_day)
    return pc.cast(pa.array(days).cast(pa.int32()).cast(pa.date32()), pa.string())


def format_date_column(column: Column) -> pa.StringArray:
    """The dates of a DATE column; at NULL positions any text."""
    days = column.values if column.valid is None else np.where(column.valid, column.values, 0)
    return format_date(days)


def _by_arrow(texts: Any) -> Parsed | None:
    """The whole array by Arrow, or None where it holds anything unusual."""
    if isinstance(texts, pa.Scalar):
        return None
    if not pc.all(pc.match_substring_regex(texts, _USUAL)).as_py():
        return None
    try:
        days = pc.cast(pc.cast(texts, pa.date32()), pa.int32())
    except pa.ArrowInvalid:
        return None
    made = pc.fill_null(days, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    # Arrow knows a year 0, the language does not.
    return None if len(made) and made.min() < FIRST_DAY else (made, np.zeros(len(made), np.bool_))
