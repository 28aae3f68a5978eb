"""Rows of one relation from a whole text of JSON: an array of objects, one object, or one object a line.

The text is scanned (`json_scan.py`) some rows at a time, and each time what was found becomes columns (`json_columns.py`), so
that beside the columns themselves little memory is needed, whatever the text holds. Rejected rows are counted with their
reason and not kept.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.embed import compile as compile_text
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.intake.typed_batch import Intake, Reject
from cqc.runtime.sources import json_scan as scan
from cqc.runtime.sources.json_columns import Found, column_of_found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

_BOM = b"\xef\xbb\xbf"
_LINE_REASONS = ("not JSON", "not UTF-8", "not an object")
_ROWS, _CELLS = 65_536, 1_048_576  # that are looked at in one go
_FIRST_ROWS = 64  # most texts are short
_CASED = 0x1F000  # no character beyond has a lower case
_FINAL_SIGMA, _SIGMA = 0x3C2, 0x3C3


class JsonError(ValueError):
    """A text that is not JSON, and why."""


class JsonRows:
    """Reads texts of rows of one relation."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._intake = Intake(relation)
        self._names = _names([column.name for column in relation.columns])
        self._most_rows = max(1, min(_ROWS, _CELLS // len(relation.columns)))

    def array(self, text: bytes) -> Iterator[TypedBatch]:
        """The rows of an array, or of one object.

        Raises:
            JsonError: when the text is not JSON.
            TypeError: when it is something else than an array or an object.
        """
        data = np.frombuffer(_as_utf8(text), np.uint8)
        at = scan.past_white(data, 0)
        opening = chr(data[at]) if at < len(data) else ""
        if opening == "{":
            yield from self._object(data, at)
        elif opening == "[":
            yield from self._elements(data, at + 1)
        else:
            self._check_end(data, *scan.scan_one(data, at, np.zeros(scan.MOST_LEVELS, np.uint8)))
            raise TypeError("neither an array nor an object")

    def lines(self, text: bytes) -> Iterator[TypedBatch]:
        """The rows of a text with an object on each line that is not blank."""
        data = np.frombuffer(text.removeprefix(_BOM), np.uint8)
        room = self._room()
        at, most = 0, _FIRST_ROWS
        while at < len(data):
            kinds, starts, ends = self._outputs(most)
            wrong = np.zeros(len(_LINE_REASONS), np.int64)
            at, rows = scan.scan_lines(data, at, self._names, room, kinds, starts, ends, wrong)
            rejects = [
                reject
                for reason, count in zip(_LINE_REASONS, wrong.tolist(), strict=True)
                for reject in [Reject(reason, None)] * count
            ]
            yield self._take(data, (kinds, starts, ends), rows, rejects)
            most = _ROWS

    def _object(self, data: NDArray[np.uint8], at: int) -> Iterator[TypedBatch]:
        levels = np.zeros(scan.MOST_LEVELS, np.uint8)
        end, kind = scan.scan_one(data, at, levels)
        self._check_end(data, end, kind)
        # As the only element of an array that is closed right behind it.
        alone = np.append(data[:end], np.frombuffer(b"]", np.uint8))
        alone.flags.writeable = False
        yield from self._elements(alone, at)

    def _elements(self, data: NDArray[np.uint8], at: int) -> Iterator[TypedBatch]:
        first = scan.past_white(data, at)
        if first < len(data) and data[first] == ord("]"):
            self._check_end(data, first + 1, scan.DONE)
            return
        room = self._room()
        status, most = scan.MORE, _FIRST_ROWS
        while status == scan.MORE:
            kinds, starts, ends = self._outputs(most)
            at, rows, others, status = scan.scan_array(
                data, at, self._names, room, kinds, starts, ends
            )
            if status != scan.MORE:
                self._check_end(data, at, status)
            rejects = [Reject("not an object", None)] * others
            yield self._take(data, (kinds, starts, ends), rows, rejects)
            most = _ROWS

    def _check_end(self, data: NDArray[np.uint8], at: int, status: int) -> None:
        if status < 0:
            raise JsonError(_why(data, at, status))
        rest = scan.past_white(data, at)
        if rest < len(data):
            raise JsonError(f"it should end at byte {rest:,}, and goes on")

    def _outputs(self, most: int) -> tuple[Any, Any, Any]:
        shape = min(most, self._most_rows), len(self._relation.columns)
        return np.zeros(shape, np.uint8), np.empty(shape, np.int32), np.empty(shape, np.int32)

    def _room(self) -> tuple[Any, ...]:
        """What the scan needs beside: open brackets, a key as it is and folded, and which key each column has."""
        longest = int(np.diff(self._names[2]).max())
        levels = np.zeros(scan.MOST_LEVELS, np.uint8)
        key, folded = np.empty(longest + 1, np.int32), np.empty(longest + 2, np.int32)
        return levels, key, folded, np.empty((len(self._relation.columns), 3), np.int64)

    def _take(
        self, data: NDArray[np.uint8], found: tuple[Any, Any, Any], rows: int, rejects: list[Reject]
    ) -> TypedBatch:
        kinds, starts, ends = found
        conversions = [
            column_of_found(
                declared.type,
                Found(
                    data,
                    np.ascontiguousarray(kinds[:rows, at]),
                    np.ascontiguousarray(starts[:rows, at]),
                    np.ascontiguousarray(ends[:rows, at]),
                ),
            )
            for at, declared in enumerate(self._relation.columns)
        ]
        return self._intake.assemble(conversions, rows + len(rejects), None, rejects)


def _as_utf8(text: bytes) -> bytes:
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


def _why(data: NDArray[np.uint8], at: int, status: int) -> str:
    if status == scan.ENDS_EARLY:
        return "it ends too early"
    if status == scan.TOO_DEEP:
        return f"it is nested too deeply, in more than {scan.MOST_LEVELS:,} levels"
    if status == scan.LONG_NUMBER:
        return f"the number at byte {at:,} has more than {scan.MOST_DIGITS:,} digits"
    if status == scan.NOT_UTF8:
        return f"byte {at:,} is not UTF-8"
    if at >= len(data):
        return "it ends too early"
    return f"{chr(data[at])!a} cannot stand at byte {at:,}"


def _names(names: list[str]) -> tuple[Any, ...]:
    """The declared names as the scan looks them up: a table of slots, the folded names, and the names as declared."""
    folded = [_letters([_plain(ord(letter)) for letter in fold(name)]) for name in names]
    exact = [_letters([ord(letter) for letter in name]) for name in names]
    size = 8
    while size < 2 * len(names):
        size *= 2
    slots = np.full(size, -1, np.int32)
    for column, letters in enumerate(folded):
        slot = scan.slot_of(letters, len(letters)) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = column
    return slots, *_joined(folded), *_joined(exact), _lower_letters()


def _letters(codes: list[int]) -> NDArray[np.int32]:
    return np.array(codes, np.int32)


def _joined(parts: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate(parts), offsets


def _plain(code: int) -> int:
    # Which of the two a capital sigma becomes depends on what follows it; here they are one.
    return _SIGMA if code == _FINAL_SIGMA else code


@functools.cache
def _lower_letters() -> NDArray[np.int32]:
    """The lower case of each character that has one of its own."""
    table = np.arange(_CASED, dtype=np.int32)
    for code in range(_CASED):
        lower = chr(code).lower()
        if len(lower) == 1:
            table[code] = _plain(ord(lower))
    return table


def warm() -> None:
    """Compile the kernels of `json_scan.py`."""
    declared = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING);"
    relation = compile_text(declared).catalog.find("s")
    assert relation is not None
    reader = JsonRows(relation)
    list(reader.array(b'[{"ts": 1, "k": 2.5, "name": "a\\n"}]'))
    list(reader.array(b"{}"))
    list(reader.lines(b"{}\n"))
