"""Random texts by the million: bytes and offsets, no Python object a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPECIAL = 13  # one character in so many is the special one


def letters(rng: np.random.Generator, lengths: NDArray[np.int64]) -> pa.StringArray:
    """Texts of these lengths, of the letters a to z."""
    data = (rng.integers(0, 26, int(lengths.sum()), np.uint8) + ord("a")).astype(np.uint8)
    return _texts(data, lengths)


def words(rng: np.random.Generator, count: int, most: int, special: str = " ") -> pa.StringArray:
    """Texts of 3 to `most` characters, of letters and here and there a special one; without spaces at the ends."""
    lengths = 3 + rng.integers(0, most - 3, count)
    total = int(lengths.sum())
    data = (rng.integers(0, 26, total, np.uint8) + ord("a")).astype(np.uint8)
    data[rng.integers(0, _SPECIAL, total) == 0] = ord(special)
    found = _texts(data, lengths)
    if special != " ":
        return found
    return pa.compute.utf8_trim(found, characters=" ")


def digits(rng: np.random.Generator, count: int) -> pa.StringArray:
    """Four groups of four digits."""
    data = (rng.integers(0, 10, (count, 19), np.uint8) + ord("0")).astype(np.uint8)
    data[:, [4, 9, 14]] = ord(" ")
    return _texts(data.ravel(), np.full(count, 19))


def lengths_of(texts: pa.StringArray) -> NDArray[np.int64]:
    """How long texts are."""
    found: NDArray[np.int64] = pa.compute.utf8_length(texts).to_numpy().astype(np.int64)
    return found


def _texts(data: NDArray[np.uint8], lengths: NDArray[np.int64]) -> pa.StringArray:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.StringArray.from_buffers(len(lengths), *buffers)
