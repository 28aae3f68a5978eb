"""Reading the rows of a range, by the same parsers as everything else: a row is taken or rejected by its content alone."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sources import READERS, SourceFile, read_file
from cqc.runtime.sources.file_trace import check_unchanged
from cqc.runtime.sources.formats.long_lines import LONGEST_LINE
from cqc.runtime.sources.formats.parquet import read_parquet
from cqc.runtime.sources.kafka import read_kafka
from cqc.runtime.sources.rate import read_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.range import Range

_CONNECTIONS: dict[str, Callable[[Relation, Range], Iterator[TypedBatch]]] = {
    "kafka": read_kafka,
    "rate": read_rate,
}


def read_range(relation: Relation, part: Range) -> Iterator[TypedBatch]:
    """The rows of a range, in chunks of any size.

    Raises:
        RunError: when the file has gone, cannot be read or lacks a declared column.
    """
    if part.format in _CONNECTIONS:
        yield from _CONNECTIONS[part.format](relation, part)
        return
    path = Path(part.path)
    read = READERS[part.format]
    if part.start == 0 and part.stop is None:
        _check_whole(path, part)
        yield from read_file(relation, SourceFile(path, part.format))
        return
    try:
        with path.open("rb") as file:
            check_unchanged(file, part)
            if part.format == "parquet":
                yield from read_parquet(relation, file, part.path, part.start, part.stop)
                return
            header = file.read(part.header)
            file.seek(part.start)
            if part.stop is not None and part.stop - part.start > 2 * LONGEST_LINE:
                # A line that is too long, alone: it is passed over, and not held in memory.
                yield from read(relation, _Stretch(file, header, part.stop - part.start), part.path)  # type: ignore[arg-type]  # it reads bytes
                return
            data = file.read(-1 if part.stop is None else part.stop - part.start)
    except OSError as error:
        raise RunError(f"cannot read {part.path}: {error.strerror or error}") from error
    if part.stop is not None and len(data) < part.stop - part.start:
        raise RunError(f"{part.path} became shorter while it was being read")
    yield from read(relation, io.BytesIO(header + data), part.path)


class _Stretch:
    """Some bytes of a file after its header, to be read a piece at a time."""

    def __init__(self, file: BinaryIO, header: bytes, size: int) -> None:
        self._file = file
        self._header = header
        self._left = size

    def read(self, size: int) -> bytes:
        header, self._header = self._header, b""
        if header:
            return header
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data


def _check_whole(path: Path, part: Range) -> None:
    if part.checksum is not None:
        try:
            with path.open("rb") as file:
                check_unchanged(file, part)
        except OSError as error:
            raise RunError(f"cannot read {part.path}: {error.strerror or error}") from error
