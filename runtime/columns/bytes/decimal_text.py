"""DECIMAL of up to 64 bits as people write it, all digits, over whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.bytes.byte_columns import texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def decimal_texts(digits: NDArray[np.int64], scale: int) -> pa.StringArray:
    """`-150` with two after the point is `-1.50`."""
    offsets = np.zeros(len(digits) + 1, np.int64)
    made = np.empty((22 + max(scale, 0)) * len(digits), np.uint8)
    _write(np.ascontiguousarray(digits, np.int64).copy(), scale, offsets, made)
    return texts_of(offsets, made[: offsets[-1]])


@njit(cache=True, nogil=True)
def _write(digits, scale, offsets, made):  # type: ignore[no-untyped-def]
    to = 0
    ten = np.uint64(10)
    for row in range(len(digits)):
        size = np.uint64(digits[row])
        if digits[row] < 0:
            size = ~size + np.uint64(1)
            made[to] = 45
            to += 1
        count, rest = 1, size // ten
        while rest != 0:
            rest = rest // ten
            count += 1
        count = max(count, scale + 1)
        width = count + (1 if scale else 0)
        for at in range(width - 1, -1, -1):
            if scale and at == width - 1 - scale:
                made[to + at] = 46
                continue
            rest = size // ten
            made[to + at] = 48 + (size - rest * ten)
            size = rest
        to += width
        offsets[row + 1] = to


def warm() -> None:
    """Compile this module's kernels."""
    decimal_texts(np.array([1]), 2)
