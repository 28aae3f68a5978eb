"""Cutting one file into ranges of whole records, a piece at a time.

A cursor stands at a place in a file and hands out the next range of at most so many rows. Where records end is found by the
rules of the CSV and JSON-lines readers, so that a range holds exactly the records that a reader of the whole file would see.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.source_formats import FILES, Cut
from cqc.runtime.errors import RunError
from cqc.runtime.sources.file_trace import checksum
from cqc.runtime.sources.formats.csv import header_too_long
from cqc.runtime.sources.formats.csv_form import CsvForm
from cqc.runtime.sources.formats.csv_records import (
    BLOCK_BYTES,
    COMMAS,
    Dialect,
    csv_blocks,
    regular_record_ends,
    scan_records,
)
from cqc.runtime.sources.formats.jsonl import line_blocks
from cqc.runtime.sources.formats.long_lines import LongLine
from cqc.runtime.sources.formats.packed import is_packed
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Protocol

    from numpy.typing import NDArray

    from cqc.runtime.sources import SourceFile

    class Cursor(Protocol):
        """A place in a file."""

        def take(self, rows: int | None) -> tuple[Range, int] | None:
            """The next range and how many rows it has at most; None at the end."""

        def close(self) -> None:
            """Let go of the file."""


_BOM = b"\xef\xbb\xbf"
PLAIN_CSV = CsvForm(COMMAS)
ROWS_OF_PARQUET = 262_144


def open_cursor(
    stream: str,
    file: SourceFile,
    start: int | None,
    *,
    whole_lines: bool,
    form: CsvForm = PLAIN_CSV,
) -> Cursor:
    """A cursor at `start`, where an earlier one stopped (None: at the beginning).

    Args:
        stream: the folded name of the stream that the rows are for.
        file: the file and what it is.
        start: a place in it.
        whole_lines: leave a last line without a line end for later, because the file may still grow.
        form: how CSV is written.

    Raises:
        RunError: when the file cannot be read.
    """
    try:
        if is_packed(file.path) and whole_lines:
            raise RunError(f"{file.path} is still being written")  # whoever follows it comes back
        cut = FILES[file.format].cut
        if is_packed(file.path) or not file.path.is_file() or cut is Cut.WHOLE:
            return WholeFile(stream, file, start)
        if cut is Cut.ROWS:
            return ParquetCursor(stream, file, start)
        return TextCursor(stream, file, start, whole_lines=whole_lines, form=form)
    except OSError as error:
        raise RunError(f"cannot read {file.path}: {error.strerror or error}") from error


class WholeFile:
    """A file that can only be read from its beginning to its end."""

    def __init__(self, stream: str, file: SourceFile, start: int | None) -> None:
        size, traced = _trace_of(file.path)
        whole = Range(stream, str(file.path), file.format, 0, None, 0, traced, size)
        self._rest: Range | None = whole if start is None else None

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        del rows
        whole, self._rest = self._rest, None
        return None if whole is None else (whole, 1)

    def close(self) -> None:
        return


class ParquetCursor:
    """Rows of a Parquet file."""

    def __init__(self, stream: str, file: SourceFile, start: int | None) -> None:
        self._stream, self._path = stream, str(file.path)
        self._size, self._traced = _trace_of(file.path)
        self._total = _rows_of_parquet(file.path)
        self._at = start or 0
        self._begun = start is not None

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        # A file without rows is read once too: its columns are checked then.
        if self._begun and self._at >= self._total:
            return None
        self._begun = True
        stop = min(self._at + (rows or ROWS_OF_PARQUET), self._total)
        trace = (self._traced, self._size, stop < self._total)
        part = Range(self._stream, self._path, "parquet", self._at, stop, 0, *trace)
        count, self._at = stop - self._at, stop
        return part, count

    def close(self) -> None:
        return


def _trace_of(path: Path) -> tuple[int, int | None]:
    """The size of a file that is handed out as it is, and its checksum; none of a pipe, which can be read once."""
    if not path.is_file():
        return 0, None
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return size, checksum(file, size)


def _rows_of_parquet(path: Path) -> int:
    try:
        import pyarrow.parquet as pq  # takes 20 ms, and few read it

        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise RunError(f"cannot read {path} as Parquet: {reason}") from error


class TextCursor:
    """Records of a CSV or JSON-lines file."""

    def __init__(
        self,
        stream: str,
        file: SourceFile,
        start: int | None,
        *,
        whole_lines: bool,
        form: CsvForm = PLAIN_CSV,
    ) -> None:
        self._stream, self._path, self._format = stream, str(file.path), file.format
        self._dialect = form.dialect
        has_header = file.format == "csv" and form.has_header
        self._header = _header_bytes(file.path, form.dialect) if has_header else 0
        self._file = file.path.open("rb")
        self._at = self._header if start is None else start
        self._begun = start is not None
        self._whole_lines = whole_lines
        self._too_early = not self._begun and has_header and not self._has_header_line()
        self._file.seek(self._at)
        self._blocks: Iterator[bytes | LongLine] = (
            csv_blocks(self._file, BLOCK_BYTES, form.dialect)
            if file.format == "csv"
            else line_blocks(self._file, BLOCK_BYTES)
        )
        self._ends: list[int] = []  # where the records of the block end that are not handed out yet

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        if self._too_early:
            return None
        if not self._ends:
            self._next_block()
        if not self._ends:
            # A file without records is read once too: its header is checked then.
            return None if self._begun else (self._range(self._at), 1)
        count = min(rows or len(self._ends), len(self._ends))
        part = self._range(self._ends[count - 1])
        del self._ends[:count]
        return part, count

    def close(self) -> None:
        self._file.close()

    def _has_header_line(self) -> bool:
        """Whether the header is there: of a file that may still grow, with its line end, or it may be half of it."""
        line = self._file.read(self._header).removeprefix(_BOM)
        return bool(line.strip()) and (line.endswith((b"\n", b"\r")) or not self._whole_lines)

    def _range(self, stop: int) -> Range:
        self._begun = True
        size = os.fstat(self._file.fileno()).st_size
        trace = (checksum(self._file, stop), size, stop < size)
        part = Range(self._stream, self._path, self._format, self._at, stop, self._header, *trace)
        self._at = stop
        return part

    def _next_block(self) -> None:
        block = next(self._blocks, b"")
        if isinstance(block, LongLine):
            if block.has_end or not self._whole_lines:
                self._ends = [self._at + block.size]
            return
        if self._whole_lines and not block.endswith(b"\n"):
            block = block[: block.rfind(b"\n") + 1]
        if block:
            ends = _record_ends(block, self._dialect if self._format == "csv" else None)
            self._ends = [self._at + int(end) for end in ends]


def _record_ends(block: bytes, dialect: Dialect | None) -> NDArray[np.int64]:
    """Where the records of a block end; the last one ends with the block. Without a dialect they are lines."""
    if dialect is not None:
        ends = regular_record_ends(block, dialect)
        if ends is None:
            ends = np.array([record.end for record in scan_records(block, dialect)], np.int64)
    else:
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    if not len(ends) or ends[-1] != len(block):
        ends = np.append(ends, len(block))
    return ends


def _header_bytes(path: Path, dialect: Dialect) -> int:
    """How many bytes the header takes, with blank lines before it."""
    with path.open("rb") as file:
        block = next(csv_blocks(file, dialect=dialect), b"")
    if isinstance(block, LongLine):
        raise header_too_long(str(path))
    at = len(_BOM) if block.startswith(_BOM) else 0
    for record in scan_records(block[at:], dialect):
        fields = record.fields
        if fields is None or len(fields) > 1 or fields[0].strip():
            return at + record.end
    return len(block)
