"""Rows as clients send them: JSON (an array of objects, or one object), JSON lines, CSV with a header, an Arrow stream."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pyarrow as pa

from cqc.runtime.errors import RunError
from cqc.runtime.intake import Intake, join_taken
from cqc.runtime.serve.arrow_messages import refuse_compressed
from cqc.runtime.serve.refusal import Refusal, Status
from cqc.runtime.sources.csv import read_csv
from cqc.runtime.sources.jsonl import read_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.catalog import Relation
    from cqc.runtime.intake import Taken

ARROW_STREAM = "application/vnd.apache.arrow.stream"
JSON_LINES = "application/x-ndjson"


def read_body(relation: Relation, content_type: str, body: bytes) -> Taken:
    """The rows of a request's body.

    Raises:
        Refusal: when the body is not what its content type says, or that is not one of those taken here.
    """
    kind = content_type.partition(";")[0].strip().lower()
    reader = _READERS.get(kind)
    if reader is None:
        raise Refusal(
            Status.UNSUPPORTED, f"rows come as one of {', '.join(_READERS)}, not {kind!r}"
        )
    return reader(relation, body)


def _read_json(relation: Relation, body: bytes) -> Taken:
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refusal(Status.MALFORMED, f"the body is not JSON: {reason}") from error
    if isinstance(rows, dict):
        rows = [rows]
    if not isinstance(rows, list):
        raise Refusal(Status.INVALID, "the body must be an array of objects, one for each row")
    return Intake(relation).take(rows)


def _read_json_lines(relation: Relation, body: bytes) -> Taken:
    return _joined(relation, list(read_jsonl(relation, io.BytesIO(body), "the body")))


def _read_csv(relation: Relation, body: bytes) -> Taken:
    try:
        return _joined(relation, list(read_csv(relation, io.BytesIO(body), "the body")))
    except RunError as error:
        raise Refusal(Status.INVALID, str(error)) from error


def _read_arrow(relation: Relation, body: bytes) -> Taken:
    try:
        refuse_compressed(body)
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
        return Intake(relation).take(table)
    except (pa.ArrowException, ValueError, KeyError, TypeError, OSError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise Refusal(Status.MALFORMED, f"the body is not an Arrow stream: {reason}") from error


def _joined(relation: Relation, parts: list[Taken]) -> Taken:
    return join_taken(parts) if parts else Intake(relation).take([])


_READERS: dict[str, Callable[[Relation, bytes], Taken]] = {
    "application/json": _read_json,
    JSON_LINES: _read_json_lines,
    "application/jsonl": _read_json_lines,
    "text/csv": _read_csv,
    ARROW_STREAM: _read_arrow,
}
