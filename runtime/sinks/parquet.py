"""Parquet: a file per query in a folder, or everything in one file.

A Parquet file is written whole: rows are held back until there are many, then they become a file under another name that is
renamed when it is complete. A query with a great many results has several: `NAME.parquet`, `NAME.2.parquet`, ... One file
for all queries holds `query`, the time and the output columns where these are the same for all, else the row as JSON text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import ARROW_TYPES
from cqc.runtime.columns.convert.arrow_out import arrow_type, to_arrow
from cqc.runtime.deliver.results import NO_TIME, ResultBlock, merge
from cqc.runtime.errors import RunError
from cqc.runtime.sinks.alert_text import flat
from cqc.runtime.sinks.csv import common_shape
from cqc.runtime.sinks.csv_text import csv_times
from cqc.runtime.sinks.json_text import json_rows
from cqc.runtime.sinks.output import cannot_write, make_folder
from cqc.runtime.sinks.protocol import Shape, shape_of_block, time_label
from cqc.runtime.sinks.query_files import file_of_query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HELD_BYTES = 128 * 1024 * 1024


class ParquetFolderSink:
    """A file for each query; queries without results have one without rows."""

    def __init__(self, folder: Path, shapes: Mapping[str, Shape] | None) -> None:
        make_folder(folder)
        self._folder = folder
        self._shapes = dict(shapes or {})
        self._held: dict[str, list[pa.Table]] = {}
        self._held_bytes = 0
        self._parts: dict[str, int] = {}

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for block in blocks:
            if not len(block):
                continue
            table = table_of_block(block)
            self._held.setdefault(block.query, []).append(table)
            self._held_bytes += table.nbytes
        if self._held_bytes > HELD_BYTES:
            self._let_go()

    def close(self) -> None:
        self._let_go()
        for query, shape in self._shapes.items():
            if query not in self._parts:
                self._write_part(query, schema_of_shape(shape).empty_table())

    def _let_go(self) -> None:
        for query, tables in self._held.items():
            self._write_part(query, pa.concat_tables(tables))
        self._held.clear()
        self._held_bytes = 0

    def _write_part(self, query: str, table: pa.Table) -> None:
        part = self._parts[query] = self._parts.get(query, 0) + 1
        extension = "parquet" if part == 1 else f"{part}.parquet"
        write_whole(file_of_query(self._folder, query, extension), table)


class ParquetFileSink:
    """All results in one file."""

    def __init__(self, path: Path, shapes: Mapping[str, Shape] | None) -> None:
        if (
            path.exists() and not path.is_file()
        ):  # the finished file would take the place of a device or a pipe
            raise RunError(f"cannot write {path}: Parquet needs a file or a folder")
        self._path = path.resolve() if path.is_symlink() else path
        self._aside = self._path.with_name(f".{path.name}.part")
        shape = common_shape(shapes)
        self._as_json = shape is None
        self._schema = _JSON_SCHEMA if shape is None else _with_query(schema_of_shape(shape))
        try:
            import pyarrow.parquet as pq  # takes 20 ms, and few write it

            self._writer = pq.ParquetWriter(self._aside, self._schema)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._held: list[pa.Table] = []

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        blocks = [block for block in blocks if len(block)]
        if not blocks:
            return
        make = _json_table if self._as_json else _named_table
        block_of, place = merge(blocks)
        starts = np.cumsum([0, *(len(block) for block in blocks)])[:-1]
        whole = pa.concat_tables([make(block) for block in blocks])
        self._held.append(whole.take(pa.array(starts[block_of] + place)))
        if sum(table.nbytes for table in self._held) > HELD_BYTES:
            self._let_go()

    def close(self) -> None:
        self._let_go()
        try:
            self._writer.close()
            self._aside.replace(self._path)
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def _let_go(self) -> None:
        try:
            for table in self._held:
                self._writer.write_table(table.cast(self._schema))
        except OSError as error:
            raise cannot_write(self._path, error) from error
        self._held.clear()


_JSON_SCHEMA = pa.schema(
    {"query": pa.string(), "ts": pa.string(), "at": pa.string(), "row": pa.string()}
)


def schema_of_shape(shape: Shape) -> pa.Schema:
    """The schema of a query's results: the time first."""
    fields = [(time_label(shape), _time_arrow_type(shape.time_type, is_at=shape.is_at))]
    fields += [
        (name, arrow_type(type_)) for name, type_ in zip(shape.names, shape.types, strict=True)
    ]
    return pa.schema(fields)


def table_of_block(block: ResultBlock) -> pa.Table:
    """A block as an Arrow table: the time first, then the outputs."""
    block = flat(block)
    label = time_label(shape_of_block(block))
    arrays = [_times(block), *map(to_arrow, block.own_columns())]
    return pa.table(arrays, names=[label, *block.names])


def write_whole(path: Path, table: pa.Table) -> None:
    """Write a Parquet file that is there whole or not at all."""
    aside = path.with_name(f".{path.name}.part")
    try:
        import pyarrow.parquet as pq  # takes 20 ms, and few write it

        pq.write_table(table, aside)
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def _time_arrow_type(type_: ColumnType, *, is_at: bool) -> pa.DataType:
    # An EVERY of half a second has instants between the whole seconds of a BIGINT event time.
    return pa.float64() if is_at and type_ is ColumnType.BIGINT else ARROW_TYPES[type_]


def _times(block: ResultBlock) -> pa.Array:
    unknown = block.times_us == NO_TIME
    type_ = _time_arrow_type(block.time_type, is_at=block.is_at)
    if type_ == pa.float64():
        return pa.array(block.times_us / 1_000_000, mask=unknown)
    if type_ == pa.int64():
        return pa.array(block.times_us // 1_000_000, mask=unknown)
    return pa.array(block.times_us, pa.int64(), mask=unknown).cast(type_)


def _with_query(schema: pa.Schema) -> pa.Schema:
    return schema.insert(0, pa.field("query", pa.string()))


def _named_table(block: ResultBlock) -> pa.Table:
    names = pa.repeat(pa.scalar(block.query), len(block))
    return table_of_block(block).add_column(0, "query", names)


def _json_table(block: ResultBlock) -> pa.Table:
    block = flat(block)
    times = csv_times(block.times_us, block.time_type)
    nothing = pa.nulls(len(block), pa.string())
    rows = json_rows(block.names, block.own_columns(), len(block))
    columns = [
        pa.repeat(pa.scalar(block.query), len(block)),
        nothing if block.is_at else times,
        times if block.is_at else nothing,
        rows,
    ]
    return pa.table(columns, schema=_JSON_SCHEMA)
