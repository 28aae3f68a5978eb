"""Arrow arrays become columns; what is not a value of the declared type is marked.

The same values are taken as from Python objects (`python_columns.py`), by whole-array kernels: integers of any width,
floats, decimals, dictionaries, views and large text, dates, and timestamps of any unit and zone. Nanoseconds are cut to
microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.columns import Column, null_column, text_column
from cqc.runtime.columns.convert.nested_values import nested_of_arrow, nested_of_json
from cqc.runtime.columns.convert.python_columns import Converted, column_of_values
from cqc.runtime.columns.convert.reading import USUAL
from cqc.runtime.columns.date_text import DAY_US, parse_date
from cqc.runtime.columns.event_time import span
from cqc.runtime.columns.number_text import parse_bigint, parse_boolean, parse_double
from cqc.runtime.columns.repeated_text import repeated_text
from cqc.runtime.columns.sortable_columns import decimals_of_texts, hex_of_bytes, narrow_decimals
from cqc.runtime.columns.timestamp_text import FIRST_US, LAST_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.convert.reading import Reading


@record
class Layout:
    """A type whose columns have the memory of an Arrow array: small packets are mostly such, and each call counts."""

    type: ColumnType
    arrow_id: int
    dtype: np.dtype[Any]
    is_instant: bool = False

    def values(self, array: Any) -> NDArray[Any] | None:
        """The array's own memory, where it holds just what a column does; instants still have to be looked at."""
        given = array.type
        count = len(array)
        if given.id != self.arrow_id or array.null_count or not count:
            return None
        if self.is_instant and given.unit != "us":
            return None
        return np.frombuffer(array.buffers()[1], self.dtype, count, 8 * array.offset)

    def span_us(self, values: NDArray[Any]) -> tuple[int, int] | None:
        """The first and the last of some instants; None when one is beyond the calendar."""
        least, largest = span(values)
        return (least, largest) if least >= FIRST_US and largest <= LAST_US else None


LAYOUTS = {
    each.type: each
    for each in (
        Layout(ColumnType.BIGINT, pa.lib.Type_INT64, np.dtype(np.int64)),
        Layout(ColumnType.DOUBLE, pa.lib.Type_DOUBLE, np.dtype(np.float64)),
        Layout(ColumnType.TIMESTAMP, pa.lib.Type_TIMESTAMP, np.dtype(np.int64), is_instant=True),
    )
}
_UNITS_US = {"s": 1_000_000, "ms": 1_000, "us": 1}


def column_of_arrow(type_: ColumnType, array: Any, reading: Reading = USUAL) -> Converted:
    """A column of an Arrow array, and which values are not of the type (None: all are)."""
    values = _same_layout(type_, array)
    if values is not None:
        return Column(type_, values), None
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        by_codes = _by_codes(type_, array)
        if by_codes is not None:
            return by_codes, None
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        return null_column(type_, len(array)), None
    if type_.is_nested:
        converted = _nested(type_, array, reading)
    elif isinstance(type_, DecimalType):
        converted = _decimal(type_, array, reading)
    else:
        converted = _CONVERSIONS[type_](array, reading)
    if converted is None:
        return column_of_values(type_, values_of_arrow(array), reading)
    return converted


def _by_codes(type_: ColumnType, array: Any) -> Column | None:
    """Text that comes with its distinct values keeps them; None for anything else, and for text that is none."""
    if type_ is not ColumnType.STRING or not is_text(array.type.value_type):
        return None
    column = repeated_text(array)
    if column is None or _string(column.distinct, USUAL) is None:
        return None
    return column


def _same_layout(type_: ColumnType, array: Any) -> NDArray[Any] | None:
    """The array's own memory, where it holds just what the column does."""
    layout = LAYOUTS.get(type_)
    values = None if layout is None else layout.values(array)
    if layout is None or values is None or not layout.is_instant:
        return values
    return None if layout.span_us(values) is None else values


def values_of_arrow(array: Any) -> list[Any]:
    """The values as Python objects; those that Python has no object for as text."""
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        # Arrow gives objects of pandas where that is installed, and refuses some of them elsewhere.
        array = array.cast(pa.string())
    try:
        values: list[Any] = array.to_pylist()
    except (
        ValueError,
        OverflowError,
    ):  # years beyond the calendar, text that is not UTF-8
        values = [_value_of_scalar(scalar) for scalar in array]
    return values


