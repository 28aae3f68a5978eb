"""Columns of values: the only form in which data moves through the engine.

A column is a NumPy array of its type's natural layout plus a validity mask; text is an Arrow array, because NumPy has no
compact one. NULL positions of a NumPy column hold an unspecified value of the right type.

    BIGINT, TIMESTAMP, INTERVAL  int64 (microseconds for the latter two)
    DOUBLE                       float64
    BOOLEAN                      bool
    STRING                       pyarrow StringArray (its own validity agrees with `valid`)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DTYPES = {
    ColumnType.BIGINT: np.dtype(np.int64),
    ColumnType.TIMESTAMP: np.dtype(np.int64),
    ColumnType.INTERVAL: np.dtype(np.int64),
    ColumnType.DOUBLE: np.dtype(np.float64),
    ColumnType.BOOLEAN: np.dtype(np.bool_),
}


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one type; `valid` is None when no value is NULL."""

    type: ColumnType
    values: Any  # NDArray, or pa.StringArray for STRING
    valid: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def is_valid(self) -> NDArray[np.bool_]:
        """The validity mask, made where there is none."""
        if self.valid is None:
            return np.ones(len(self.values), dtype=np.bool_)
        return self.valid


def take(column: Column, positions: NDArray[np.int64]) -> Column:
    """The values at the positions, in their order."""
    valid = None if column.valid is None else column.valid[positions]
    if column.type is ColumnType.STRING:
        return Column(column.type, column.values.take(pa.array(positions)), valid)
    return Column(column.type, column.values[positions], valid)


def concatenate(columns: Sequence[Column]) -> Column:
    """One column after the other; all of one type."""
    first = columns[0]
    if len(columns) == 1:
        return first
    valid = None
    if any(column.valid is not None for column in columns):
        valid = np.concatenate([column.is_valid() for column in columns])
    if first.type is ColumnType.STRING:
        values = pa.concat_arrays([column.values for column in columns])
    else:
        values = np.concatenate([column.values for column in columns])
    return Column(first.type, values, valid)


def from_python(type_: ColumnType, values: Sequence[Any]) -> Column:
    """A column of Python values (None is NULL); for literals, tests and small inputs."""
    missing = [value is None for value in values]
    valid = ~np.array(missing, dtype=np.bool_) if any(missing) else None
    if type_ is ColumnType.STRING or type_ is ColumnType.NULL:
        return Column(ColumnType.STRING, pa.array(list(values), type=pa.string()), valid)
    filled = [0 if value is None else value for value in values]
    return Column(type_, np.array(filled, dtype=DTYPES[type_]), valid)


def to_python(column: Column) -> list[Any]:
    """The values as Python objects, NULL as None."""
    values: list[Any] = (
        column.values.to_pylist() if column.type is ColumnType.STRING else column.values.tolist()
    )
    if column.valid is None or column.type is ColumnType.STRING:
        return values
    return [value if ok else None for value, ok in zip(values, column.valid.tolist(), strict=True)]
