"""Columns of values: the only form in which data moves through the engine.

A column is a NumPy array of its type's natural layout plus a validity mask; text is an Arrow array, because NumPy has no
compact one. NULL positions of a NumPy column hold an unspecified value of the right type.

    BIGINT, TIMESTAMP, INTERVAL  int64 (microseconds for the latter two)
    DATE                         int64 (days)
    DOUBLE                       float64
    BOOLEAN                      bool
    STRING                       pyarrow StringArray (its own validity agrees with `valid`); `RepeatedText` makes it when asked
    DECIMAL, BINARY              the same, with texts that are ordered as the values (`sortable_columns.py`)
    ARRAY, MAP, STRUCT           the same, with texts that are equal where values are; `NestedColumn` makes them when asked
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DTYPES = {
    ColumnType.BIGINT: np.dtype(np.int64),
    ColumnType.TIMESTAMP: np.dtype(np.int64),
    ColumnType.INTERVAL: np.dtype(np.int64),
    ColumnType.DATE: np.dtype(np.int64),
    ColumnType.DOUBLE: np.dtype(np.float64),
    ColumnType.BOOLEAN: np.dtype(np.bool_),
}

ARROW_TYPES = {
    ColumnType.BIGINT: pa.int64(),
    ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    ColumnType.INTERVAL: pa.duration("us"),
    ColumnType.DATE: pa.date32(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.STRING: pa.string(),
    ColumnType.NULL: pa.string(),
}


@dataclass(
    slots=True, eq=False
)  # not frozen: making a frozen one costs three times as much, and each packet has several
class Column:
    """Values of one type; `valid` is None when no value is NULL. It is not changed once it is made."""

    type: ColumnType
    values: Any  # NDArray, or pa.StringArray for STRING
    valid: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        mask = 0 if self.valid is None else self.valid.nbytes
        return int(self.values.nbytes) + mask

    def taken(self, positions: Any) -> Column | None:
        """Some rows, by positions, a mask or a slice, where the column has a way of its own to take them."""
        del positions
        return None

    def followed_by(self, others: Sequence[Column]) -> Column | None:
        """This column and others behind it, where it has a way of its own to join them."""
        del others
        return None

    def is_valid(self) -> NDArray[np.bool_]:
        """The validity mask, made where there is none."""
        if self.valid is None:
            return np.ones(len(self), dtype=np.bool_)
        return self.valid


def text_column(values: pa.StringArray, type_: ColumnType = ColumnType.STRING) -> Column:
    """A column of an Arrow array of texts, its mask taken from the array."""
    if values.null_count == 0:
        return Column(type_, values)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return Column(type_, values, valid)


def null_column(type_: ColumnType, count: int) -> Column:
    """A column of nothing but NULL."""
    valid = np.zeros(count, dtype=np.bool_)
    if type_.held_as_text:
        known = ColumnType.STRING if type_ is ColumnType.NULL else type_
        return Column(known, pa.nulls(count, pa.string()), valid)
    return Column(type_, np.zeros(count, dtype=DTYPES[type_]), valid)


def take(column: Column, positions: NDArray[np.int64]) -> Column:
    """The values at the positions, in their order."""
    valid = None if column.valid is None else column.valid[positions]
    if column.type.held_as_text:
        own = column.taken(positions)
        return (
            own
            if own is not None
            else Column(column.type, column.values.take(pa.array(positions)), valid)
        )
    # The method takes half the time that an index in brackets does.
    return Column(column.type, column.values.take(positions), valid)


def select(column: Column, mask: NDArray[np.bool_]) -> Column:
    """The values where the mask is true."""
    valid = None if column.valid is None else column.valid[mask]
    if column.type.held_as_text:
        own = column.taken(mask)
        return (
            own
            if own is not None
            else Column(column.type, column.values.filter(pa.array(mask)), valid)
        )
    return Column(column.type, column.values[mask], valid)


def cut(column: Column, start: int, stop: int) -> Column:
    """The values from `start` up to but not including `stop`, without copying."""
    valid = None if column.valid is None else column.valid[start:stop]
    if column.type.held_as_text:
        own = column.taken(slice(start, max(stop, start)))
        return (
            own
            if own is not None
            else Column(column.type, column.values.slice(start, max(stop - start, 0)), valid)
        )
    return Column(column.type, column.values[start:stop], valid)


def concatenate(columns: Sequence[Column]) -> Column:
    """One column after the other; all of one type."""
    first = columns[0]
    if len(columns) == 1:
        return first
    if first.type.held_as_text and (own := first.followed_by(columns[1:])) is not None:
        return own
    valid = None
    if any(column.valid is not None for column in columns):
        valid = np.concatenate([column.is_valid() for column in columns])
    if first.type.held_as_text:
        values = pa.concat_arrays([column.values for column in columns])
    else:
        values = np.concatenate([column.values for column in columns])
    return Column(first.type, values, valid)


def from_python(type_: ColumnType, values: Sequence[Any]) -> Column:
    """A column of Python values (None is NULL); for literals, tests and small inputs."""
    missing = [value is None for value in values]
    valid = ~np.array(missing, dtype=np.bool_) if any(missing) else None
    if type_.held_as_text:
        known = ColumnType.STRING if type_ is ColumnType.NULL else type_
        return Column(known, pa.array(list(values), type=pa.string()), valid)
    filled = [0 if value is None else value for value in values]
    return Column(type_, np.array(filled, dtype=DTYPES[type_]), valid)


def to_python(column: Column) -> list[Any]:
    """The values as Python objects, NULL as None."""
    values: list[Any] = (
        column.values.to_pylist() if column.type.held_as_text else column.values.tolist()
    )
    if column.valid is None or column.type.held_as_text:
        return values
    return [value if ok else None for value, ok in zip(values, column.valid.tolist(), strict=True)]


def to_arrow(column: Column) -> pa.Array:
    """The column as an Arrow array: timestamps with zone UTC, NULLs as Arrow's own."""
    if column.type.held_as_text:
        return column.values
    missing = None if column.valid is None else ~column.valid
    type_ = ARROW_TYPES[column.type]
    if column.type is ColumnType.DATE:
        # Days beyond 32 bits have no counterpart; no date that is written is so far away.
        small = column.values.astype(np.int32)
        lost = small != column.values
        if lost.any():
            missing = lost if missing is None else missing | lost
        return pa.array(small, type=pa.int32(), mask=missing).cast(type_)
    if column.type in (ColumnType.TIMESTAMP, ColumnType.INTERVAL):
        return pa.array(column.values, type=pa.int64(), mask=missing).cast(type_)
    return pa.array(column.values, type=type_, mask=missing)


def spread(column: Column, rows: int) -> Column:
    """One value a row, where a constant stands for all."""
    if (
        type(column) is not Column
    ):  # columns with a form of their own are no constants, and make texts when asked for values
        return column
    if isinstance(column.values, pa.Scalar):
        if not column.values.is_valid:
            return null_column(column.type, rows)
        return text_column(pa.repeat(column.values, rows), column.type)
    if isinstance(column.values, pa.Array):
        return column
    values, valid = column.values, column.valid
    if values.ndim == 0:
        values = np.full(rows, values)
    if valid is not None and valid.ndim == 0:
        valid = np.full(rows, valid)
    return Column(column.type, values, valid)


def is_known(column: Column) -> NDArray[np.bool_]:
    """Where a column is not NULL, broadcastable."""
    return np.asarray(True) if column.valid is None else column.valid
