"""Kernels of the functions of text (the compiler's `functions/text.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.distinct import text_of_text
from cqc.runtime.patterns import lower_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.arithmetic import Outcome
    from cqc.runtime.columns import Column
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
    return _substring_rows(text, start, size), None


def _substring_rows(text: Column, start: NDArray[Any], size: NDArray[Any] | None) -> Any:
    count = len(start) if start.ndim else len(size) if size is not None else 0
    constant = isinstance(text.values, pa.Scalar)
    texts = [text.values.as_py()] * count if constant else text.values.to_pylist()
    starts = np.broadcast_to(start, (count,)).tolist()
    sizes = [None] * count if size is None else np.broadcast_to(size, (count,)).tolist()
    rows = zip(texts, starts, sizes, strict=True)
    return pa.array([None if t is None else substring(t, s, n) for t, s, n in rows], pa.string())


def substring(text: str, position: int, length: int | None) -> str:
    """What SUBSTRING gives; what is outside the text is not there."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else start + length
    return text[max(start, 0) : max(end, 0)]


KERNELS: dict[str, Kernel] = {
    "lower": _lower,
    "upper": _upper,
    "length": _length,
    "concat": _concat,
    "substring": _substring,
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {}
