"""What a connection brings, as lines: JSON objects, or CSV fields in the order of declaration (`value = 'csv'`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.sources.formats.csv_form import CsvForm
from cqc.runtime.sources.spooled import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.meaning.catalog import Relation


class LineForm:
    """How the lines of one stream are written."""

    def __init__(self, relation: Relation) -> None:
        self._is_csv = relation.options.get("value", "json").lower() == "csv"
        dialect = CsvForm.of(relation.options).dialect
        self._quote = dialect.quote.encode()
        names = dialect.delimiter.join(
            f"{dialect.quote}{'.'.join(column.keys)}{dialect.quote}" for column in relation.declared
        )
        self._header = f"{names}\n".encode() if self._is_csv else b""

    def piece(self, lines: bytes) -> Piece:
        """Whole lines, as they are kept."""
        return Piece(lines, "csv" if self._is_csv else "jsonl", self._header)

    def messages(self, payloads: Iterable[bytes]) -> Piece:
        """Messages of one row each. One that is empty is a row that cannot be read, and not nothing."""
        if self._is_csv:
            lines = (self._csv_line(payload) for payload in payloads)
        else:  # a line end cannot be inside a JSON text, only between its parts
            lines = (
                payload.replace(b"\n", b" ").replace(b"\r", b" ") or b"null" for payload in payloads
            )
        return self.piece(b"".join(line + b"\n" for line in lines))

    def _csv_line(self, payload: bytes) -> bytes:
        line = payload.strip(b"\r\n")
        if (
            not line or line.count(self._quote) % 2
        ):  # with an open quote it would swallow what comes after it
            return 2 * self._quote
        return line
