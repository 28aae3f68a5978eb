"""Lists of Python values become columns; what is not a value of the type is marked.

The types that occur in a list decide how it is converted: one look over them, then whole-list conversions. Only lists with
something unusual in them are walked value by value, by the same rules.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cqc.compiler.meaning.instants import parse_instant
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import DTYPES, Column
from cqc.runtime.columns.timestamp_text import EPOCH, FIRST_US, LAST_US, parse_iso

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Converted = tuple[Column, NDArray[np.bool_] | None]

_NOTHING = type(None)
_SPECIAL_DOUBLES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MICROSECOND = timedelta(microseconds=1)


def column_of_values(type_: ColumnType, values: Sequence[Any]) -> Converted:
    """A column of Python values, and which of them are not of the type (None: all are)."""
    kinds = set(map(type, values))
    if kinds <= _USUAL[type_]:
        column = _whole_list(type_, values, has_null=_NOTHING in kinds)
        if column is not None:
            return column, None
    if type_ is ColumnType.TIMESTAMP and kinds <= {str, _NOTHING}:
        return _timestamps_of_text(values)
    return _one_by_one(type_, values)


_USUAL: dict[ColumnType, set[type]] = {
    ColumnType.BIGINT: {int, _NOTHING},
    ColumnType.DOUBLE: {float, int, _NOTHING},
    ColumnType.BOOLEAN: {bool, _NOTHING},
    ColumnType.STRING: {str, _NOTHING},
    ColumnType.TIMESTAMP: set(),
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


def _timestamps_of_text(values: Sequence[Any]) -> Converted:
    try:
        texts = pa.array(values, type=pa.string())
    except UnicodeEncodeError:
        return _one_by_one(ColumnType.TIMESTAMP, values)
    us, bad = parse_iso(texts)
    valid = texts.is_valid().to_numpy(zero_copy_only=False) if texts.null_count else None
    return Column(ColumnType.TIMESTAMP, us, valid), bad if bad.any() else None


def _one_by_one(type_: ColumnType, values: Sequence[Any]) -> Converted:
    convert = _CONVERSIONS[type_]
    made = [None if is_missing(value) else convert(value) for value in values]
    missing = np.array([is_missing(value) for value in values], dtype=np.bool_)
    empty = np.array([value is None for value in made], dtype=np.bool_)
    bad = empty & ~missing
    valid = ~empty if empty.any() else None
    if type_ is ColumnType.STRING:
        column = Column(type_, pa.array(made, type=pa.string()), valid)
    else:
        filled = [0 if value is None else value for value in made]
        column = Column(type_, np.array(filled, dtype=DTYPES[type_]), valid)
    return column, bad if bad.any() else None


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


_CONVERSIONS: dict[ColumnType, Callable[[Any], Any]] = {
    ColumnType.BIGINT: bigint_of_value,
    ColumnType.DOUBLE: double_of_value,
    ColumnType.BOOLEAN: boolean_of_value,
    ColumnType.STRING: string_of_value,
    ColumnType.TIMESTAMP: timestamp_of_value,
}
