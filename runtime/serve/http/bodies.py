"""Rows as clients send them: JSON (an array of objects, or one object), JSON lines, CSV with a header, an Arrow stream.

What a small body holds is of little weight, and Python's own reader is the quickest to begin. A large one is read by column,
so that no body, whatever it holds, takes many times its size in memory; how many rows it may have is limited as well.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake, Reject, join_taken
from cqc.runtime.serve.http.arrow_bodies import ARROW_STREAM, read_arrow
from cqc.runtime.serve.refusal import Refusal, Status
from cqc.runtime.sources.formats.csv import read_csv
from cqc.runtime.sources.formats.json_rows import JsonError, JsonRows
from cqc.runtime.sources.formats.jsonl import read_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

FEW_BYTES = 10_000
JSON_LINES = "application/x-ndjson"
FORM = "application/x-www-form-urlencoded"  # what curl says of `-d` when it is told nothing else
SAY_JSON = "to send JSON with curl, add -H 'Content-Type: application/json'"
_LARGEST = 2**31 - 1  # places in a text are numbers of 32 bits
_NO_ARRAY = "the body must be an array of objects, one for each row"


def check_kind(content_type: str) -> None:
    """Look whether rows of this kind are taken.

    Raises:
        Refusal: when they are not.
    """
    kind = _kind(content_type)
    if kind in _READERS:
        return
    message = f"rows come as one of {', '.join(_READERS)}, not {kind!r}"
    if kind in ("", FORM):
        message = f"{message}; {SAY_JSON}"
    raise Refusal(Status.UNSUPPORTED, message)


def read_body(relation: Relation, content_type: str, body: bytes, most_rows: int) -> TypedBatch:
    """The rows of a request's body.

    Raises:
        Refusal: when the body is not what its content type says, that is not one of those taken here, or it has too many rows.
    """
    check_kind(content_type)
    if len(body) > _LARGEST:
        raise Refusal(Status.TOO_LARGE, "the body is larger than 2 GB; send it in parts")
    return _READERS[_kind(content_type)](relation, body, most_rows)


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _read_json(relation: Relation, body: bytes, most_rows: int) -> TypedBatch:
    if len(body) <= FEW_BYTES:
        return _read_small_json(relation, body, most_rows)
    try:
        return _joined(relation, JsonRows(relation).array(body), most_rows)
    except JsonError as error:
        raise Refusal(Status.MALFORMED, f"the body is not JSON: {error}") from error
    except TypeError as error:
        raise Refusal(Status.INVALID, _NO_ARRAY) from error


def _read_small_json(relation: Relation, body: bytes, most_rows: int) -> TypedBatch:
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refusal(Status.MALFORMED, f"the body is not JSON: {reason}") from error
    if isinstance(rows, dict):
        rows = [rows]
    if not isinstance(rows, list):
        raise Refusal(Status.INVALID, _NO_ARRAY)
    if len(rows) > most_rows:
        raise too_many_rows(most_rows)
    if _wants_json_text(relation, rows):
        return _joined(relation, JsonRows(relation).array(body), most_rows)
    return Intake(relation).take(rows)


def _wants_json_text(relation: Relation, rows: list[Any]) -> bool:
    """Whether something else than text stands where text is declared: its JSON text is as it was written."""
    texts = {
        fold(column.keys[0]) for column in relation.declared if column.type is ColumnType.STRING
    }
    return any(
        not isinstance(value, str | None) and fold(key) in texts
        for row in rows
        if isinstance(row, dict)
        for key, value in row.items()
    )


def _read_json_lines(relation: Relation, body: bytes, most_rows: int) -> TypedBatch:
    if len(body) <= FEW_BYTES:
        parts: Iterable[TypedBatch] = read_jsonl(relation, io.BytesIO(body), "the body")
    else:
        parts = JsonRows(relation).lines(body)
    return _joined(relation, parts, most_rows)


def _read_csv(relation: Relation, body: bytes, most_rows: int) -> TypedBatch:
    lines = body.count(b"\n") + body.count(b"\r") - body.count(b"\r\n")
    if lines > most_rows + 1:  # the header is one
        raise too_many_rows(most_rows)
    try:
        parts = read_csv(relation, io.BytesIO(body), "the body", keep_rejects=False)
        return _joined(relation, parts, most_rows)
    except RunError as error:
        raise Refusal(Status.INVALID, str(error)) from error


def _read_arrow(relation: Relation, body: bytes, most_rows: int) -> TypedBatch:
    table = read_arrow(relation, body, most_rows)
    return Intake(relation).take_arrow(table, keep_rejects=False)


def _joined(relation: Relation, parts: Iterable[TypedBatch], most_rows: int) -> TypedBatch:
    found: list[TypedBatch] = []
    read = 0
    for part in parts:
        read += part.read
        if read > most_rows:
            raise too_many_rows(most_rows)
        part.rejects = _only_reasons(part.rejects)
        found.append(part)
    return join_taken(found) if found else Intake(relation).take([])


def _only_reasons(rejects: list[Reject]) -> list[Reject]:
    """The same rejects without the rows: a client is told how many there are of each kind."""
    shared: dict[str, Reject] = {}
    return [shared.setdefault(each.reason, Reject(each.reason, None)) for each in rejects]


def too_many_rows(most_rows: int) -> Refusal:
    """What is said of a body with more rows than one may have."""
    return Refusal(
        Status.TOO_LARGE, f"the body has more than {most_rows:,} rows; send it in smaller parts"
    )


_READERS: dict[str, Callable[[Relation, bytes, int], TypedBatch]] = {
    "application/json": _read_json,
    JSON_LINES: _read_json_lines,
    "application/jsonl": _read_json_lines,
    "text/csv": _read_csv,
    ARROW_STREAM: _read_arrow,
}
