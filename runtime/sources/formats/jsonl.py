"""JSON lines: one object a line, streamed block by block.

Keys match like column names, a missing key is NULL, unknown keys are ignored, blank lines are skipped. A line that is not
JSON, not an object or not UTF-8 is rejected alone. Lines are scanned by kernels (`json_rows`). Where there is too little to do to
load them, a block in which every line is an object with exactly declared keys and values of their types is read by Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import ARROW_TYPES
from cqc.runtime.intake.typed_batch import Absent, Intake, join_taken
from cqc.runtime.kernel import is_plain
from cqc.runtime.sources.formats.json_line import row_of_line
from cqc.runtime.sources.formats.json_rows import JsonRows
from cqc.runtime.sources.formats.long_lines import LongLine, lent_pieces, line_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

BLOCK_BYTES = 4 * 1024 * 1024
_MANY_COLUMNS = 100  # each costs something a block, so blocks are larger then
_BOM = b"\xef\xbb\xbf"
_PATIENCE = 2
_NEWLINE, _OPEN, _CLOSE = b"\n{}"


def read_jsonl(
    relation: Relation, file: BinaryIO, name: str, wanted: frozenset[int] | None = None
) -> Iterator[TypedBatch]:
    """The rows of one file; `wanted`: positions of the columns that somebody reads (None: all), others may be NULL."""
    del name  # nothing in a file of this kind concerns the file as a whole
    reader = JsonLinesReader(relation, wanted)
    is_wide = len(relation.declared) > _MANY_COLUMNS
    blocks = lent_pieces(file, 2 * BLOCK_BYTES if is_wide else BLOCK_BYTES)
    is_first = True
    # Neither a block nor its rows are held while somebody works on them: there are as many readers as files.
    while (block := next(blocks, None)) is not None:
        if isinstance(block, LongLine):
            taken = [reader.reject(block)]
        else:
            has_mark = is_first and block.text[: len(_BOM)] == _BOM
            taken = [reader.read(block.text[len(_BOM) :] if has_mark else block.text)]
            block.give_back()
        is_first = False
        del block
        yield taken.pop()


class JsonLinesReader:
    """Reads blocks of whole lines."""

    def __init__(self, relation: Relation, wanted: frozenset[int] | None = None) -> None:
        self._relation = relation
        self._wanted = wanted
        self._intake = Intake(relation)
        self._rows: JsonRows | None = None  # made for the first block that is scanned
        is_simple = all(
            column.path is None and column.type in ARROW_TYPES for column in relation.declared
        )
        self._surprises = 0 if is_simple else _PATIENCE
        self._unseen = {column.name for column in relation.declared}
        schema = [
            (column.name, _arrow_type(column.type)) for column in relation.declared if is_simple
        ]
        self._options = pa_json.ParseOptions(
            explicit_schema=pa.schema(schema), unexpected_field_behavior="error"
        )

    def read(self, block: bytes | memoryview) -> TypedBatch:
        """The rows of a block, of which nothing is kept."""
        # A file that surprised twice running is of another kind; trying on would read it twice.
        if is_plain() and self._surprises < _PATIENCE:
            block = bytes(block)
            table = self._by_arrow(block)
            self._surprises = self._surprises + 1 if table is None else 0
            if table is not None:
                taken = self._intake.take_arrow(table, _objects_of(block))
                taken.absent = self._absent(table, block)
                return taken
        if self._rows is None:
            self._rows = JsonRows(self._relation, self._wanted)
        parts = list(self._rows.lines(block, keep_rejects=True, goes_on=True))
        return join_taken(parts) if parts else self._intake.take([])

    def _absent(self, table: pa.Table, block: bytes) -> Absent | None:
        """The columns that no row has had so far: those without a value whose name is nowhere in a block.

        A name that was seen once is not looked for again: of hundreds of columns most are seen early, and each look reads the
        block.
        """
        if not self._unseen:
            return None
        for column, values in zip(self._relation.declared, table.columns, strict=True):
            name = column.name
            if name in self._unseen and (
                values.null_count < len(values) or f'"{name}"'.encode() in block
            ):
                self._unseen.discard(name)
        if not self._unseen:
            return None
        first_line = block.partition(b"\n")[0].decode(errors="replace")
        return Absent(frozenset(self._unseen), first_line)

    def reject(self, line: LongLine) -> TypedBatch:
        """A line that is too long."""
        return line.rejected(self._intake)

    def _by_arrow(self, block: bytes) -> pa.Table | None:
        lines = _object_lines(block)
        if not lines:
            return None
        options = pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = pa_json.read_json(pa.BufferReader(block), options, self._options)
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == lines else None


def _arrow_type(type_: ColumnType) -> pa.DataType:
    written = (ColumnType.TIMESTAMP, ColumnType.DATE)  # as text, by rules of their own
    return pa.string() if type_ in written else ARROW_TYPES[type_]


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
        return row_of_line(lines[row])

    return object_of


def line_blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes | LongLine]:
    """Blocks of whole lines, about `size` bytes each, and the lines that are too long."""
    return line_pieces(file, size)
