"""A column of long texts in stretches that fit the second-level cache.

Texts are put into lower case and then read by several searches. Where a packet has a hundred megabytes of them, each of these would
go through memory once more, and the lower-case copy would be fresh memory every time: folding alone cost as much as searching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.repeated_text import RepeatedText
from cqc.runtime.state.lanes import text_lengths

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column

STRETCH_BYTES = 1 << 20


def text_stretches(column: Column) -> list[tuple[int, int]]:
    """Where each stretch of the column begins and ends: all of it, or parts of so many bytes, or of one text that has more."""
    rows = len(column)
    if not column.type.held_as_text or not rows:
        return [(0, rows)]
    held = column.distinct if isinstance(column, RepeatedText) else column.values
    if held.nbytes <= 2 * STRETCH_BYTES:
        return [(0, rows)]
    ends = np.cumsum(text_lengths(column.values), dtype=np.int64)
    wanted = np.arange(STRETCH_BYTES, ends[-1], STRETCH_BYTES)
    stops = np.unique([0, *(np.searchsorted(ends, wanted) + 1).tolist(), rows])
    return list(zip(stops[:-1].tolist(), stops[1:].tolist(), strict=True))
