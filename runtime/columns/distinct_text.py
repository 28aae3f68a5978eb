"""Applying a Python function to a text column once per distinct value.

Some conversions have no vectorised form with exactly the language's rules. Columns of text repeat themselves, so walking
the distinct values is nearly always cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Made = TypeVar("Made")


def text_of_text(values: Any, function: Callable[[str], str]) -> Any:
    """A function from text to text over an Arrow array or scalar; NULL stays NULL."""
    if isinstance(values, pa.Scalar):
        return pa.scalar(None if not values.is_valid else function(values.as_py()), pa.string())
    encoded = values.dictionary_encode()
    made = pa.array([function(text) for text in encoded.dictionary.to_pylist()], type=pa.string())
    return made.take(encoded.indices)


def values_of_text(
    values: Any, function: Callable[[str], Made | None], empty: Made, dtype: type[np.generic]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A function from text to numbers over an Arrow array or scalar, and where it gave None.

    NULL gives `empty` and is not marked.
    """
    if isinstance(values, pa.Scalar):
        single = function(values.as_py()) if values.is_valid else empty
        return np.asarray(empty if single is None else single, dtype=dtype), np.asarray(
            single is None
        )
    encoded = values.dictionary_encode()
    made = [function(text) for text in encoded.dictionary.to_pylist()]
    # One more entry at the end is where NULL points to.
    table = np.array([*(empty if one is None else one for one in made), empty], dtype=dtype)
    none = np.array([*(one is None for one in made), False], dtype=np.bool_)
    indices = encoded.indices.fill_null(len(made)).to_numpy(zero_copy_only=False)
    return table[indices], none[indices]


def text_of_numbers(values: NDArray[Any], function: Callable[[Any], str]) -> Any:
    """A function from numbers to text over an array (or one of no dimension, which gives a scalar)."""
    if values.ndim == 0:
        return pa.scalar(function(values.item()), pa.string())
    distinct, indices = _distinct(values)
    made = pa.array([function(value) for value in distinct.tolist()], type=pa.string())
    return made.take(pa.array(indices))


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if values.dtype != np.float64:
        return np.unique(values, return_inverse=True)
    # By bits: -0.0 and 0.0 are written differently.
    bits, indices = np.unique(np.ascontiguousarray(values).view(np.int64), return_inverse=True)
    return bits.view(np.float64), indices
