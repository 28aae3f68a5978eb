"""Answers as clients want them: JSON, CSV, or an Arrow stream, by the request's Accept header.

The latest results are such an answer too, for those who look once and do not want to watch.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.convert.arrow_out import to_arrow
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.serve.http.arrow_bodies import ARROW_STREAM
from cqc.runtime.sinks.csv_text import csv_field, csv_rows
from cqc.runtime.sinks.json_text import json_key, json_rows, json_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.pull.pull_query import Invocation
    from cqc.runtime.serve.records.result_log import ResultLog
    from cqc.runtime.serve.registry import Entry

JSON, CSV = "application/json", "text/csv"
_ANYTHING = {"*/*", "application/*", ""}


def choose_form(accept: str) -> str:
    """The first form that an Accept header names and that exists here; JSON for everything else."""
    for choice in accept.split(","):
        kind = choice.partition(";")[0].strip().lower()
        if kind in _ANYTHING:
            return JSON
        if kind in _WRITERS:
            return kind
    return JSON


def write_answer(entry: Entry, asked: Invocation, form: str) -> bytes:
    """An answer in one of the forms."""
    return _WRITERS[form](entry, asked)


def instant_text(asked: Invocation) -> str:
    """The instant of an answer as JSON text."""
    at_us = NO_TIME if asked.at_us is None else asked.at_us
    text: str = json_times(np.array([at_us], np.int64), asked.block.time_type)[0].as_py()
    return text


def _write_json(entry: Entry, asked: Invocation) -> bytes:
    block = asked.block
    rows = json_rows(block.names, block.own_columns(), len(block)).to_pylist()
    columns = json.dumps([{"name": name, "type": type_} for name, type_ in entry.columns])
    return (
        f'{{"query": {json_key(entry.name)}, "at": {instant_text(asked)}, "columns": {columns}, '
        f'"warnings": {json.dumps(asked.warnings)}, "rows": [{", ".join(rows)}]}}'
    ).encode()


def _write_csv(entry: Entry, asked: Invocation) -> bytes:
    del entry
    block = asked.block
    lines = [",".join(csv_field(name) for name in block.names)]
    lines += csv_rows(block.names, block.own_columns(), len(block)).to_pylist()
    return ("\n".join(lines) + "\n").encode()


def _write_arrow(entry: Entry, asked: Invocation) -> bytes:
    del entry
    block = asked.block
    arrays = [to_arrow(column) for column in block.own_columns()]
    table = pa.Table.from_arrays(arrays, names=list(block.names))
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


_WRITERS: dict[str, Callable[[Entry, Invocation], bytes]] = {
    JSON: _write_json,
    CSV: _write_csv,
    ARROW_STREAM: _write_arrow,
}


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
