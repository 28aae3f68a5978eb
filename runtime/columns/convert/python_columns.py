"""Lists of Python values become columns; what is not a value of the type is marked.

The types that occur in a list decide how it is converted: one look over them, then whole-list conversions. Only lists with
something unusual in them are walked value by value, by the same rules.
"""

from __future__ import annotations

import base64
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cqc.compiler.meaning.times.instants import parse_day, parse_instant
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.columns import DTYPES, Column
from cqc.runtime.columns.convert.nested_values import nested_of_values
from cqc.runtime.columns.convert.reading import USUAL, json_text
from cqc.runtime.columns.date_text import DAY_US
from cqc.runtime.columns.number_text import parse_bigint, parse_boolean, parse_double
from cqc.runtime.columns.sortable_columns import decimal_column, decimal_digits
from cqc.runtime.columns.timestamp_text import EPOCH, FIRST_US, LAST_US

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.runtime.columns.convert.reading import Reading
    from cqc.runtime.columns.time_forms import TimeForm

Converted = tuple[Column, NDArray[np.bool_] | None]

_NOTHING = type(None)
_SPECIAL_DOUBLES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MICROSECOND = timedelta(microseconds=1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()


def column_of_values(
    type_: ColumnType, values: Sequence[Any], reading: Reading = USUAL
) -> Converted:
    """A column of Python values, and which of them are not of the type (None: all are)."""
    if type_.is_nested:
        return nested_of_values(type_, values, reading, column_of_values)
    if isinstance(type_, DecimalType):
        return _decimals(type_, values, reading)
    kinds = set(map(type, values))
    if type_ in _USUAL and kinds <= _USUAL[type_]:
        column = _whole_list(type_, values, has_null=_NOTHING in kinds)
        if column is not None:
            return column, None
    if type_ is ColumnType.TIMESTAMP and kinds <= {str, _NOTHING}:
        return _timestamps_of_text(values, reading)
    return _one_by_one(type_, values, reading)


_USUAL: dict[ColumnType, set[type]] = {
    ColumnType.BIGINT: {int, _NOTHING},
    ColumnType.DOUBLE: {float, int, _NOTHING},
    ColumnType.BOOLEAN: {bool, _NOTHING},
    ColumnType.STRING: {str, _NOTHING},
    ColumnType.TIMESTAMP: set(),
    ColumnType.DATE: set(),
}


def _whole_list(type_: ColumnType, values: Sequence[Any], *, has_null: bool) -> Column | None:
    valid = np.array([value is not None for value in values], dtype=np.bool_) if has_null else None
    try:
        if type_ is ColumnType.STRING:
            return Column(type_, pa.array(values, type=pa.string()), valid)
        filled = [0 if value is None else value for value in values] if has_null else values
        return Column(type_, np.array(filled, dtype=DTYPES[type_]), valid)
    except (OverflowError, UnicodeEncodeError):  # a number beyond 64 bits, half a surrogate pair
        return None


def _decimals(type_: DecimalType, values: Sequence[Any], reading: Reading) -> Converted:
    made = [_decimal_digits(type_, value, reading) for value in values]
    missing = np.array([is_missing(value) for value in values], dtype=np.bool_)
    empty = np.array([each is None for each in made], dtype=np.bool_)
    bad = empty & ~missing
    digits = np.array([0 if each is None else each for each in made], dtype=object)
    column = decimal_column(type_, digits, ~empty if empty.any() else None)
    return column, bad if bad.any() else None


def _decimal_digits(type_: DecimalType, value: Any, reading: Reading) -> int | None:
    """The digits of a number, or of a text that is one; None for anything else."""
    if isinstance(value, bool | np.bool_) or is_missing(value):
        return None
    if isinstance(value, str) and reading.lenient:
        return decimal_digits(value.strip(), type_)
    if isinstance(value, float | np.floating):
        exact = getattr(value, "digits", None)  # of a number in JSON
        return decimal_digits(repr(float(value)) if exact is None else str(exact), type_)
    if isinstance(value, int | np.integer | Decimal):
        return decimal_digits(str(value), type_)
    return None


def _bytes_of_value(value: Any) -> str | None:
    """Bytes, or their base64; None for anything else."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True).hex()
    except ValueError:
        return None


def _timestamps_of_text(values: Sequence[Any], reading: Reading) -> Converted:
    try:
        texts = pa.array(values, type=pa.string())
    except UnicodeEncodeError:
        return _one_by_one(ColumnType.TIMESTAMP, values, reading)
    us, bad = reading.times.of_text(texts)
    valid = texts.is_valid().to_numpy(zero_copy_only=False) if texts.null_count else None
    return Column(ColumnType.TIMESTAMP, us, valid), bad if bad.any() else None


def _one_by_one(type_: ColumnType, values: Sequence[Any], reading: Reading) -> Converted:
    convert = _conversion(type_, reading)
    made = [None if is_missing(value) else convert(value) for value in values]
    missing = np.array([is_missing(value) for value in values], dtype=np.bool_)
    empty = np.array([value is None for value in made], dtype=np.bool_)
    bad = empty & ~missing
    valid = ~empty if empty.any() else None
    if type_.held_as_text:
        column = Column(type_, pa.array(made, type=pa.string()), valid)
    else:
        filled = [0 if value is None else value for value in made]
        column = Column(type_, np.array(filled, dtype=DTYPES[type_]), valid)
    return column, bad if bad.any() else None


def _conversion(type_: ColumnType, reading: Reading) -> Callable[[Any], Any]:
    """How one value becomes one of a type, or None."""
    convert = _CONVERSIONS[type_]
    if type_ is ColumnType.TIMESTAMP:
        return convert if reading.times.is_usual else _by_form(reading.times)
    lenient = _LENIENT.get(type_) if reading.lenient else None
    if lenient is None:
        return convert

    def leniently(value: Any) -> Any:
        made = convert(value)
        return lenient(value) if made is None else made

    return leniently


def _by_form(form: TimeForm) -> Callable[[Any], int | None]:
    """Times as WITH says that they are written; what is an instant already stays one."""

    def convert(value: Any) -> int | None:
        if isinstance(value, str):
            try:
                us, bad = form.of_text(pa.array([value], type=pa.string()))
            except UnicodeEncodeError:
                return None
        elif isinstance(value, float | np.floating) and math.isfinite(value):
            us, bad = form.of_fraction(np.array([value], np.float64))
        elif (whole := bigint_of_value(value)) is not None:
            us, bad = form.of_whole(np.array([whole], np.int64))
        else:
            return timestamp_of_value(value)
        return None if bad[0] else int(us[0])

    return convert


def _text_instead(value: Any) -> str | None:
    """The JSON text of a value where text is declared."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    exact = getattr(value, "digits", None)
    if exact is not None:
        return str(exact)
    return json_text(value) if isinstance(value, bool | int | float | dict | list) else None


def _cast_text(parse: Callable[..., Any]) -> Callable[[Any], Any]:
    """What CAST makes of a text; None for anything else, and where it fails."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return None
        try:
            values, failed = parse(pa.scalar(value, pa.string()), cast=True)
        except UnicodeEncodeError:
            return None
        return None if failed else values.item()

    return convert


def is_missing(value: Any) -> bool:
    """None, and the not-a-time that NumPy and pandas use for a missing instant."""
    if value is None:
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NaTType", "NAType")


def bigint_of_value(value: Any) -> int | None:
    """A whole number that fits, or None."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, float | np.floating | Decimal):
        if not math.isfinite(value) or value != int(value):
            return None
    elif not isinstance(value, int | np.integer):
        return None
    whole = int(value)
    return whole if -(2**63) <= whole < 2**63 else None


def double_of_value(value: Any) -> float | None:
    """Any number, or None."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, str):
        return _SPECIAL_DOUBLES.get(value)
    if not isinstance(value, int | float | Decimal | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:  # a huge whole number: Infinity, as for DOUBLE written as text
        return math.inf if value > 0 else -math.inf


def boolean_of_value(value: Any) -> bool | None:
    return bool(value) if isinstance(value, bool | np.bool_) else None


def string_of_value(value: Any) -> str | None:
    """Text that can be written as UTF-8, or None."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return str(value)


def timestamp_of_value(value: Any) -> int | None:
    """Microseconds of a datetime, a date, ISO text or a number since the epoch; None for anything else."""
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return (aware - EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - EPOCH) // _MICROSECOND
    if isinstance(value, str):
        return parse_instant(value)
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if isinstance(value, float | np.floating) and math.isfinite(value):
        exact = float(value) * 1_000_000
        us = round(exact) if math.isfinite(exact) else LAST_US + 1
        return us if FIRST_US <= us <= LAST_US else None
    whole = bigint_of_value(value)
    return None if whole is None else epoch_us(whole)


def date_of_value(value: Any) -> int | None:
    """Days of a date, of the day of a datetime in UTC, or of a date's text; None for anything else."""
    if isinstance(value, datetime | np.datetime64):
        us = timestamp_of_value(value)
        return None if us is None else us // DAY_US
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_DAY
    return parse_day(value) if isinstance(value, str) else None


def epoch_us(number: int) -> int | None:
    """Microseconds of a whole number since the epoch, its unit told by its size; None beyond the calendar."""
    size = abs(number)
    if size < 10**11:
        us = number * 1_000_000
    elif size < 10**14:
        us = number * 1_000
    else:
        us = number if size < 10**17 else number // 1_000
    return us if FIRST_US <= us <= LAST_US else None


_LENIENT: dict[ColumnType, Callable[[Any], Any]] = {
    ColumnType.BIGINT: _cast_text(parse_bigint),
    ColumnType.DOUBLE: _cast_text(parse_double),
    ColumnType.BOOLEAN: _cast_text(parse_boolean),
    ColumnType.STRING: _text_instead,
}
_CONVERSIONS: dict[ColumnType, Callable[[Any], Any]] = {
    ColumnType.BIGINT: bigint_of_value,
    ColumnType.DOUBLE: double_of_value,
    ColumnType.BOOLEAN: boolean_of_value,
    ColumnType.STRING: string_of_value,
    ColumnType.TIMESTAMP: timestamp_of_value,
    ColumnType.DATE: date_of_value,
    ColumnType.BINARY: _bytes_of_value,
}
