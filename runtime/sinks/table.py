"""Aligned tables for people: one for each query, its time first.

    pressure_alarm (2 results)
    ts                    pressure  rate
    --------------------  --------  ----
    2024-01-01T00:00:05Z     120.0    52
    2024-01-01T00:00:07Z     118.5  NULL

Rows are held back so that a table is one table, until there are many or, in a run that does not end, until the micro-batch
is over.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.runtime.columns.columns import to_python
from cqc.runtime.columns.date_text import format_date_column
from cqc.runtime.columns.sortable_columns import base64_texts, number_texts
from cqc.runtime.columns.timestamp_text import format_column
from cqc.runtime.sinks.alert_text import flat
from cqc.runtime.sinks.csv_text import csv_times
from cqc.runtime.sinks.json_text import double_texts, json_values
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.protocol import shape_of_block, time_label
from cqc.runtime.sinks.query_files import QueryFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.deliver.results import ResultBlock

WIDEST = 60
HOLD_ROWS = 20_000
NO_RESULTS = b"(no results)\n"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class TableSink:
    """Writes tables to one place.

    Args:
        path: a file; None is standard output.
        hold_rows: how many rows may wait for their table (0: none, each micro-batch shows its own).
        most_rows: how many rows of a table are shown; None is all.
    """

    def __init__(
        self, path: Path | None, *, hold_rows: int = HOLD_ROWS, most_rows: int | None = None
    ) -> None:
        self._output = Output(path)
        self._most_rows = most_rows
        self._held = _Held(hold_rows)
        self._empty = True

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        if self._held.add(blocks):
            self._let_go()

    def close(self) -> None:
        self._let_go()
        if self._empty:
            self._output.write(NO_RESULTS)
        self._output.close()

    def abandon(self) -> None:
        """Show the rows so far, without a total: the run has failed and more may follow."""
        self._let_go()
        self._output.close()

    def _let_go(self) -> None:
        for query, blocks in self._held.take():
            self._output.write(b"" if self._empty else b"\n")
            self._empty = False
            self._output.write(_table(query, blocks, self._most_rows).encode())
        self._output.flush()


class TableFolderSink:
    """Writes the tables of each query to a file of its own, `NAME.txt`."""

    def __init__(
        self, folder: Path, queries: Iterable[str] = (), *, hold_rows: int = HOLD_ROWS
    ) -> None:
        self._files = QueryFiles(folder, "txt")
        self._held = _Held(hold_rows)
        self._silent = set(queries)
        for query in self._silent:
            self._files.append(query, ())

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        if self._held.add(blocks):
            self._let_go()

    def close(self) -> None:
        self._let_go()
        for query in self._silent:
            self._files.append(query, [NO_RESULTS])

    def abandon(self) -> None:
        """Show the rows so far, without a total: the run has failed and more may follow."""
        self._let_go()

    def _let_go(self) -> None:
        for query, blocks in self._held.take():
            is_first = query in self._silent or not self._files.has(query)
            self._silent.discard(query)
            table = _table(query, blocks, None).encode()
            self._files.append(query, [table] if is_first else [b"\n", table])


class _Held:
    """Rows that wait for their table."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._blocks: dict[tuple[str, tuple[str, ...]], list[ResultBlock]] = {}
        self._rows = 0

    def add(self, blocks: Sequence[ResultBlock]) -> bool:
        """Hold back more rows. Returns whether they are too many."""
        for block in map(flat, blocks):
            if len(block):
                self._blocks.setdefault((block.query, block.names), []).append(block)
                self._rows += len(block)
        return self._rows > self._most_rows

    def take(self) -> list[tuple[str, list[ResultBlock]]]:
        """All rows, by table."""
        taken = [(query, blocks) for (query, _), blocks in self._blocks.items()]
        self._blocks.clear()
        self._rows = 0
        return taken


def _table(query: str, blocks: list[ResultBlock], most_rows: int | None) -> str:
    first = blocks[0]
    header = [time_label(shape_of_block(first)), *first.names]
    columns: list[list[str]] = [[] for _ in header]
    for block in blocks:
        times = [text or "NULL" for text in csv_times(block.times_us, block.time_type).to_pylist()]
        for cells, more in zip(
            columns, [times, *map(cell_texts, block.own_columns())], strict=True
        ):
            cells += more
    count = len(columns[0])
    numeric = [first.time_type.is_numeric, *(column.type.is_numeric for column in first.columns)]
    title = f"{_shown(query)} ({count:,} {'result' if count == 1 else 'results'})"
    lines = [title, *render_table(header, [cells[:most_rows] for cells in columns], numeric)]
    if most_rows is not None and count > most_rows:
        lines.append(f"... {count - most_rows:,} more")
    return "\n".join(lines) + "\n"


def render_table(
    header: Sequence[str], columns: Sequence[list[str]], right: Sequence[bool]
) -> list[str]:
    """Aligned lines: header, rule, rows. `right` says which columns are aligned to the right."""
    shown = [
        [_shown(title), *map(_shown, cells)] for title, cells in zip(header, columns, strict=True)
    ]
    widths = [max(map(display_width, cells)) for cells in shown]
    padded = [
        [_pad(text, width, to_right) for text in cells]
        for cells, width, to_right in zip(shown, widths, right, strict=True)
    ]
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def cell_texts(column: Column) -> list[str]:
    """The values of a column as a person reads them."""
    match column.type:
        case ColumnType.DOUBLE:
            texts = double_texts(column.values, quote="").to_pylist()
        case ColumnType.TIMESTAMP:
            texts = format_column(column).to_pylist()
        case ColumnType.DATE:
            texts = format_date_column(column).to_pylist()
        case ColumnType.INTERVAL:
            texts = [f"{us / 1_000_000:g} s" for us in column.values.tolist()]
        case ColumnType.BOOLEAN:
            texts = ["true" if value else "false" for value in column.values.tolist()]
        case DecimalType():
            texts = number_texts(column).to_pylist()
        case ColumnType.BINARY:
            texts = base64_texts(column).to_pylist()
        case ArrayType() | MapType() | StructType():
            texts = json_values(column).to_pylist()
        case _:
            return ["NULL" if value is None else str(value) for value in to_python(column)]
    if column.valid is None:
        return list(texts)
    return [text if ok else "NULL" for text, ok in zip(texts, column.valid.tolist(), strict=True)]


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _shown(text: str) -> str:
    """On one line, without what would move the cursor, and not too wide."""
    clean = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
    if display_width(clean) <= WIDEST:
        return clean
    kept = clean[:WIDEST]
    while display_width(kept) > WIDEST - 1:
        kept = kept[:-1]
    return kept + "…"


def _pad(text: str, width: int, to_right: bool) -> str:
    space = " " * (width - display_width(text))
    return space + text if to_right else text + space
