"""DECIMAL and BINARY columns: from and to the texts that hold them (`compiler/meaning/sortable.py`), by whole columns."""

from __future__ import annotations

import base64
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.sortable import plain_number, scaled_digits
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.columns import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_HEX = np.stack([np.repeat(_DIGITS, 16), np.tile(_DIGITS, 16)], axis=1)  # by byte
_NIBBLE = np.zeros(256, np.uint8)
_NIBBLE[_DIGITS] = np.arange(16)
_SIGN = np.uint64(1 << 63)


def bytes_of_hex(texts: pa.StringArray) -> pa.Array:
    """BINARY texts as Arrow's bytes."""
    if not len(texts):
        return pa.array([], pa.binary())
    if texts.offset or texts.null_count:
        texts = pa.concat_arrays([texts.fill_null("")])
    _, offsets, data = texts.buffers()
    own = np.frombuffer(offsets, np.int32)[: len(texts) + 1]
    raw = np.frombuffer(data or b"", np.uint8)[own[0] : own[-1]]
    nibbles = _NIBBLE[raw].reshape(-1, 2)
    made = (nibbles[:, 0] << 4) | nibbles[:, 1]
    starts = ((own - own[0]) // 2).astype(np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(texts), [None, pa.py_buffer(starts), pa.py_buffer(made.tobytes())]
    )


def hex_of_bytes(values: Any, valid: NDArray[np.bool_] | None) -> pa.StringArray:
    """Arrow's bytes as BINARY texts."""
    values = values.cast(pa.binary())
    if values.offset or values.null_count:
        values = pa.concat_arrays([values.fill_null(b"")])
    _, offsets, data = values.buffers()
    count = len(values)
    if not count:
        return pa.array([], pa.string())
    own = np.frombuffer(offsets, np.int32)[: count + 1]
    raw = np.frombuffer(data or b"", np.uint8)[own[0] : own[-1]]
    made = _HEX[raw].reshape(-1)
    starts = ((own - own[0]) * 2).astype(np.int32)
    return _texts(count, starts, made, valid)


def _texts(
    count: int,
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    valid: NDArray[np.bool_] | None,
) -> pa.StringArray:
    mask = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.StringArray.from_buffers(
        count, pa.py_buffer(offsets), pa.py_buffer(data.tobytes()), mask
    )


def digits_of(column: Column) -> NDArray[Any]:
    """The digits of a DECIMAL column as whole numbers: int64 where they have room, else Python's; 0 where NULL."""
    texts = column.values
    if isinstance(texts, pa.Scalar):
        made = digits_of(Column(column.type, pa.array([texts.as_py()], pa.string())))
        return made.reshape(())
    zero = "8" + "0" * 31
    if texts.null_count or column.valid is not None:
        texts = texts.fill_null(zero)
    if not len(texts):
        return np.zeros(0, np.int64)
    if texts.offset:
        texts = pa.concat_arrays([texts])
    _, offsets, data = texts.buffers()
    own = np.frombuffer(offsets, np.int32)[: len(texts) + 1]
    raw = np.frombuffer(data, np.uint8)[own[0] : own[-1]]
    nibbles = _NIBBLE[raw].reshape(-1, 32)
    octets = np.ascontiguousarray((nibbles[:, ::2] << 4) | nibbles[:, 1::2])
    halves = octets.view(">u8").astype(np.uint64)
    high, low = (halves[:, 0] ^ _SIGN).view(np.int64), halves[:, 1]
    if (high == (low.view(np.int64) >> 63)).all():
        return low.view(np.int64).copy()
    return np.asarray(high.astype(object) * (1 << 64) + low.astype(object))


def decimal_column(
    type_: ColumnType, digits: NDArray[Any], valid: NDArray[np.bool_] | None
) -> Column:
    """A DECIMAL column of whole numbers; what is at NULL positions does not matter."""
    flat = digits.reshape(-1)
    if valid is not None and flat.dtype == object:
        flat = np.where(np.broadcast_to(valid, flat.shape), flat, 0)
    if flat.dtype == object:
        high = np.array([int(each) >> 64 for each in flat], np.int64)
        low = np.array([int(each) & 0xFFFFFFFFFFFFFFFF for each in flat], np.uint64)
    else:
        flat = np.ascontiguousarray(flat, np.int64)
        high, low = flat >> 63, flat.view(np.uint64)
    halves = np.stack([high.view(np.uint64) ^ _SIGN, low], axis=1).astype(">u8")
    data = _HEX[np.ascontiguousarray(halves).view(np.uint8).reshape(-1)].reshape(-1)
    count = len(flat)
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    if digits.ndim == 0:
        known = valid is None or bool(np.all(valid))
        texts = _texts(1, offsets, data, None)
        return Column(type_, texts[0] if known else pa.scalar(None, pa.string()), valid)
    return Column(type_, _texts(count, offsets, data, valid), valid)


def base64_texts(column: Column) -> pa.StringArray:
    """A BINARY column in base64; NULL is ''."""
    coded = column.values.dictionary_encode()
    shown = [
        base64.b64encode(bytes.fromhex(each)).decode() for each in coded.dictionary.to_pylist()
    ]
    return pa.array(shown, pa.string()).take(coded.indices).fill_null("")


def divided(number: int, by: int) -> int:
    """A quotient rounded half up, away from zero."""
    whole, rest = divmod(abs(number), abs(by))
    whole += 2 * rest >= abs(by)
    return -whole if (number < 0) != (by < 0) else whole


def decimal_digits(text: str, type_: DecimalType) -> int | None:
    """The digits of a number that is written out, rounded half up; None where it is none, or has too many."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or "_" in text:
        return None
    return scaled_digits(number, type_.digits, type_.scale)


def decimals_of_texts(type_: DecimalType, texts: Any) -> tuple[Column, NDArray[np.bool_] | None]:
    """A DECIMAL column of numbers that are written out, and where a text is none; each distinct text is read once."""
    coded = texts.dictionary_encode()
    made = [decimal_digits(text.strip(), type_) for text in coded.dictionary.to_pylist()]
    codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    valid = None
    if texts.null_count:
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
    if not made:
        return decimal_column(type_, np.zeros(len(texts), np.int64), valid), None
    wrong = np.array([each is None for each in made], np.bool_)
    digits = np.array([each or 0 for each in made], dtype=object)
    failed = wrong[codes] if valid is None else wrong[codes] & valid
    return decimal_column(type_, digits[codes], valid), failed if failed.any() else None


def decimals_of_arrow(column: Column, type_: pa.DataType) -> pa.Array:
    """A DECIMAL column as Arrow's own decimals."""
    digits = digits_of(column)
    if digits.dtype == object:
        high = np.array([int(each) >> 64 for each in digits], np.int64)
        low = np.array([int(each) & 0xFFFFFFFFFFFFFFFF for each in digits], np.uint64)
    else:
        high, low = digits >> 63, digits.view(np.uint64)
    data = np.stack([low, high.view(np.uint64)], axis=1).astype("<u8").tobytes()
    valid = column.valid
    mask = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(digits), [mask, pa.py_buffer(data)])


def number_texts(column: Column) -> pa.StringArray:
    """A DECIMAL column as people write it, all digits; NULL is ''."""
    assert isinstance(column.type, DecimalType)
    scale = column.type.scale
    coded = column.values.dictionary_encode()
    distinct = digits_of(Column(column.type, coded.dictionary)).tolist()
    shown = pa.array([plain_number(int(each), scale) for each in distinct], pa.string())
    return shown.take(coded.indices).fill_null("")
