"""Columns and arrays as text, for checkpoints: an Arrow stream, compressed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import DTYPES, Column, text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray


def saved(named: dict[str, Column | NDArray[Any]]) -> str:
    """Columns and arrays of one length as text."""
    arrays, names = [], []
    for name, each in named.items():
        if isinstance(each, Column):
            arrays.append(_arrow(each))
            names.append(name)
        elif each.ndim == 2:  # partial aggregates
            for at in range(each.shape[1]):
                arrays.append(pa.array(np.ascontiguousarray(each[:, at])))
                names.append(f"{name}.{at}")
        else:
            arrays.append(pa.array(each))
            names.append(name)
    sink = pa.BufferOutputStream()
    table = pa.table(arrays, names=names)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def loaded(text: str) -> pa.Table:
    """What `saved` wrote."""
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return reader.read_all()


def loaded_column(table: pa.Table, name: str, type_: ColumnType) -> Column:
    """A column of what was saved."""
    array = table.column(name).combine_chunks()
    dtype = DTYPES.get(type_)
    if dtype is None:
        return text_column(array, type_)
    valid = None if not array.null_count else array.is_valid().to_numpy(zero_copy_only=False)
    filled = (
        array.fill_null(False if type_ is ColumnType.BOOLEAN else 0) if array.null_count else array
    )
    return Column(type_, filled.to_numpy(zero_copy_only=False).astype(dtype), valid)


def loaded_array(table: pa.Table, name: str) -> NDArray[Any]:
    """An array of what was saved; one of two dimensions column by column."""
    if name in table.column_names:
        values: NDArray[Any] = table.column(name).to_numpy().copy()
        return values
    parts = [each for each in table.column_names if each.startswith(f"{name}.")]
    ordered = sorted(parts, key=lambda each: int(each.rsplit(".", 1)[1]))
    return np.column_stack([table.column(each).to_numpy() for each in ordered])


def _arrow(column: Column) -> pa.Array:
    if column.type not in DTYPES:
        return column.values
    missing = None if column.valid is None else ~column.valid
    return pa.array(column.values, mask=missing)
