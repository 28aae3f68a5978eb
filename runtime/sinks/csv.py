"""CSV: a file per query in a folder, or everything in one.

In a folder each query has a file of its own, `NAME.csv`, with the result time and the output columns; it can be read back
by `--bind`. In one file (or on standard output) lines begin with the query's name. Where all queries have the same output
columns these follow; where they differ, or may come to differ, the row is one JSON field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from cqc.runtime.sinks.csv_text import csv_field, csv_json_rows, csv_rows, csv_times
from cqc.runtime.sinks.lines import LineStyle, result_lines
from cqc.runtime.sinks.output import Output, make_folder
from cqc.runtime.sinks.protocol import Shape, shape_of_block, time_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cqc.runtime.results import ResultBlock

Shapes = "Mapping[str, Shape] | None"


def common_shape(shapes: Mapping[str, Shape] | None) -> Shape | None:
    """The one shape that all queries have, if there is one."""
    distinct = set(shapes.values()) if shapes else set()
    return distinct.pop() if len(distinct) == 1 else None


def file_of_query(folder: Path, query: str, extension: str) -> Path:
    """The file of a query; characters that no file name has are written as %XX."""
    name = quote(query, safe=" ()[]{}+,;=@!$&'~#^").replace(".", "%2E")
    return folder / f"{name}.{extension}"


class CsvSink:
    """All results in one file or on standard output."""

    def __init__(self, path: Path | None, shapes: Mapping[str, Shape] | None) -> None:
        self._output = Output(path)
        shape = common_shape(shapes)
        if shape is not None:
            header = ["query", time_label(shape), *shape.names]
            self._style = _style(lambda block: f"{csv_field(block.query)},", "", shape.names)
        else:
            header = ["query", "ts", "at", "row"]
            self._style = LineStyle(
                lambda block: f"{csv_field(block.query)},{',' if block.is_at else ''}",
                lambda block: "," if block.is_at else ",,",
                "\n",
                csv_times,
                csv_json_rows,
            )
        self._output.write((",".join(map(csv_field, header)) + "\n").encode())

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for text in result_lines(blocks, self._style):
            self._output.write(text)
        self._output.flush()

    def close(self) -> None:
        self._output.close()


def _style(head: object, middle: str, names: tuple[str, ...]) -> LineStyle:
    between = "," if names else ""
    return LineStyle(head, lambda block: middle + between, "\n", csv_times, csv_rows)  # type: ignore[arg-type]  # a head


class CsvFolderSink:
    """A file for each query; queries without results have one with a header only."""

    def __init__(self, folder: Path, shapes: Mapping[str, Shape] | None) -> None:
        make_folder(folder)
        self._folder = folder
        self._begun: set[str] = set()
        for query, shape in (shapes or {}).items():
            self._begin(query, shape)

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for block in blocks:
            if not len(block):
                continue
            if block.query not in self._begun:
                self._begin(block.query, shape_of_block(block))
            # Opened for each micro-batch: thousands of queries are more than a process may keep open.
            file = Output(file_of_query(self._folder, block.query, "csv"), append=True)
            for text in result_lines([block], _style(lambda block: "", "", block.names)):
                file.write(text)
            file.close()

    def close(self) -> None:
        return

    def _begin(self, query: str, shape: Shape) -> None:
        self._begun.add(query)
        file = Output(file_of_query(self._folder, query, "csv"))
        header = ",".join(map(csv_field, [time_label(shape), *shape.names]))
        file.write(f"{header}\n".encode())
        file.close()
