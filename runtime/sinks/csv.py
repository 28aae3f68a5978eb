"""CSV: a file per query in a folder, or everything in one.

In a folder each query has a file of its own, `NAME.csv`, with the result time and the output columns; it can be read back
by `--bind`. In one file (or on standard output) lines begin with the query's name. Where all queries have the same output
columns these follow; where they differ, or may come to differ, the row is one JSON field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.sinks.alert_text import flat
from cqc.runtime.sinks.csv_text import csv_field, csv_json_rows, csv_rows, csv_times
from cqc.runtime.sinks.lines import LineStyle, result_lines
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.protocol import Shape, shape_of_block, time_label
from cqc.runtime.sinks.query_files import QueryFiles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cqc.runtime.deliver.results import ResultBlock

Shapes = "Mapping[str, Shape] | None"


def common_shape(shapes: Mapping[str, Shape] | None) -> Shape | None:
    """The one shape that all queries have, if there is one."""
    distinct = set(shapes.values()) if shapes else set()
    return distinct.pop() if len(distinct) == 1 else None


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
        for text in result_lines([flat(block) for block in blocks], self._style):
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
        self._files = QueryFiles(folder, "csv")
        for query, shape in (shapes or {}).items():
            self._begin(query, shape)

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for block in map(flat, blocks):
            if not len(block):
                continue
            if not self._files.has(block.query):
                self._begin(block.query, shape_of_block(block))
            style = _style(lambda block: "", "", block.names)
            self._files.append(block.query, result_lines([block], style))

    def close(self) -> None:
        """Every file is complete after each micro-batch."""

    def _begin(self, query: str, shape: Shape) -> None:
        header = ",".join(map(csv_field, [time_label(shape), *shape.names]))
        self._files.append(query, [f"{header}\n".encode()])
