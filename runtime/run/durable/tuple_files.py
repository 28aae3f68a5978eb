"""Base tuples on disk: one Arrow file for the tuples that a micro-batch added to a stream.

A checkpoint names the files that together hold what is retained. Files are written before the checkpoint that names them and
removed after one that does not, so a crash leaves at most files that nobody names. Their size and checksum are in the
checkpoint that names them, which is sealed itself.
"""

from __future__ import annotations

import io
import os
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType, type_of_text
from cqc.runtime.columns.columns import Column, concatenate, cut, text_column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.files.private_files import private_opener
from cqc.runtime.files.sealed import DamagedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation


@dataclass(frozen=True, slots=True)
class Segment:
    """Tuples at positions `start` to `start + count` of a stream, in a file."""

    stream: str
    file: str
    start: int
    count: int
    size: int
    checksum: int


class _Summed(io.FileIO):
    """A file that knows the checksum of what was written to it."""

    checksum = 0

    def write(self, data: Any) -> int:  # as FileIO has it: anything with bytes
        written = super().write(data)
        self.checksum = zlib.crc32(memoryview(data).cast("B")[:written], self.checksum)
        return written


def write_segment(folder: Path, file: str, stream: str, packet: Packet, start: int) -> Segment:
    """Write tuples of a stream, the first of them at position `start`, durably.

    Raises:
        OSError: when the disk is full, for one.
    """
    table = table_of(packet)
    summed = _Summed(str(folder / file), "wb", opener=private_opener)
    with io.BufferedWriter(summed) as out:
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        out.flush()
        os.fsync(summed.fileno())
        size = summed.tell()
    return Segment(stream, file, start, len(packet), size, summed.checksum)


def read_segments(
    folder: Path, relation: Relation | None, segments: Sequence[Segment], first: int
) -> Packet | None:
    """The tuples of one stream, or of a view (no relation), from position `first` on; None when there are none.

    Raises:
        DamagedError: when a file is missing, or is not what was written.
    """
    parts = []
    for segment in segments:
        skipped = max(first - segment.start, 0)
        if skipped < segment.count:
            parts.append(_read(folder / segment.file, relation, segment, skipped))
    if not parts:
        return None
    columns = [concatenate([part[at] for part in parts]) for at in range(len(parts[0]))]
    return Packet(tuple(columns[:-2]), columns[-2].values, columns[-1].values)


def table_of(packet: Packet, notes: Mapping[str, str] | None = None) -> pa.Table:
    """Tuples as a table that says itself of which types they are."""
    arrays = [column_to_arrow(column) for column in packet.columns]
    arrays += [pa.array(packet.ts_us), pa.array(packet.arrival)]
    table = pa.table(arrays, names=[str(number) for number in range(len(arrays))])
    types = ";".join(column.type.value for column in packet.columns)
    return table.replace_schema_metadata({"types": types, **(notes or {})})


def packet_of(table: pa.Table) -> Packet:
    """The tuples of `table_of`."""
    names = table.schema.metadata[b"types"].decode()
    types = [type_of_text(name) for name in names.split(";") if name] + [ColumnType.BIGINT] * 2
    columns = [
        column_from_arrow(type_, array)
        for type_, array in zip(types, table.combine_chunks().columns, strict=True)
    ]
    return Packet(tuple(columns[:-2]), columns[-2].values, columns[-1].values)


def _read(path: Path, relation: Relation | None, segment: Segment, start: int) -> list[Column]:
    data = _checked(path, segment)
    try:
        table = pa.ipc.open_file(pa.py_buffer(data)).read_all().combine_chunks()
    except pa.ArrowException as error:
        raise DamagedError(path, f"is no Arrow file ({error})") from error
    types = _types(path, relation, table.schema) + [ColumnType.BIGINT] * 2
    if len(types) != table.num_columns or table.num_rows != segment.count:
        raise DamagedError(path, f"does not hold the tuples of {segment.stream}")
    return [
        cut(column_from_arrow(type_, array), start, segment.count)
        for type_, array in zip(types, table.columns, strict=True)
    ]


def _types(path: Path, relation: Relation | None, schema: pa.Schema) -> list[ColumnType]:
    """The types of the columns; those of a view are in the file, as no program declares them."""
    if relation is not None:
        return [column.type for column in relation.columns]
    names = (schema.metadata or {}).get(b"types", b"").decode()
    try:
        return [type_of_text(name) for name in names.split(";") if name]
    except ValueError as error:
        raise DamagedError(path, f"does not say what it holds ({error})") from error


def _checked(path: Path, segment: Segment) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DamagedError(path, "is missing") from error
    except OSError as error:
        raise DamagedError(path, f"cannot be read ({error.strerror or error})") from error
    if len(data) != segment.size or zlib.crc32(data) != segment.checksum:
        raise DamagedError(path, "is damaged (its checksum is wrong)")
    return data


def column_to_arrow(column: Column) -> pa.Array:
    """A column as it is: times as numbers, NaN apart from NULL."""
    if column.type.held_as_text:
        return column.values
    mask = None if column.valid is None else ~column.valid
    return pa.array(column.values, mask=mask, from_pandas=False)


def column_from_arrow(type_: ColumnType, column: pa.ChunkedArray) -> Column:
    """The column that `column_to_arrow` gave."""
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if type_.held_as_text:
        return text_column(array, type_)
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    filled = array.fill_null(False if type_ is ColumnType.BOOLEAN else 0)
    return Column(type_, filled.to_numpy(zero_copy_only=False), valid)
