"""CAST between all types, by Spark's ANSI rules; a value that cannot be cast fails.

`cast` gives the new column and a mask of failures. Numbers of seconds become instants and the other way round; text follows
`number_text.py` and `timestamps.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.types import ColumnType, DecimalType, decimal
from cqc.runtime.columns import number_text
from cqc.runtime.columns import timestamp_text as timestamps
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.date_text import DAY_US, format_date, parse_date
from cqc.runtime.columns.distinct_text import text_of_numbers
from cqc.runtime.columns.sortable_columns import decimal_column, digits_of
from cqc.runtime.expressions.arithmetic import Outcome, arithmetic, whole_from_double
from cqc.runtime.expressions.nested.part_casts import cast_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_BIGINT, _DOUBLE = ColumnType.BIGINT, ColumnType.DOUBLE
_STRING, _BOOLEAN = ColumnType.STRING, ColumnType.BOOLEAN
_TIMESTAMP, _INTERVAL = ColumnType.TIMESTAMP, ColumnType.INTERVAL
_DATE = ColumnType.DATE
_SECOND_US = 1_000_000
_SECONDS = decimal(20, 6)  # with their microseconds


def cast(column: Column, target: ColumnType) -> tuple[Column, NDArray[np.bool_] | None]:
    """The column as another type, and where a (not NULL) value has no counterpart.

    Raises:
        InternalError: for a pair of types that the binder should have refused.
    """
    if column.type is target:
        return column, None
    conversion = _CONVERSIONS.get((column.type, target))
    if conversion is None and column.type is _TIMESTAMP and isinstance(target, DecimalType):
        seconds = decimal_column(_SECONDS, np.asarray(column.values), column.valid)
        return cast(seconds, target)
    if conversion is None and target is _TIMESTAMP and isinstance(column.type, DecimalType):
        values, failed = _decimal_to_timestamp(column, column.type.scale)
        return Column(target, values, column.valid), failed
    if conversion is None:
        made = cast_parts(column, target, cast)
        if made is not None:
            return made
        raise InternalError(f"no cast from {column.type.value} to {target.value}")
    values, failed = conversion(column.values)
    if target is _STRING and column.valid is not None:
        values = null_where(values, ~column.valid)
    return Column(target, values, column.valid), failed


def null_where(texts: Any, missing: NDArray[np.bool_]) -> Any:
    """Texts (an Arrow array or scalar) made NULL where the mask is true."""
    if missing.ndim == 0:
        return pa.scalar(None, pa.string()) if missing else texts
    return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), texts)


def _bigint_to_timestamp(values: NDArray[np.int64]) -> Outcome:
    second = Column(_BIGINT, np.asarray(_SECOND_US))
    return arithmetic(ArithmeticOp.MULTIPLY, Column(_BIGINT, values), second)


def _double_to_whole(values: NDArray[np.float64]) -> Outcome:
    return whole_from_double(np.trunc(values))


def _double_to_timestamp(values: NDArray[np.float64]) -> Outcome:
    with np.errstate(over="ignore"):
        return whole_from_double(np.trunc(values * _SECOND_US))


def _decimal_to_timestamp(column: Column, scale: int) -> Outcome:
    """The instant of so many seconds; what is less than a microsecond is cut off."""
    digits = digits_of(column)
    flat = digits.reshape(-1).astype(object)
    size = np.abs(flat) * _SECOND_US // 10**scale
    micros = np.where(flat < 0, -size, size)
    beyond = np.asarray(np.abs(micros) >= 1 << 63, np.bool_)
    micros[beyond] = 0
    values = micros.astype(np.int64).reshape(digits.shape)
    return values, beyond.reshape(digits.shape) if beyond.any() else None


def _whole_to_text(values: NDArray[np.int64]) -> Outcome:
    if values.ndim == 0:
        return text_of_numbers(values, str), None
    return pc.cast(pa.array(values), pa.string()), None


def _boolean_to_text(values: NDArray[np.bool_]) -> Outcome:
    if values.ndim == 0:
        return text_of_numbers(values, lambda value: "true" if value else "false"), None
    return pc.if_else(pa.array(values), "true", "false"), None


def _as(dtype: type[np.generic]) -> Callable[[Any], Outcome]:
    return lambda values: (np.asarray(values).astype(dtype), None)


_CONVERSIONS: dict[tuple[ColumnType, ColumnType], Callable[[Any], Outcome]] = {
    (_BIGINT, _DOUBLE): _as(np.float64),
    (_BIGINT, _STRING): _whole_to_text,
    (_BIGINT, _BOOLEAN): _as(np.bool_),
    (_BIGINT, _TIMESTAMP): _bigint_to_timestamp,
    (_DOUBLE, _BIGINT): _double_to_whole,
    (_DOUBLE, _STRING): lambda values: (number_text.format_double(values), None),
    (_DOUBLE, _BOOLEAN): lambda values: (np.asarray(values != 0), None),
    (_DOUBLE, _TIMESTAMP): _double_to_timestamp,
    (_BOOLEAN, _BIGINT): _as(np.int64),
    (_BOOLEAN, _DOUBLE): _as(np.float64),
    (_BOOLEAN, _STRING): _boolean_to_text,
    (_TIMESTAMP, _BIGINT): lambda values: (np.asarray(values // _SECOND_US), None),
    (_TIMESTAMP, _DOUBLE): lambda values: (np.asarray(values / _SECOND_US), None),
    (_TIMESTAMP, _STRING): lambda values: (timestamps.format_cast(values), None),
    (_INTERVAL, _BIGINT): lambda values: (np.asarray(values // _SECOND_US), None),
    (_INTERVAL, _DOUBLE): lambda values: (np.asarray(values / _SECOND_US), None),
    (_STRING, _BIGINT): lambda texts: number_text.parse_bigint(texts, cast=True),
    (_STRING, _DOUBLE): lambda texts: number_text.parse_double(texts, cast=True),
    (_STRING, _BOOLEAN): lambda texts: number_text.parse_boolean(texts, cast=True),
    (_STRING, _TIMESTAMP): timestamps.parse_cast,
    (_STRING, _DATE): lambda texts: parse_date(texts, cast=True),
    (_TIMESTAMP, _DATE): lambda values: (np.asarray(values // DAY_US), None),
    (_DATE, _TIMESTAMP): lambda values: arithmetic(
        ArithmeticOp.MULTIPLY, Column(_BIGINT, values), Column(_BIGINT, np.asarray(DAY_US))
    ),
    (_DATE, _STRING): lambda values: (format_date(np.asarray(values)), None),
}
