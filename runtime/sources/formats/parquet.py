"""Parquet files, read a batch of rows at a time, only the declared columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.compiler.diagnostics.suggest import listed
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.convert.arrow_columns import is_text
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    import pyarrow.parquet as pq

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

ROWS_AT_ONCE, BYTES_AT_ONCE = 32_768, 8 * 1024 * 1024
_BYTES_OF_A_CODE = 8  # about, with its share of the dictionary
_REPEATED_SHARE = (
    0.25  # of the length of its texts, what a value of a column takes that is kept by codes
)
_READ_BYTES = 128 * 1024  # of a column at a time; else all of a row group is read at once


def read_parquet(
    relation: Relation,
    file: BinaryIO,
    name: str,
    start: int = 0,
    stop: int | None = None,
    wanted: frozenset[int] | None = None,
) -> Iterator[TypedBatch]:
    """The rows of one file, or those from `start` up to but not including `stop`.

    Args:
        relation: the stream or table.
        file: read from its end.
        name: as messages call it.
        start: number of the first row.
        stop: number of the row behind the last; all by default.
        wanted: positions of the columns that somebody reads (None: all). The others are NULL, unless a row might be rejected for
            what they hold.

    Raises:
        RunError: when it is no Parquet file, or lacks a declared column.
    """
    import pyarrow.parquet as pq  # takes 20 ms, and not every run reads it

    intake = Intake(relation)
    try:
        opened = pq.ParquetFile(file)
        repeated = _repeated(opened)
        opened = pq.ParquetFile(
            file,
            metadata=opened.metadata,
            read_dictionary=repeated,
            buffer_size=_READ_BYTES,
            pre_buffer=False,
        )
        columns = _wanted(relation, opened.schema_arrow, name, wanted)
        groups, first = _groups_of_rows(opened, start, stop)
        for batch in _batches(opened, groups, columns):
            last = batch.num_rows if stop is None else min(stop - first, batch.num_rows)
            skipped = max(start - first, 0)
            first += batch.num_rows
            if skipped < last:
                taken = intake.take(batch.slice(skipped, last - skipped))
                taken.absent = None  # what is not there was not asked for
                yield taken
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise RunError(f"cannot read {name} as Parquet: {reason}") from error


def _batches(opened: pq.ParquetFile, groups: list[int], columns: list[str]) -> Iterator[Any]:
    """The rows of some row groups, some at a time: fewer where they are long.

    Each row group has dictionaries of its own, and putting columns together by the distinct texts of two takes longer than reading
    them. So no batch has rows of two groups where these are larger than a batch.
    """
    metadata = opened.metadata
    every = [metadata.row_group(group) for group in range(opened.num_row_groups)]
    size = sum(group.total_byte_size for group in every)
    fit = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE * metadata.num_rows // max(size, 1)))
    alone: list[tuple[list[int], int]] = []
    for group in groups:
        parts = -(-every[group].num_rows // fit)  # of about one length
        alone.append(([group], -(-every[group].num_rows // max(parts, 1))))
    is_small = all(every[group].num_rows <= fit for group in groups)
    for some, rows in [(groups, fit)] if is_small else alone:
        if rows:
            yield from opened.iter_batches(
                rows, row_groups=some, columns=columns, use_threads=False
            )


def _repeated(opened: pq.ParquetFile) -> list[str]:
    """The text columns that the file keeps by their distinct values: they are read as such.

    A column chunk that holds every text takes more bytes a value than a code does, and about as many as the texts are long.
    """
    metadata, schema = opened.metadata, opened.schema_arrow
    found = []
    for at, name in enumerate(metadata.schema.names[: len(schema)]):
        if name != schema.names[at] or not is_text(schema.field(at).type):
            continue  # a nested column takes several places
        chunks = [metadata.row_group(group).column(at) for group in range(metadata.num_row_groups)]
        values = sum(chunk.num_values - _missing(chunk) for chunk in chunks)
        size = sum(chunk.total_uncompressed_size for chunk in chunks)
        if size <= values * max(_BYTES_OF_A_CODE, _REPEATED_SHARE * _length(chunks)):
            found.append(name)
    return found


def _missing(chunk: Any) -> int:
    """How many values of a column chunk are NULL, as far as the file tells."""
    told = chunk.is_stats_set and chunk.statistics.has_null_count
    return int(chunk.statistics.null_count) if told else 0


def _length(chunks: Sequence[Any]) -> float:
    """How long the texts of a column are, as far as the file tells: as the least and the largest of each chunk."""
    lengths = [
        len(text)
        for chunk in chunks
        if chunk.is_stats_set and chunk.statistics.has_min_max
        for text in (chunk.statistics.min, chunk.statistics.max)
        if isinstance(text, str | bytes)
    ]
    return sum(lengths) / len(lengths) if lengths else 0.0


def _groups_of_rows(opened: pq.ParquetFile, start: int, stop: int | None) -> tuple[list[int], int]:
    """The row groups that hold some rows, and the number of the first row in them."""
    groups: list[int] = []
    first = at = 0
    for number in range(opened.num_row_groups):
        end = at + opened.metadata.row_group(number).num_rows
        if end > start and (stop is None or at < stop):
            first = first if groups else at
            groups.append(number)
        at = end
    return groups, first


def _wanted(
    relation: Relation, schema: pa.Schema, file: str, read: frozenset[int] | None
) -> list[str]:
    """The columns of the file to read.

    Raises:
        RunError: when a declared one is not there, whether it is read or not.
    """
    names = schema.names
    by_fold: dict[str, str] = {}
    for name in names:
        by_fold.setdefault(fold(name), name)
    present = set(names)
    wanted = []
    for at, column in enumerate(relation.columns):
        if column.inside is not None:
            continue
        found = column.name if column.name in present else by_fold.get(fold(column.name))
        if found is None:
            raise RunError(
                f"{file} has no column {column.name} for {relation.name} (it has: {listed(names)})"
            )
        if read is None or at in read or not _always_fits(column.type, schema.field(found).type):
            wanted.append(found)
    return wanted


def _always_fits(type_: ColumnType, given: pa.DataType) -> bool:
    """Whether every value of a file's column is one of the declared type, so that no row is rejected for it."""
    match type_:
        case ColumnType.STRING:
            return is_text(given.value_type if pa.types.is_dictionary(given) else given)
        case ColumnType.BIGINT:
            return bool(pa.types.is_integer(given)) and given != pa.uint64()
        case ColumnType.DOUBLE:
            return bool(pa.types.is_floating(given) or pa.types.is_integer(given))
        case ColumnType.BOOLEAN:
            return bool(pa.types.is_boolean(given))
        case _:
            return False
