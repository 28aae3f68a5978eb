"""A range: a part of one file, small enough for one micro-batch, and how its rows are read.

A run that can be interrupted must be able to say exactly which rows a micro-batch had, and to read the same rows again. So
input is cut into ranges of whole records: bytes of text files, rows of Parquet files. The cutting is `plan`'s; reading uses
the same parsers as everything else, so that a row is taken or rejected by its content alone.

    {"stream": "b", "path": "data/blood.csv", "format": "csv", "start": 36, "stop": 4194281, "header": 36}
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sources import SourceFile, read_file
from cqc.runtime.sources.csv import read_csv
from cqc.runtime.sources.jsonl import read_jsonl
from cqc.runtime.sources.parquet import read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.catalog import Relation
    from cqc.runtime.intake import Taken


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes (rows of Parquet) `start` up to but not including `stop` of a file; None is its end.

    `header` is how many bytes at the beginning of the file belong to every range of it.
    """

    stream: str  # the folded name
    path: str
    format: str
    start: int
    stop: int | None
    header: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Range:
        return Range(**json.loads(text))


def read_range(relation: Relation, part: Range) -> Iterator[Taken]:
    """The rows of a range, in chunks of any size.

    Raises:
        RunError: when the file has gone, cannot be read or lacks a declared column.
    """
    path = Path(part.path)
    if part.start == 0 and part.stop is None:
        yield from read_file(relation, SourceFile(path, part.format))
        return
    try:
        with path.open("rb") as file:
            if part.format == "parquet":
                yield from read_parquet(relation, file, part.path, part.start, part.stop)
                return
            header = file.read(part.header)
            file.seek(part.start)
            data = file.read(-1 if part.stop is None else part.stop - part.start)
    except OSError as error:
        raise RunError(f"cannot read {part.path}: {error.strerror or error}") from error
    read = read_csv if part.format == "csv" else read_jsonl
    yield from read(relation, io.BytesIO(header + data), part.path)
