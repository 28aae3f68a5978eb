"""Kernels of the functions of text (the compiler's `functions/text.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.columns.distinct_text import text_of_text
from cqc.runtime.expressions.comparisons import truth
from cqc.runtime.expressions.like_patterns import lower_texts
from cqc.runtime.expressions.row_by_row import (
    constant_text,
    is_constant,
    texts_of_rows,
    truths_of_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.arithmetic import Outcome
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel


def _lower(column: Column) -> Outcome:
    return lower_texts(column.values), None


def _upper(column: Column) -> Outcome:
    texts = column.values
    if not isinstance(texts, pa.Scalar) and pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts), None
    return text_of_text(texts, str.upper), None


def _length(column: Column) -> Outcome:
    if isinstance(column.values, pa.Scalar):
        return np.asarray(len(column.values.as_py() or ""), dtype=np.int64), None
    lengths = pc.fill_null(pc.utf8_length(column.values), 0)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64), None


def _concat(*columns: Column) -> Outcome:
    return pc.binary_join_element_wise(*(column.values for column in columns), ""), None


def _substring(text: Column, position: Column, length: Column | None = None) -> Outcome:
    """Positions count from 1, negative ones from the end, 0 is the first."""
    start, size = position.values, None if length is None else length.values
    constant = start.ndim == 0 and (size is None or size.ndim == 0)
    if constant:
        count = None if size is None else int(size)
        first = int(start)
        return text_of_text(text.values, lambda value: substring(value, first, count)), None
    lengths = () if length is None else (length,)
    return texts_of_rows(substring, text, position, *lengths), None


def substring(text: str, position: int, length: int | None = None) -> str:
    """What SUBSTRING gives; what is outside the text is not there."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else start + length
    return text[max(start, 0) : max(end, 0)]


def _trim(column: Column) -> Outcome:
    return pc.utf8_trim(column.values, " "), None


def _ltrim(column: Column) -> Outcome:
    return pc.utf8_ltrim(column.values, " "), None


def _rtrim(column: Column) -> Outcome:
    return pc.utf8_rtrim(column.values, " "), None


def _reverse(column: Column) -> Outcome:
    return pc.utf8_reverse(column.values), None


def _replace(text: Column, search: Column, replacement: Column | None = None) -> Outcome:
    if not (is_constant(search) and is_constant(replacement)):
        rest = () if replacement is None else (replacement,)
        return texts_of_rows(_replaced, text, search, *rest), None
    sought = constant_text(search)
    put = "" if replacement is None else constant_text(replacement)
    return pc.replace_substring(text.values, sought, put) if sought else text.values, None


def _replaced(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _part_test(whole_column: Callable[..., Any], one_row: Callable[[str, str], bool]) -> Kernel:
    """A test of a text for a part; the part is nearly always a constant."""

    def kernel(text: Column, part: Column) -> Outcome:
        if is_constant(part):
            return truth(whole_column(text.values, constant_text(part))), None
        return truths_of_rows(one_row, text, part), None

    return kernel


KERNELS: dict[str, Kernel] = {
    "lower": _lower,
    "upper": _upper,
    "length": _length,
    "concat": _concat,
    "substring": _substring,
    "trim": _trim,
    "ltrim": _ltrim,
    "rtrim": _rtrim,
    "replace": _replace,
    "reverse": _reverse,
    "startswith": _part_test(pc.starts_with, str.startswith),
    "endswith": _part_test(pc.ends_with, str.endswith),
    "contains": _part_test(pc.match_substring, str.__contains__),
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {}
