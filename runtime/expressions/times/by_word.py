"""Functions with an argument that is nearly always one word for all rows: a unit, a pattern, the name of a zone.

Where it is a constant the function is asked once, for whole columns. Where it is a column, once for each distinct word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import select
from cqc.runtime.expressions.expression_kernels import spread
from cqc.runtime.expressions.row_by_row import constant_text, is_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import PartialOutcome

    ByWord = Callable[..., PartialOutcome]  # the word, then a Column for each other argument


def by_word(function: ByWord, words: Column, *others: Column) -> PartialOutcome:
    """The function with each word over the rows that have it."""
    if is_constant(words):
        return function(constant_text(words), *others)
    rows = len(words)
    columns = [spread(column, rows) for column in others]
    codes = words.values.dictionary_encode(null_encoding="encode")
    indices = codes.indices.to_numpy()
    order = np.argsort(indices, kind="stable")
    parts = []
    for code, word in enumerate(codes.dictionary.to_pylist()):
        mask = indices == code
        chosen = [select(column, mask) for column in columns]
        parts.append(_whole(function(word or "", *chosen), int(mask.sum())))
    return _joined(parts, order)


def _whole(outcome: PartialOutcome, rows: int) -> tuple[Any, Any, Any]:
    """Values and masks with one entry a row."""
    values, failed, present = outcome
    if isinstance(values, pa.Scalar):
        values = pa.repeat(values, rows)
    elif not isinstance(values, pa.Array):
        values = np.broadcast_to(values, (rows,))
    failed = np.broadcast_to(np.asarray(False) if failed is None else failed, (rows,))
    present = np.broadcast_to(np.asarray(True) if present is None else present, (rows,))
    return values, failed, present


def _joined(parts: list[tuple[Any, Any, Any]], order: Any) -> PartialOutcome:
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    failed = np.concatenate([part[1] for part in parts])[back]
    present = np.concatenate([part[2] for part in parts])[back]
    first = parts[0][0]
    if isinstance(first, pa.Array):
        return pa.concat_arrays([part[0] for part in parts]).take(pa.array(back)), failed, present
    return np.concatenate([part[0] for part in parts])[back], failed, present
