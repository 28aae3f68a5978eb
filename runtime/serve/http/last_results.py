"""The latest results as JSON, for those who look once and do not want to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.runtime.serve.records.result_log import ResultLog

JSON = "application/json"


def wants_json(accept: str) -> bool:
    """Whether an Accept header names JSON before events and before anything at all."""
    for choice in accept.split(","):
        kind = choice.partition(";")[0].strip().lower()
        if kind in (JSON, "text/event-stream", "text/*", "*/*"):
            return kind == JSON
    return False


def last_results(log: ResultLog, epoch: str, query: int | None, most: int) -> bytes:
    """The latest results, the newest first, each with its id; and from where to watch on."""
    following = log.next_number - 1
    parts = [
        b'{"id": "%s-%d", %s' % (epoch.encode(), number, line[1:])
        for number, line in log.last(query, most)
    ]
    return b'{"results": [%s], "next": "%s-%d"}' % (b", ".join(parts), epoch.encode(), following)
