"""An Arrow stream as a table that takes no more memory than its bytes promise.

A few bytes of Arrow can stand for a great deal: compressed batches, columns of nothing, a long text that every row refers to.
Each of these is looked at before anything is unpacked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.convert.arrow_columns import is_text
from cqc.runtime.serve.http.arrow_messages import refuse_compressed
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import Relation

ARROW_STREAM = "application/vnd.apache.arrow.stream"
_MOST_TEXT = 256 * 1024 * 1024  # of one column, each row with a text of its own


def read_arrow(relation: Relation, body: bytes, most_rows: int) -> pa.Table:
    """The declared columns of a stream.

    Raises:
        Refusal: when it is not an Arrow stream, has too many rows, or would take too much memory.
    """
    try:
        refuse_compressed(body)
        table = _declared(relation, _read(body, most_rows))
        table.validate(full=True)
        return table
    except (pa.ArrowException, ValueError, KeyError, TypeError, OSError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise Refusal(Status.MALFORMED, f"the body is not an Arrow stream: {reason}") from error


def _read(body: bytes, most_rows: int) -> pa.Table:
    reader = pa.ipc.open_stream(body)
    batches = []
    rows = 0
    for batch in reader:
        rows += batch.num_rows
        if rows > most_rows:
            raise Refusal(
                Status.TOO_LARGE, f"the body has more than {most_rows:,} rows; send it in parts"
            )
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _declared(relation: Relation, table: pa.Table) -> pa.Table:
    types = {fold(column.name): column.type for column in relation.declared}
    names, arrays = [], []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        declared = types.get(fold(name))
        if declared is not None:
            names.append(name)
            arrays.append(_bounded(name, declared, column))
    if not arrays:  # rows of NULL all the same
        return pa.table({"": pa.nulls(table.num_rows)})
    return pa.Table.from_arrays(arrays, names=names)


def _bounded(name: str, declared: ColumnType, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, when it takes little more memory than it did in the stream."""
    type_ = column.type
    if pa.types.is_nested(type_) or pa.types.is_run_end_encoded(type_):
        if pa.types.is_run_end_encoded(type_):
            raise Refusal(Status.INVALID, f"{name} is run-end encoded, which is not taken")
        return _of_another_type(declared, column)
    size = sum(_text_bytes(chunk) for chunk in column.chunks)
    if size > _MOST_TEXT:
        raise Refusal(
            Status.TOO_LARGE, f"{name} has more than {_MOST_TEXT:,} bytes of text; send it in parts"
        )
    return column


def _of_another_type(declared: ColumnType, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nothing that has parts is a value of any type: each is one that does not fit, without its parts."""
    missing = column.is_null()
    other = pa.int8() if declared is ColumnType.BOOLEAN else pa.bool_()
    return pc.if_else(missing, pa.scalar(None, other), pa.scalar(0, pa.int8()).cast(other))


def _text_bytes(array: Any) -> int:
    """How many bytes the texts have that are not stored once for each row."""
    if pa.types.is_dictionary(array.type):
        values = array.dictionary
        if pa.types.is_nested(values.type) or pa.types.is_dictionary(values.type):
            raise Refusal(Status.INVALID, "dictionaries of values with parts are not taken")
        array.validate(full=True)  # the places in the dictionary are followed below
        lengths = _lengths(values)
        if lengths is None:
            return 0
        places = array.indices.drop_null().to_numpy()
        return int(lengths[places].sum(dtype=np.int64))
    lengths = _lengths(array) if _is_view(array.type) else None
    return 0 if lengths is None else int(lengths.sum(dtype=np.int64))


def _is_view(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(type_) or pa.types.is_binary_view(type_))


def _lengths(array: Any) -> Any:
    """How long each text is; None for values that are none."""
    if _is_view(array.type):
        if not len(array):
            return np.zeros(0, np.int64)
        views = np.frombuffer(array.buffers()[1], np.int32).reshape(-1, 4)
        return np.maximum(views[array.offset : array.offset + len(array), 0], 0)
    if (
        is_text(array.type)
        or pa.types.is_binary(array.type)
        or pa.types.is_large_binary(array.type)
    ):
        return pc.fill_null(pc.binary_length(array), 0).to_numpy()
    return None