def _value_of_scalar(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes().decode(errors="surrogateescape")
    except (ValueError, OverflowError):
        return scalar.cast(pa.string()).as_py()


def _bigint(array: pa.Array, reading: Reading) -> Converted | None:
    if is_text(array.type):
        return _by_cast(ColumnType.BIGINT, array, reading, parse_bigint)
    if not pa.types.is_integer(array.type) or array.type == pa.uint64():
        return None
    return _numbers(ColumnType.BIGINT, pc.cast(array, pa.int64())), None


def _double(array: pa.Array, reading: Reading) -> Converted | None:
    if is_text(array.type):
        return _by_cast(ColumnType.DOUBLE, array, reading, parse_double)
    if not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        return None
    return _numbers(ColumnType.DOUBLE, pc.cast(array, pa.float64(), safe=False)), None


def _boolean(array: pa.Array, reading: Reading) -> Converted | None:
    if is_text(array.type):
        return _by_cast(ColumnType.BOOLEAN, array, reading, parse_boolean)
    if not pa.types.is_boolean(array.type):
        return None
    return _numbers(ColumnType.BOOLEAN, array), None


def _by_cast(
    type_: ColumnType, array: pa.Array, reading: Reading, parse: Callable[..., Any]
) -> Converted | None:
    """Text in the place of numbers and booleans, where that is allowed."""
    converted = _string(array, reading) if reading.lenient else None
    if converted is None:
        return None
    text, _ = converted
    values, bad = parse(text.values, cast=True)
    return Column(type_, values, text.valid), bad if bad.any() else None


def _string(array: pa.Array, reading: Reading) -> Converted | None:
    if reading.lenient and (pa.types.is_integer(array.type) or pa.types.is_boolean(array.type)):
        return text_column(pc.cast(array, pa.string())), None
    if not is_text(array.type):
        return None
    texts = array if array.type == pa.string() else pc.cast(array, pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # a file may say that something is text when it is not
        return None
    return text_column(texts), None


def is_text(type_: pa.DataType) -> bool:
    """Text in any of Arrow's layouts."""
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )


def _timestamp(array: pa.Array, reading: Reading) -> Converted | None:
    if pa.types.is_timestamp(array.type):
        return _instants(array)
    if pa.types.is_date(array.type):
        return _instants(pc.cast(array, pa.timestamp("ms")))
    if is_text(array.type):
        return _instants_of_text(array, reading)
    if pa.types.is_integer(array.type) and array.type != pa.uint64():
        numbers = _numbers(ColumnType.BIGINT, pc.cast(array, pa.int64()))
        us, bad = reading.times.of_whole(numbers.values)
        bad &= numbers.is_valid()
        return Column(ColumnType.TIMESTAMP, us, numbers.valid), bad if bad.any() else None
    return None


def _date(array: pa.Array, reading: Reading) -> Converted | None:
    if pa.types.is_date(array.type):
        days = _numbers(ColumnType.BIGINT, pc.cast(pc.cast(array, pa.date32()), pa.int32()))
        return Column(ColumnType.DATE, days.values.astype(np.int64), days.valid), None
    if pa.types.is_timestamp(array.type):
        column, bad = _instants(array)
        return Column(ColumnType.DATE, column.values // DAY_US, column.valid), bad
    if not is_text(array.type) or (converted := _string(array, reading)) is None:
        return None
    text, _ = converted
    values, wrong = parse_date(text.values)
    return Column(ColumnType.DATE, values, text.valid), wrong if wrong.any() else None


def _nested(type_: ColumnType, array: pa.Array, reading: Reading) -> Converted | None:
    if is_text(array.type) and (text := _string(array, reading)) is not None:
        one_line = pc.replace_substring_regex(text[0].values, r"[\r\n]", " ")
        return nested_of_json(type_, one_line, reading, column_of_arrow, column_of_values)
    return nested_of_arrow(type_, array, reading, column_of_arrow)


def _decimal(type_: DecimalType, array: pa.Array, reading: Reading) -> Converted | None:
    if pa.types.is_integer(array.type) or pa.types.is_decimal(array.type):
        narrow = narrow_decimals(type_, array)
        if narrow is not None:
            return narrow, None
        return decimals_of_texts(type_, pc.cast(array, pa.string()))
    if is_text(array.type) and reading.lenient:
        text = _string(array, reading)
        return None if text is None else decimals_of_texts(type_, text[0].values)
    return None


def _binary(array: pa.Array, reading: Reading) -> Converted | None:
    del reading
    given = array.type
    if not (
        pa.types.is_binary(given)
        or pa.types.is_large_binary(given)
        or pa.types.is_fixed_size_binary(given)
        or pa.types.is_binary_view(given)
    ):
        return None
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return Column(ColumnType.BINARY, hex_of_bytes(array, valid), valid), None


def _instants_of_text(array: pa.Array, reading: Reading) -> Converted | None:
    converted = _string(array, reading)
    if converted is None:
        return None
    text, _ = converted
    us, bad = reading.times.of_text(text.values)
    return Column(ColumnType.TIMESTAMP, us, text.valid), bad if bad.any() else None


def _instants(array: pa.Array) -> Converted:
    numbers = _numbers(ColumnType.TIMESTAMP, pc.cast(array, pa.int64()))
    values: NDArray[np.int64] = numbers.values
    if array.type.unit == "ns":
        return Column(ColumnType.TIMESTAMP, values // 1_000, numbers.valid), None
    scale = _UNITS_US[array.type.unit]
    outside = (values < FIRST_US // scale) | (values > LAST_US // scale)
    if numbers.valid is not None:
        outside &= numbers.valid
    us = np.where(outside, 0, values) * scale
    return Column(ColumnType.TIMESTAMP, us, numbers.valid), outside if outside.any() else None


def _numbers(type_: ColumnType, array: pa.Array) -> Column:
    if array.null_count == 0:
        return Column(type_, array.to_numpy(zero_copy_only=False))
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    filler = False if type_ is ColumnType.BOOLEAN else 0
    return Column(type_, pc.fill_null(array, filler).to_numpy(zero_copy_only=False), valid)


_CONVERSIONS = {
    ColumnType.BIGINT: _bigint,
    ColumnType.DOUBLE: _double,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.STRING: _string,
    ColumnType.TIMESTAMP: _timestamp,
    ColumnType.DATE: _date,
    ColumnType.BINARY: _binary,
}
