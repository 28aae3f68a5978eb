"""Windows event log files (`.evtx`), by the package `evtx`: each record is a JSON object, read as a line of JSON is.

    {"Event": {"System": {"EventID": 4624, "TimeCreated": {"#attributes": {"SystemTime": ...}}, ...}, "EventData": {...}}}

An element with attributes and text comes as `{"#attributes": ..., "#text": ...}`. Old providers write EventID so, newer ones do not;
here it is its text in both, so that one path finds it (`Event.System.EventID.#attributes.Qualifiers` is found too). A log that is full
goes on at its beginning: chunks are read in the order of their records, not as they lie in the file. A record that is broken is rejected
alone, a chunk that is broken as one row.
"""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake, Reject
from cqc.runtime.sources.formats.jsonl import JsonLinesReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

BLOCK_BYTES = 4 * 1024 * 1024
_FILE_HEADER, _CHUNK = 4096, 65_536
_MAGIC, _CHUNK_MAGIC = b"ElfFile\0", b"ElfChnk\0"
_FIRST_RECORD = 24  # where a chunk has the number of its first record
_TEXT, _ATTRIBUTES = "#text", "#attributes"


def read_evtx(relation: Relation, file: BinaryIO, name: str) -> Iterator[TypedBatch]:
    """The rows of one file.

    Raises:
        RunError: when it is no event log, or the package is missing.
    """
    try:
        from evtx import PyEvtxParser
    except ImportError as error:
        raise RunError(f"{name} needs the package evtx: pip install 'cqc[sigma]'") from error
    reader, intake = JsonLinesReader(relation), Intake(relation)
    lines: list[bytes] = []
    size = 0
    try:
        records: Iterator[Any] = PyEvtxParser(
            _in_order(file, name), number_of_threads=1
        ).records_json()
    except (OSError, RuntimeError) as error:
        raise RunError(f"cannot read {name} as an event log: {_reason(error)}") from error
    while True:
        try:
            record = next(records)
        except StopIteration:
            break
        except (
            RuntimeError
        ) as error:  # one record, or one chunk of them; the next call goes on behind it
            yield intake.take_objects([], 1, [Reject("not an event", {"record": _reason(error)})])
            continue
        line = _plain(record["data"]).encode()
        lines.append(line)
        size += len(line)
        if size >= BLOCK_BYTES:
            yield reader.read(b"\n".join(lines))
            lines, size = [], 0
    if lines:
        yield reader.read(b"\n".join(lines))


def _plain(record: str) -> str:
    """A record in which elements with attributes and text are their text; both are also there under their whole paths."""
    if f'"{_TEXT}"' not in record:
        return record
    row = json.loads(record)
    paths: dict[str, Any] = {}
    _flatten(row, "", paths)
    return json.dumps(row | paths, ensure_ascii=False)


def _flatten(inside: dict[str, Any], path: str, paths: dict[str, Any]) -> None:
    for key, value in inside.items():
        if not isinstance(value, dict):
            continue
        place = f"{path}{key}."
        if _TEXT in value and value.keys() <= {_TEXT, _ATTRIBUTES}:
            inside[key] = paths[place + _TEXT] = value[_TEXT]
            attributes = value.get(_ATTRIBUTES, {})
            paths |= {f"{place}{_ATTRIBUTES}.{name}": given for name, given in attributes.items()}
        else:
            _flatten(value, place, paths)


def _in_order(file: BinaryIO, name: str) -> BinaryIO:
    """The file with its chunks in the order of their records; itself where that is how they lie."""
    if not file.seekable():
        file = io.BytesIO(file.read())
    if file.read(len(_MAGIC)) != _MAGIC:
        raise RunError(f"cannot read {name} as an event log: it does not begin as one")
    found = list(_chunks(file))
    file.seek(0)
    places = [place for _, place in found]
    in_order = [place for _, place in sorted(found)]
    return file if places == in_order else _Reordered(file, places, in_order)  # type: ignore[return-value]  # it reads bytes


def _chunks(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """The first record of each chunk that has one, and where the chunk lies."""
    place = _FILE_HEADER
    while True:
        file.seek(place)
        header = file.read(_FIRST_RECORD + 8)
        if len(header) < _FIRST_RECORD + 8:
            return
        if header.startswith(_CHUNK_MAGIC):
            yield struct.unpack_from("<Q", header, _FIRST_RECORD)[0], place
        place += _CHUNK


class _Reordered(io.RawIOBase):
    """A file in which some chunks have changed their places."""

    def __init__(self, file: BinaryIO, places: list[int], in_order: list[int]) -> None:
        super().__init__()
        self._file, self._at = file, 0
        self._size = file.seek(0, io.SEEK_END)
        self._taken_from = dict(zip(places, in_order, strict=True))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        wanted = self._size - self._at if size < 0 else size
        parts = []
        while wanted > 0:
            part = self._part(wanted)
            if not part:
                break
            parts.append(part)
            self._at += len(part)
            wanted -= len(part)
        return b"".join(parts)

    def _part(self, wanted: int) -> bytes:
        """What is at this place, to the end of its chunk at most."""
        if self._at < _FILE_HEADER:
            self._file.seek(self._at)
            return self._file.read(min(wanted, _FILE_HEADER - self._at))
        inside = (self._at - _FILE_HEADER) % _CHUNK
        place = self._at - inside
        self._file.seek(self._taken_from.get(place, place) + inside)
        return self._file.read(min(wanted, _CHUNK - inside))


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())
