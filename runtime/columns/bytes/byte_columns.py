"""A column of texts as its bytes and where each text begins, and back; what kernels over texts read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MOST = 2**31 - 1  # bytes of all texts of an Arrow array


def bytes_of(texts: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all texts, and where each begins and the last one ends; of a constant as of one text.

    They are marked as read-only, as Arrow's are: a kernel is compiled for each layout.
    """
    if isinstance(texts, pa.Scalar):
        texts = pa.array([texts.as_py()], texts.type)
    data, starts = np.zeros(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    _, offsets, held = texts.buffers()
    if len(texts) and offsets is not None:
        own = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
        starts = own.astype(np.int64) - int(own[0])
        if held is not None and starts[-1]:
            data = np.frombuffer(held, np.uint8)[own[0] : own[-1]]
    data.flags.writeable = False
    return data, starts


def is_ascii(texts: Any) -> bool:
    """Whether no text of a column has a byte beyond ASCII."""
    data, _ = bytes_of(texts)
    return not len(data) or int(data.max()) < 0x80


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where texts of these lengths begin, and where the last one ends."""
    made = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=made[1:])
    return made


def texts_of(offsets: NDArray[np.int64], data: NDArray[np.uint8], like: Any = None) -> Any:
    """Texts of bytes; NULL where those of `like` are."""
    if offsets[-1] > MOST:
        raise OverflowError(f"the texts of one packet would take {offsets[-1]} bytes")
    mask = None
    if like is not None and like.null_count:
        valid = like.is_valid().to_numpy(zero_copy_only=False)
        mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.StringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data), mask
    )


def with_others(
    made: Any, others: NDArray[np.bool_], texts: Any, one: Callable[[str], str | None]
) -> Any:
    """What a kernel made of texts, with what Python makes of those it left alone, each distinct one once."""
    if not others.any():
        return made
    mask = pa.array(others)
    coded = texts.filter(mask).dictionary_encode()
    slow = pa.array(
        [None if text is None else one(text) for text in coded.dictionary.to_pylist()], pa.string()
    )
    return pc.replace_with_mask(made, mask, slow.take(coded.indices))
