"""Parquet files, read a batch of rows at a time, only the declared columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from cqc.compiler.diagnostics.suggest import listed
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.arrow_columns import is_text
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

ROWS_AT_ONCE = 65_536
_BYTES_OF_A_CODE = 8  # about, with its share of the dictionary


def read_parquet(
    relation: Relation, file: BinaryIO, name: str, start: int = 0, stop: int | None = None
) -> Iterator[TypedBatch]:
    """The rows of one file, or those from `start` up to but not including `stop`.

    Raises:
        RunError: when it is no Parquet file, or lacks a declared column.
    """
    intake = Intake(relation)
    try:
        opened = pq.ParquetFile(file)
        repeated = _repeated(opened)
        if repeated:
            opened = pq.ParquetFile(file, metadata=opened.metadata, read_dictionary=repeated)
        columns = _wanted(relation, opened.schema_arrow.names, name)
        groups, first = _groups_of_rows(opened, start, stop)
        for batch in opened.iter_batches(
            ROWS_AT_ONCE, row_groups=groups, columns=columns, use_threads=False
        ):
            last = batch.num_rows if stop is None else min(stop - first, batch.num_rows)
            skipped = max(start - first, 0)
            first += batch.num_rows
            if skipped < last:
                yield intake.take(batch.slice(skipped, last - skipped))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise RunError(f"cannot read {name} as Parquet: {reason}") from error


def _repeated(opened: pq.ParquetFile) -> list[str]:
    """The text columns that the file keeps by their distinct values: they are read as such.

    A column chunk that holds every text takes more bytes a value than a code does.
    """
    metadata, schema = opened.metadata, opened.schema_arrow
    found = []
    for at, name in enumerate(metadata.schema.names[: len(schema)]):
        if name != schema.names[at] or not is_text(schema.field(at).type):
            continue  # a nested column takes several places
        chunks = [metadata.row_group(group).column(at) for group in range(metadata.num_row_groups)]
        values = sum(chunk.num_values for chunk in chunks)
        if sum(chunk.total_uncompressed_size for chunk in chunks) <= _BYTES_OF_A_CODE * values:
            found.append(name)
    return found


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


def _wanted(relation: Relation, names: list[str], file: str) -> list[str]:
    by_fold: dict[str, str] = {}
    for name in names:
        by_fold.setdefault(fold(name), name)
    present = set(names)
    wanted = []
    for column in relation.columns:
        found = column.name if column.name in present else by_fold.get(fold(column.name))
        if found is None:
            raise RunError(
                f"{file} has no column {column.name} for {relation.name} (it has: {listed(names)})"
            )
        wanted.append(found)
    return wanted
