"""Where results go: one file per format, and `open_sink` to choose."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.options import SINKS
from cqc.runtime.sinks.csv import CsvFolderSink, CsvSink
from cqc.runtime.sinks.jsonl import JsonLinesFolderSink, JsonLinesSink
from cqc.runtime.sinks.none import NoneSink
from cqc.runtime.sinks.parquet import ParquetFileSink, ParquetFolderSink
from cqc.runtime.sinks.table import HOLD_ROWS, TableFolderSink, TableSink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.sinks.protocol import Shape, Sink

ROWS_ON_TERMINAL = 8  # of each table; files and pipes get all rows


def open_sink(
    kind: str,
    out: str | None,
    shapes: Mapping[str, Shape] | None = None,
    *,
    live: bool = False,
) -> Sink:
    """A sink of a kind of `SINKS`.

    Args:
        kind: the format.
        out: a file, or a folder with a file for each query (an existing one, or a path that ends with a slash, or for
            csv and parquet one without an extension); None is standard output.
        shapes: the result columns of the queries by name; None when queries may come and go.
        live: the run does not end by itself, so results must not wait for its end.

    Raises:
        RunError: when the place cannot be written.
    """
    path = None if out is None else Path(out)
    folder = path is not None and (path.is_dir() or (out is not None and out.endswith("/")))
    # A name without an extension is a new folder where a folder makes sense; a pipe or a device is what it is.
    per_query = path is not None and (folder or not (path.suffix or path.exists()))
    match kind:
        case "none":
            return NoneSink()
        case "table":
            on_terminal = path is None and sys.stdout.isatty()
            hold_rows = 0 if live else HOLD_ROWS
            if path is not None and folder:
                return TableFolderSink(path, shapes or (), hold_rows=hold_rows)
            return TableSink(
                path,
                hold_rows=hold_rows,
                most_rows=ROWS_ON_TERMINAL if on_terminal and not live else None,
            )
        case "csv":
            if path is not None and per_query:
                return CsvFolderSink(path, shapes)
            return CsvSink(path, shapes)
        case "parquet":
            if path is None:
                raise RunError("--sink parquet needs --out: Parquet cannot go to standard output")
            if per_query:
                return ParquetFolderSink(path, shapes)
            return ParquetFileSink(path, shapes)
        case "jsonl":
            if path is not None and folder:
                return JsonLinesFolderSink(path, shapes or ())
            return JsonLinesSink(path)
        case _:
            raise RunError(f"there is no sink {kind} (there are: {', '.join(SINKS)})")
