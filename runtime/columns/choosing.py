"""One column or the other, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.columns.columns import Column, is_known, text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray


def choose(mask: NDArray[np.bool_], chosen: Column, other: Column) -> Column:
    """`chosen` where the mask is true, else `other`."""
    if chosen.type.held_as_text:
        made = pc.if_else(pa.array(mask), chosen.values, other.values)
        return text_column(made, chosen.type)
    values = _mixed(mask, np.asarray(chosen.values), np.asarray(other.values))
    if chosen.valid is None and other.valid is None:
        return Column(chosen.type, values)
    return Column(chosen.type, values, np.where(mask, is_known(chosen), is_known(other)))


def _mixed(
    mask: NDArray[np.bool_], chosen: NDArray[Any], other: NDArray[Any]
) -> NDArray[np.generic]:
    """Values of 64 bits are mixed bit by bit: `where` branches on each, and nobody foretells a mask."""
    if chosen.dtype != other.dtype or chosen.dtype.itemsize != 8:
        return np.where(mask, chosen, other)
    bits = other.view(np.int64)
    mixed = np.asarray(chosen.view(np.int64) ^ bits) & -mask.view(np.int8).astype(np.int64)
    mixed ^= bits
    return mixed.view(chosen.dtype)
