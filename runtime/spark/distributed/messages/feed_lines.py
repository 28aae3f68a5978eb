r"""The file of a micro-batch that Spark reads: one line for each task, with what it reads and a checksum.

{"sum": 1234, "line": "{\"origin\": 0, \"tasks\": 1, \"header\": ..., \"ranges\": [...]}"}
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import ADVICE

if TYPE_CHECKING:
    from cqc.runtime.sources.range import Range
    from cqc.runtime.spark.distributed.messages.spec import Header


def feed_lines(
    header: Header,
    ranges: list[Range],
    tasks: int,
    *,
    folder: str | None = None,
    decided: dict[str, Any] | None = None,
) -> str:
    """The file of a micro-batch: each task has ranges that follow one another.

    Args:
        header: of the micro-batch.
        ranges: what is read.
        tasks: how many there may be.
        folder: that paths are relative to; where this process runs by default.
        decided: of rows that are far ahead (`ahead`): all tasks leave out what the first one is given.
    """
    count = max(min(tasks, len(ranges)), 1)
    cuts = [len(ranges) * at // count for at in range(count + 1)]
    text = header.to_json()
    given = decided or {}
    others = {"skips": given["skips"]} if given else {}
    return "".join(
        _sealed(
            {
                "origin": at,
                "tasks": count,
                "header": text,
                "folder": folder or str(Path.cwd()),
                "ranges": [asdict(each) for each in ranges[cuts[at] : cuts[at + 1]]],
                "decided": given if at == 0 else others,
            }
        )
        for at in range(count)
    )


def opened_line(text: str) -> dict[str, Any]:
    """What a line says.

    Raises:
        RunError: when it is not what was written.
    """
    try:
        given = json.loads(text)
        line = given["line"]
        if zlib.crc32(line.encode()) == given["sum"]:
            found: dict[str, Any] = json.loads(line)
            return found
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise RunError(
        f"a file of the checkpoint that says what a micro-batch reads (distributed/feed-*) is damaged: {ADVICE}"
    )


def _sealed(content: dict[str, Any]) -> str:
    line = json.dumps(content)
    return json.dumps({"sum": zlib.crc32(line.encode()), "line": line}) + "\n"
