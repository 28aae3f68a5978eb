"""A range: a part of one file, topic or other source, small enough for one micro-batch.

A run that can be interrupted must be able to say exactly which rows a micro-batch had, and to read the same rows again. So
input is cut into ranges: bytes of text files, rows of Parquet files, offsets of Kafka's partitions.

    {"stream": "b", "path": "data/blood.csv", "format": "csv", "start": 36, "stop": 4194281, "header": 36}
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from cqc.runtime.sources.file_trace import Place


@record
class Range:
    """Bytes (rows of Parquet) `start` up to but not including `stop` of a file; None is its end.

    `header` is how many bytes at the beginning of the file belong to every range of it. The last three are the file's trace
    (`file_trace.py`) when the range was cut; a source that is no file has none.
    """

    stream: str  # the folded name
    path: str
    format: str
    start: int
    stop: int | None
    header: int = 0
    checksum: int | None = None
    size: int = 0
    has_more: bool = False

    @property
    def place(self) -> Place:
        """What a checkpoint remembers once the range was read."""
        if self.checksum is None:
            return self.stop
        return [self.stop, self.checksum, self.size, int(self.has_more)]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Range:
        return Range(**json.loads(text))
