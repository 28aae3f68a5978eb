"""Rows of one relation from a whole text of JSON: an array of objects, one object, or one object a line.

The text is scanned (`json_scan.py`) some rows at a time, and each time what was found becomes columns (`json_columns.py`), so
that beside the columns themselves little memory is needed, whatever the text holds. Rejected rows are counted with their
reason, and kept where somebody wants them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.embed import compile as compile_text
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.array_addresses import address
from cqc.runtime.columns.lent_memory import LentMemory
from cqc.runtime.columns.repeated_text import Repetition, no_texts
from cqc.runtime.intake.typed_batch import Absent, Conversion, Intake, Reject
from cqc.runtime.sources.formats import json_scan as scan
from cqc.runtime.sources.formats import json_values as values
from cqc.runtime.sources.formats.json_columns import Found, column_of_found
from cqc.runtime.sources.formats.json_entries import Entries
from cqc.runtime.sources.formats.json_line import decoded, parse_line, row_of_line
from cqc.runtime.sources.formats.json_texts import tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

_BOM = b"\xef\xbb\xbf"
_LINE_REASONS = ("not JSON", "not UTF-8", "not an object")
_ROWS, _CELLS = 65_536, 2_097_152  # that are looked at in one go
_FIRST_ROWS = 64  # most texts are short
_ROOM = LentMemory(1)  # whoever reads ahead has it, and others seldom need one
_LOOKED_AT = 65_536  # bytes at both ends of a text, that tell how many lines it has
_MORE_LINES = 1.125  # than they tell, to be on the safe side
_SAMPLE = 20_000  # bytes of a row that are kept to look for a column that no row has


class JsonError(ValueError):
    """A text that is not JSON, and why."""


class JsonRows:
    """Reads texts of rows of one relation."""

    def __init__(self, relation: Relation, wanted: frozenset[int] | None = None) -> None:
        """`wanted`: positions of the columns that somebody reads; others may be NULL. All by default."""
        self._relation = relation
        self._wanted = wanted
        self._repetition = [Repetition() for _ in relation.declared]
        self._intake = Intake(relation)
        self._reading = self._intake.reading
        self._entries = Entries([column.keys for column in relation.declared])
        self._names = self._entries.names
        unread = [
            number
            for number, column in enumerate(relation.declared)
            if column.type is ColumnType.STRING and wanted is not None and number not in wanted
        ]
        self._room = self._entries.room(self._entries.unread(unread))
        self._most_rows = max(1, min(_ROWS, _CELLS // self._entries.count))

    def array(self, text: bytes) -> Iterator[TypedBatch]:
        """The rows of an array, or of one object.

        Raises:
            JsonError: when the text is not JSON.
            TypeError: when it is something else than an array or an object.
        """
        data = np.frombuffer(as_utf8(text), np.uint8)
        at = values.skip_white(address(data), 0, len(data))
        opening = chr(data[at]) if at < len(data) else ""
        if opening == "{":
            yield from self._object(data, at)
        elif opening == "[":
            yield from self._elements(data, at + 1)
        else:
            levels = np.zeros(values.MOST_LEVELS, np.uint8)
            self._check_end(data, *values.scan_one(address(data), at, len(data), address(levels)))
            raise TypeError("neither an array nor an object")

    def lines(
        self, text: bytes | memoryview, *, keep_rejects: bool = False, goes_on: bool = False
    ) -> Iterator[TypedBatch]:
        """The rows of a text with an object on each line that is not blank.

        Args:
            text: the lines; nothing of it is kept.
            keep_rejects: whether rejects have their rows.
            goes_on: whether other text came before, so that no mark of the encoding can stand here.
        """
        if not goes_on and text[: len(_BOM)] == _BOM:
            text = text[len(_BOM) :]
        data = np.frombuffer(text, np.uint8)
        room, place = self._room, address(data)
        at = 0
        while at < len(data):
            piece, kinds, starts, ends = self._outputs(_lines_in(place + at, len(data) - at))
            fit = kinds.shape[1]
            lines, wrong = np.empty((fit, 2), np.int64), np.empty((fit, 3), np.int64)
            at, rows, wrongs = scan.scan_lines(
                place, at, len(data), self._names, room, kinds, starts, ends, lines, wrong
            )
            rejects = [
                _reject_of(text, begin, end, reason, keep=keep_rejects)
                for begin, end, reason in wrong[:wrongs].tolist()
            ]
            row_of = _rows_of(text, lines) if keep_rejects else None
            taken = self._take(data, (kinds, starts, ends), rows, rejects, row_of)
            _ROOM.give_back(piece)
            if rows:
                first = text[lines[0, 0] : min(lines[0, 1], lines[0, 0] + _SAMPLE)]
                taken.absent = self._absent(room, bytes(first))
            yield taken

    def _object(self, data: NDArray[np.uint8], at: int) -> Iterator[TypedBatch]:
        levels = np.zeros(values.MOST_LEVELS, np.uint8)
        end, kind = values.scan_one(address(data), at, len(data), address(levels))
        self._check_end(data, end, kind)
        # As the only element of an array that is closed right behind it.
        alone = np.append(data[:end], np.frombuffer(b"]", np.uint8))
        alone.flags.writeable = False
        yield from self._elements(alone, at)

    def _elements(self, data: NDArray[np.uint8], at: int) -> Iterator[TypedBatch]:
        place = address(data)
        first = values.skip_white(place, at, len(data))
        if first < len(data) and data[first] == ord("]"):
            self._check_end(data, first + 1, values.DONE)
            return
        room = self._room
        status, most = values.MORE, _FIRST_ROWS
        while status == values.MORE:
            piece, kinds, starts, ends = self._outputs(most)
            at, rows, others, status = scan.scan_array(
                place, at, len(data), self._names, room, kinds, starts, ends
            )
            if status != values.MORE:
                self._check_end(data, at, status)
            rejects = [Reject("not an object", None)] * others
            taken = self._take(data, (kinds, starts, ends), rows, rejects, None)
            _ROOM.give_back(piece)
            if rows:
                taken.absent = self._absent(room, data[first : first + _SAMPLE].tobytes())
            yield taken
            most = _ROWS

    def _check_end(self, data: NDArray[np.uint8], at: int, status: int) -> None:
        if status < 0:
            raise JsonError(what_is_wrong(data, at, status))
        rest = values.skip_white(address(data), at, len(data))
        if rest < len(data):
            raise JsonError(f"it should end at byte {rest:,}, and goes on")

    def _outputs(self, most: int) -> tuple[Any, Any, Any, Any]:
        """Memory for what a scan finds, and in it the kinds, starts and ends of values, by entry and row; every kind is NULL."""
        shape = self._entries.count, min(most, self._most_rows)
        cells = shape[0] * shape[1]
        piece = _ROOM.lend(9 * cells)
        places = piece[: 8 * cells].view(np.int32).reshape(2, *shape)
        kinds = piece[8 * cells : 9 * cells].reshape(shape)
        kinds[:] = values.NULL
        return piece, kinds, places[0], places[1]

    def _absent(self, room: tuple[Any, ...], sample: bytes) -> Absent | None:
        """The columns that no row had, with the text of a row."""
        every, flat = room[5].view(np.bool_), self._entries.flat_of_column
        seen = every[self._entries.of_column] | ((flat >= 0) & every[flat])
        room[5][:] = 0
        if seen.all():
            return None
        names = frozenset(
            column.name
            for column, has in zip(self._relation.declared, seen, strict=True)
            if not has
        )
        return Absent(names, sample.decode(errors="replace"))

    def _take(
        self,
        data: NDArray[np.uint8],
        found: tuple[Any, Any, Any],
        rows: int,
        rejects: list[Reject],
        row_of: Callable[[int], Any] | None,
    ) -> TypedBatch:
        kinds, starts, ends = (part[:, :rows] for part in found)
        seen = self._room[5].copy()
        for at, flat in zip(self._entries.of_column, self._entries.flat_of_column, strict=True):
            if flat >= 0 and seen[flat] and kinds[flat].any():
                missing = kinds[at] == 0
                for part in (kinds, starts, ends):
                    part[at][missing] = part[flat][missing]
                seen[at] = 1
        texts, others = np.zeros((2, len(seen)), np.int64)
        tally(found[0], rows, seen, texts, others)
        conversions: list[Conversion] = []
        nothing = no_texts(rows)
        for number, declared in enumerate(self._relation.declared):
            at = self._entries.of_column[number]
            is_read = self._wanted is None or number in self._wanted
            if (
                declared.type is ColumnType.STRING
                and not others[at]
                and not (is_read and texts[at])
            ):
                conversions.append((nothing, None))  # what most of two hundred columns are
                continue
            held = Found(data, kinds[at], starts[at], ends[at], int(texts[at]), int(others[at]))
            repetition = self._repetition[number]
            conversions.append(
                column_of_found(declared.type, held, self._reading, repetition, is_read=is_read)
            )
        return self._intake.assemble(conversions, rows + len(rejects), row_of, rejects)


def _lines_in(place: int, size: int) -> int:
    """About how many lines there are; mostly a few more."""
    if size <= _LOOKED_AT:
        return int(scan.count_lines(place, size))
    found = scan.count_lines(place, _LOOKED_AT) + scan.count_lines(place + size - _LOOKED_AT, _LOOKED_AT)  # fmt: skip
    return int(found * (size / (2 * _LOOKED_AT)) * _MORE_LINES) + _FIRST_ROWS


def _rows_of(text: bytes | memoryview, lines: NDArray[np.int64]) -> Callable[[int], Any]:
    """The object on the line of each row, as it came."""
    return lambda row: row_of_line(bytes(text[lines[row, 0] : lines[row, 1]]))


def _reject_of(
    text: bytes | memoryview, begin: int, end: int, reason: int, *, keep: bool
) -> Reject:
    """What becomes of a line that holds no row."""
    if not keep:
        return Reject(_LINE_REASONS[reason], None)
    parsed = parse_line(decoded(bytes(text[begin:end])))
    shown = parsed.row if isinstance(parsed, Reject) else parsed
    return Reject(_LINE_REASONS[reason], shown)


def as_utf8(text: bytes) -> bytes:
    """The text in UTF-8; JSON may come in UTF-16 and UTF-32, too."""
    encoding = json.detect_encoding(text)
    if encoding == "utf-8":
        return text
    if encoding == "utf-8-sig":
        return text.removeprefix(_BOM)
    try:
        return text.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise JsonError(f"it is not {encoding.upper()}") from error


def what_is_wrong(data: NDArray[np.uint8], at: int, status: int) -> str:
    """A sentence about a place where a text is not JSON."""
    if status == values.ENDS_EARLY:
        return "it ends too early"
    if status == values.TOO_DEEP:
        return f"it is nested too deeply, in more than {values.MOST_LEVELS:,} levels"
    if status == values.LONG_NUMBER:
        return f"the number at byte {at:,} has more than {values.MOST_DIGITS:,} digits"
    if status == values.NOT_UTF8:
        return f"byte {at:,} is not UTF-8"
    if at >= len(data):
        return "it ends too early"
    return f"{chr(data[at])!a} cannot stand at byte {at:,}"


def warm() -> None:
    """Compile the kernels of `json_scan.py`."""
    declared = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING);"
    relation = compile_text(declared).catalog.find("s")
    assert relation is not None
    reader = JsonRows(relation)
    list(reader.array(b'[{"ts": 1, "k": 2.5, "name": "a\\n"}, {"name": {"a": 1}}]'))
    list(reader.array(b"{}"))
    list(reader.lines(b"{}\n"))
