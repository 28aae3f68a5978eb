"""Base tuples on disk: one Arrow file for the tuples that a micro-batch added to a stream.

A checkpoint names the files that together hold what is retained. Files are written before the checkpoint that names them and
removed after one that does not, so a crash leaves at most files that nobody names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.types import ColumnType
from cqc.runtime.columns import Column, concatenate, cut, text_column
from cqc.runtime.packet import Packet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.compiler.catalog import Relation
    from cqc.runtime.operators.shared_state import SharedState


@dataclass(frozen=True, slots=True)
class Segment:
    """Tuples at positions `start` to `start + count` of a stream, in a file."""

    stream: str
    file: str
    start: int
    count: int


def write_segment(folder: Path, file: str, stream: str, state: SharedState, start: int) -> Segment:
    """Write the tuples of a state from a position on, durably.

    Raises:
        OSError: when the disk is full, for one.
    """
    positions = np.arange(start, state.head)
    arrays = [column_to_arrow(column) for column in state.rows(positions)]
    arrays += [pa.array(state.ts_at(positions)), pa.array(state.arrival_at(positions))]
    table = pa.table(arrays, names=[str(number) for number in range(len(arrays))])
    with (folder / file).open("wb") as out:
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        out.flush()
        os.fsync(out.fileno())
    return Segment(stream, file, start, len(positions))


def read_segments(
    folder: Path, relation: Relation, segments: Sequence[Segment], first: int
) -> Packet | None:
    """The tuples of one stream from position `first` on; None when there are none.

    Raises:
        OSError: when a file is missing.
        pa.ArrowInvalid: when one is damaged.
    """
    parts = []
    for segment in segments:
        skipped = max(first - segment.start, 0)
        if skipped < segment.count:
            parts.append(_read(folder / segment.file, relation, skipped, segment.count))
    if not parts:
        return None
    columns = [concatenate([part[at] for part in parts]) for at in range(len(parts[0]))]
    return Packet(tuple(columns[:-2]), columns[-2].values, columns[-1].values)


def _read(path: Path, relation: Relation, start: int, stop: int) -> list[Column]:
    with path.open("rb") as file:
        table = pa.ipc.open_file(file).read_all().combine_chunks()
    types = [column.type for column in relation.columns] + [ColumnType.BIGINT] * 2
    if len(types) != table.num_columns or table.num_rows != stop:
        raise pa.ArrowInvalid(f"{path.name} does not hold the tuples of {relation.name}")
    return [
        cut(column_from_arrow(type_, array), start, stop)
        for type_, array in zip(types, table.columns, strict=True)
    ]


def column_to_arrow(column: Column) -> pa.Array:
    """A column as it is: times as numbers, NaN apart from NULL."""
    if column.type is ColumnType.STRING:
        return column.values
    mask = None if column.valid is None else ~column.valid
    return pa.array(column.values, mask=mask, from_pandas=False)


def column_from_arrow(type_: ColumnType, column: pa.ChunkedArray) -> Column:
    """The column that `column_to_arrow` gave."""
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if type_ is ColumnType.STRING:
        return text_column(array)
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    filled = array.fill_null(False if type_ is ColumnType.BOOLEAN else 0)
    return Column(type_, filled.to_numpy(zero_copy_only=False), valid)
