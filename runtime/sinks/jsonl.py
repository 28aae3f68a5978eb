"""JSON lines: one object a result, on standard output, in a file, or in a file for each query of a folder.

{"query": "q1", "ts": "2024-01-01T00:00:05Z", "row": {"pressure": 120.0, "rate": 52}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.sinks.lines import result_lines
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.query_files import QueryFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cqc.runtime.deliver.results import ResultBlock


class JsonLinesSink:
    """Writes result lines to one place."""

    def __init__(self, path: Path | None) -> None:
        self._output = Output(path)

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for text in result_lines(blocks):
            self._output.write(text)
        self._output.flush()

    def close(self) -> None:
        self._output.close()


class JsonLinesFolderSink:
    """Writes result lines to a file for each query, `NAME.jsonl`; queries without results have an empty one."""

    def __init__(self, folder: Path, queries: Iterable[str] = ()) -> None:
        self._files = QueryFiles(folder, "jsonl")
        for query in queries:
            self._files.append(query, ())

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        of_query: dict[str, list[ResultBlock]] = {}
        for block in blocks:
            of_query.setdefault(block.query, []).append(block)
        for query, own in of_query.items():
            if any(map(len, own)):
                self._files.append(query, result_lines(own))

    def close(self) -> None:
        """Every file is complete after each micro-batch."""
