"""The rows of a body that a client sends: JSON (an object, or an array of objects), JSON lines, or CSV with a header.

They become lines for the spool (`spooled`) as they were written. What a body holds takes a few times its size in memory and no more,
whatever it is: no Python object is made for a value, and the number of rows is limited.
"""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import TYPE_CHECKING

from cqc.runtime.sources.formats.csv import read_csv
from cqc.runtime.sources.formats.csv_form import CsvForm
from cqc.runtime.sources.formats.json_elements import TooManyRowsError, lines_of_array
from cqc.runtime.sources.formats.json_rows import JsonError
from cqc.runtime.sources.formats.jsonl import JsonLinesReader
from cqc.runtime.sources.spooled import Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

MOST_ROWS = 1_000_000
_MOST_VALUES = 16_000_000  # the rows of a body, times the columns of their stream
_JSON_SPACE = b" \t\r\n"


class BadBodyError(Exception):
    """A body that is not taken, with the status that tells why."""

    def __init__(self, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(sentence)
        self.status = status


def _json_array(relation: Relation, body: bytes) -> tuple[Piece, list[TypedBatch]]:
    """One object, or an array of them: a line each, as it was written."""
    try:
        rows = lines_of_array(body, _most_rows(relation))
    except TooManyRowsError as error:
        raise _too_many_rows(relation) from error
    except JsonError as error:
        raise BadBodyError(f"the body is not JSON: {error}") from error
    except TypeError as error:
        raise BadBodyError("the body must be an array of objects, one for each row") from error
    return Piece(rows), [JsonLinesReader(relation).read(rows)] if rows else []


def _json_lines(relation: Relation, body: bytes) -> tuple[Piece, list[TypedBatch]]:
    lines = body.replace(b"\r\n", b"\n").rstrip(b"\n")
    _check_rows(relation, lines.count(b"\n") + 1)
    rows = lines + b"\n" if lines.strip(_JSON_SPACE) else b""
    return Piece(rows), [JsonLinesReader(relation).read(rows)] if rows else []


def _csv(relation: Relation, body: bytes) -> tuple[Piece, list[TypedBatch]]:
    lines = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    header, _, rows = lines.partition(b"\n")
    _check_rows(relation, rows.count(b"\n") + rows.count(b"\r"))
    if rows and not rows.endswith(b"\n"):
        rows += b"\n"
    if rows.count(CsvForm.of(relation.options).dialect.quote.encode()) % 2:
        raise BadBodyError(
            "the body is not CSV: a quote is not closed"
        )  # what comes after it would be inside
    found = list(read_csv(relation, io.BytesIO(header + b"\n" + rows), "the body"))
    return Piece(rows, "csv", header + b"\n"), found


def _most_rows(relation: Relation) -> int:
    return max(1, min(MOST_ROWS, _MOST_VALUES // len(relation.declared)))


def _check_rows(relation: Relation, rows: int) -> None:
    if rows > _most_rows(relation):
        raise _too_many_rows(relation)


def _too_many_rows(relation: Relation) -> BadBodyError:
    most = _most_rows(relation)
    return BadBodyError(
        f"the body has more than {most:,} rows; send it in smaller parts",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    )


READERS: dict[str, Callable[[Relation, bytes], tuple[Piece, list[TypedBatch]]]] = {
    "application/json": _json_array,
    "application/x-ndjson": _json_lines,
    "application/jsonl": _json_lines,
    "text/csv": _csv,
}
