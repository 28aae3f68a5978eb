"""JSON lines: one object a result, on standard output or in a file.

{"query": "q1", "ts": "2024-01-01T00:00:05Z", "row": {"pressure": 120.0, "rate": 52}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.sinks.lines import result_lines
from cqc.runtime.sinks.output import Output, make_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.runtime.results import ResultBlock


class JsonLinesSink:
    """Writes result lines; in a folder they go to `results.jsonl`."""

    def __init__(self, path: Path | None, *, folder: bool = False) -> None:
        if path is not None and folder:
            make_folder(path)
            path = path / "results.jsonl"
        self._output = Output(path)

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for text in result_lines(blocks):
            self._output.write(text)
        self._output.flush()

    def close(self) -> None:
        self._output.close()
