"""JSON lines: one object a line, streamed block by block.

Keys match like column names, a missing key is NULL, unknown keys are ignored, blank lines are skipped. A line that is not
JSON, not an object or not UTF-8 is rejected alone. A block in which every line is an object with exactly declared keys and
values of their types is read by Arrow; any other line by line.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import ARROW_TYPES
from cqc.runtime.intake.typed_batch import Intake, Reject
from cqc.runtime.sources.long_lines import LongLine, line_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

BLOCK_BYTES = 4 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_PATIENCE = 2
_NEWLINE, _OPEN, _CLOSE = b"\n{}"
_WHITE = " \t\r"
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # as old as the module


def read_jsonl(relation: Relation, file: BinaryIO, name: str) -> Iterator[TypedBatch]:
    """The rows of one file."""
    del name  # nothing in a file of this kind concerns the file as a whole
    reader = JsonLinesReader(relation)
    for number, block in enumerate(line_blocks(file)):
        if isinstance(block, LongLine):
            yield reader.reject(block)
        else:
            yield reader.read(block.removeprefix(_BOM) if number == 0 else block)


class JsonLinesReader:
    """Reads blocks of whole lines."""

    def __init__(self, relation: Relation) -> None:
        self._intake = Intake(relation)
        self._surprises = 0
        schema = [(column.name, _arrow_type(column.type)) for column in relation.columns]
        self._options = pa_json.ParseOptions(
            explicit_schema=pa.schema(schema), unexpected_field_behavior="error"
        )

    def read(self, block: bytes) -> TypedBatch:
        """The rows of a block."""
        # A file that surprised twice running is of another kind; trying on would read it twice.
        if self._surprises < _PATIENCE:
            table = self._by_arrow(block)
            self._surprises = self._surprises + 1 if table is None else 0
            if table is not None:
                return self._intake.take_arrow(table, _objects_of(block))
        return _read_lines(self._intake, block)

    def reject(self, line: LongLine) -> TypedBatch:
        """A line that is too long."""
        return line.rejected(self._intake)

    def _by_arrow(self, block: bytes) -> pa.Table | None:
        lines = _object_lines(block)
        if not lines:
            return None
        options = pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = pa_json.read_json(io.BytesIO(block), options, self._options)
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == lines else None


def _arrow_type(type_: ColumnType) -> pa.DataType:
    return pa.string() if type_ is ColumnType.TIMESTAMP else ARROW_TYPES[type_]


def _object_lines(block: bytes) -> int:
    """How many lines there are, if each begins with `{` and ends with `}`; else 0.

    No JSON object goes on over two such lines, so a parser that finds as many objects as lines found one on each.
    """
    whole = block if block.endswith(b"\n") else block + b"\n"
    data = np.frombuffer(whole, dtype=np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    regular = (data[starts] == _OPEN).all() and (data[ends - 1] == _CLOSE).all()
    return len(ends) if regular else 0


def _objects_of(block: bytes) -> Callable[[int], Any]:
    """The object on each line of a block, as it came: Arrow has put NULL in the place of keys that are not there."""
    lines: list[bytes] = []

    def object_of(row: int) -> Any:
        if not lines:  # most blocks are never asked
            lines.extend(block.split(b"\n"))
        parsed = parse_line(_decoded(lines[row]).strip(_WHITE))
        return parsed.row if isinstance(parsed, Reject) else parsed

    return object_of


def line_blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes | LongLine]:
    """Blocks of whole lines, about `size` bytes each, and the lines that are too long."""
    return line_pieces(file, size)


def _decoded(block: bytes) -> str:
    """Text; bytes that are not UTF-8 become halves of surrogate pairs, which no column takes."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return block.decode(errors="surrogateescape")


def _read_lines(intake: Intake, block: bytes) -> TypedBatch:
    rows: list[dict[str, Any]] = []
    rejects: list[Reject] = []
    read = 0
    for line in _decoded(block).split("\n"):
        trimmed = line.strip(_WHITE)
        if not trimmed:
            continue
        read += 1
        parsed = parse_line(trimmed)
        if isinstance(parsed, dict):
            rows.append(parsed)
        else:
            rejects.append(parsed)
    return intake.take_objects(rows, read, rejects)


def parse_line(line: str) -> dict[str, Any] | Reject:
    """The object of a line without white space around it, or why it is none."""
    try:
        value, end = _scan(line, 0)
    except (StopIteration, ValueError, RecursionError):
        return Reject(_why(line), {"line": line})
    if end != len(line):
        return Reject("not JSON", {"line": line})
    return value if isinstance(value, dict) else Reject("not an object", value)


def _why(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    return "not JSON"
