"""DECIMAL and BINARY columns: from and to the texts that hold them (`compiler/meaning/sortable.py`), by whole columns."""

from __future__ import annotations

import base64
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.sortable import plain_number, scaled_digits
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.bytes.decimal_text import decimal_texts
from cqc.runtime.columns.columns import Column
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class DecimalColumn(Column):
    """A DECIMAL column by its digits, whole numbers; the texts that hold them elsewhere are made when they are first asked for."""

    __slots__ = ("_texts", "digits")

    def __init__(
        self, type_: ColumnType, digits: NDArray[Any], valid: NDArray[np.bool_] | None
    ) -> None:
        """`digits` are int64 or, where these have no room, Python's numbers; 0 where NULL. They are not changed."""
        self.type = type_
        self.valid = valid
        self.digits = digits
        self._texts: Any = None

    def __len__(self) -> int:
        return len(self.digits)

    def __reduce__(self) -> tuple[type[DecimalColumn], tuple[Any, ...]]:
        return DecimalColumn, (self.type, self.digits, self.valid)

    @property
    def values(self) -> Any:
        """A text for each number, ordered as the numbers are."""
        if self._texts is None:
            self._texts = _sortable_texts(self.digits, self.valid)
        return self._texts

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        mask = 0 if self.valid is None else self.valid.nbytes
        return int(self.digits.nbytes) + mask

    def taken(self, positions: Any) -> DecimalColumn:
        """Some rows, by positions, a mask or a slice."""
        valid = None if self.valid is None else self.valid[positions]
        return DecimalColumn(self.type, self.digits[positions], valid)

    def followed_by(self, others: Sequence[Column]) -> DecimalColumn:
        """This column and others behind it."""
        columns = [self, *others]
        valid = None
        if any(column.valid is not None for column in columns):
            valid = np.concatenate([column.is_valid() for column in columns])
        return DecimalColumn(self.type, np.concatenate([*map(digits_of, columns)]), valid)


def digits_of(column: Column) -> NDArray[Any]:
    """The digits of a DECIMAL column as whole numbers: int64 where they have room, else Python's; 0 where NULL."""
    if isinstance(column, DecimalColumn):
        return column.digits
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
    if digits.ndim == 0:
        known = valid is None or bool(np.all(valid))
        one = _sortable_texts(digits.reshape(1), None)[0] if known else None
        return Column(type_, pa.scalar(None, pa.string()) if one is None else one, valid)
    if valid is not None:
        digits = np.where(np.broadcast_to(valid, digits.shape), digits, 0)
    return DecimalColumn(type_, digits, valid)


def _sortable_texts(flat: NDArray[Any], valid: NDArray[np.bool_] | None) -> pa.StringArray:
    """Whole numbers as the texts that hold them."""
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
    return _texts(count, offsets, data, valid)


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


def narrow_decimals(type_: DecimalType, array: Any) -> DecimalColumn | None:
    """Arrow's decimals or whole numbers as a column, where 64 bits hold every one and none has to be rounded; else None."""
    if pa.types.is_decimal(array.type) and array.type.scale > type_.scale:
        return None
    try:
        moved = array.cast(pa.decimal128(38, type_.scale))
    except pa.ArrowInvalid:
        return None
    halves = np.frombuffer(moved.buffers()[1] or b"", np.int64)[
        2 * moved.offset : 2 * (moved.offset + len(moved))
    ].reshape(-1, 2)
    valid = moved.is_valid().to_numpy(zero_copy_only=False) if moved.null_count else None
    digits, high = halves[:, 0].copy(), halves[:, 1]
    if valid is not None:
        digits, high = np.where(valid, digits, 0), np.where(valid, high, 0)
    most = 10**type_.digits
    if (high != digits >> 63).any() or (most < 1 << 63 and (np.abs(digits) >= most).any()):
        return None
    return DecimalColumn(type_, digits, valid)


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
    if isinstance(column, DecimalColumn) and column.digits.dtype != object and not is_plain():
        made = decimal_texts(column.digits, scale)
        return made if column.valid is None else pc.if_else(pa.array(column.valid), made, "")
    coded = column.values.dictionary_encode()
    distinct = digits_of(Column(column.type, coded.dictionary)).tolist()
    shown = pa.array([plain_number(int(each), scale) for each in distinct], pa.string())
    return shown.take(coded.indices).fill_null("")
