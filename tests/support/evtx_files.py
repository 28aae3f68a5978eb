"""Windows event log files for tests: a file header, chunks of 64 KiB, and records in binary XML without templates.

An element is (name, attributes, children or text); names are written out once a chunk and referred to afterwards, as Windows does it.

    write_evtx(path, [event(4624, "2024-05-01T09:00:00Z", {"TargetUserName": "ann"})])
"""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Element = tuple[str, dict[str, str], Any]

FILE_HEADER, CHUNK, CHUNK_HEADER, RECORD_HEADER = 4096, 65_536, 512, 24
_EPOCH_1601 = datetime(1601, 1, 1, tzinfo=UTC)
_FRAGMENT, _END = b"\x0f\x01\x01\x00", b"\x00"
_OPEN, _OPEN_WITH_ATTRIBUTES, _CLOSE_START, _CLOSE = b"\x01", b"\x41", b"\x02", b"\x04"
_VALUE_TEXT, _ATTRIBUTE, _ATTRIBUTE_AND_MORE = b"\x05\x01", b"\x06", b"\x46"


def event(
    event_id: int,
    time: str,
    data: dict[str, str] | list[str],
    *,
    channel: str = "Security",
    qualifiers: str | None = None,
) -> Element:
    """An event as Windows writes them; a list of data has no names."""
    named = data.items() if isinstance(data, dict) else [(None, text) for text in data]
    system: list[Element] = [
        ("Provider", {"Name": "Microsoft-Windows-Security-Auditing"}, None),
        ("EventID", {} if qualifiers is None else {"Qualifiers": qualifiers}, str(event_id)),
        ("TimeCreated", {"SystemTime": time}, None),
        ("Channel", {}, channel),
        ("Computer", {}, "host.example"),
    ]
    values = [("Data", {} if name is None else {"Name": name}, text) for name, text in named]
    return ("Event", {}, [("System", {}, system), ("EventData", {}, values)])


def write_evtx(path: Path, events: Sequence[Element], *, chunks: Sequence[int] = ()) -> None:
    """Write a file of events.

    Args:
        path: where to.
        events: all in one chunk, unless `chunks` says otherwise.
        chunks: how many events each chunk holds, and so many chunks there are.
    """
    sizes = list(chunks) or [len(events)]
    parts, first = [], 0
    for size in sizes:
        parts.append(_chunk(events[first : first + size], first + 1))
        first += size
    path.write_bytes(_file_header(len(parts), first + 1) + b"".join(parts))


def _file_header(chunks: int, next_record: int) -> bytes:
    fields = struct.pack("<QQQIHHHH", 0, chunks - 1, next_record, 128, 1, 3, FILE_HEADER, chunks)
    summed = (b"ElfFile\0" + fields).ljust(120, b"\0")
    return (summed + struct.pack("<II", 0, zlib.crc32(summed))).ljust(FILE_HEADER, b"\0")


def _chunk(events: Sequence[Element], first: int) -> bytes:
    names: dict[str, int] = {}
    records, last = b"", 0
    for number, each in enumerate(events, first):
        last = CHUNK_HEADER + len(records)
        records += _record(each, number, last, names)
    end = CHUNK_HEADER + len(records)
    assert end <= CHUNK, "the events do not fit into a chunk"
    last_number = first + len(events) - 1
    fields = struct.pack("<QQQQ", first, last_number, first, last_number)
    fields += struct.pack("<IIII", 128, last, end, zlib.crc32(records))
    summed = (b"ElfChnk\0" + fields).ljust(120, b"\0")
    tables = bytes(CHUNK_HEADER - 128)  # no string and no template is listed
    header = summed + struct.pack("<II", 0, zlib.crc32(summed + tables)) + tables
    return (header + records).ljust(CHUNK, b"\0")


def _record(each: Element, number: int, at: int, names: dict[str, int]) -> bytes:
    begun = at + RECORD_HEADER + len(_FRAGMENT)
    body = _FRAGMENT + _element(each, begun, names) + _END
    size = RECORD_HEADER + len(body) + 4
    passed = datetime(2024, 5, 1, tzinfo=UTC) - _EPOCH_1601
    ticks = int(passed.total_seconds()) * 10_000_000
    return struct.pack("<IIQQ", 0x2A2A, size, number, ticks) + body + struct.pack("<I", size)


def _element(each: Element, at: int, names: dict[str, int]) -> bytes:
    name, attributes, inside = each
    begun = at + 5  # token and size
    body = _name(name, begun, names)
    if attributes:
        listed, place = b"", begun + len(body) + 4
        for left, (key, value) in zip(
            range(len(attributes), 0, -1), attributes.items(), strict=True
        ):
            listed += _ATTRIBUTE_AND_MORE if left > 1 else _ATTRIBUTE
            listed += _name(key, place + len(listed), names)
            listed += _text(value)
        body += struct.pack("<I", len(listed)) + listed
    body += _CLOSE_START
    if isinstance(inside, str):
        body += _text(inside)
    else:
        for child in inside or ():
            body += _element(child, begun + len(body), names)
    body += _CLOSE
    token = _OPEN_WITH_ATTRIBUTES if attributes else _OPEN
    return token + struct.pack("<I", len(body)) + body


def _text(value: str) -> bytes:
    return (
        _VALUE_TEXT
        + struct.pack("<H", len(value.encode("utf-16-le")) // 2)
        + value.encode("utf-16-le")
    )


def _name(name: str, at: int, names: dict[str, int]) -> bytes:
    """The place of a name in the chunk, and the name itself where it comes the first time."""
    if name in names:
        return struct.pack("<I", names[name])
    names[name] = at + 4
    hashed = 0
    for letter in name:
        hashed = (hashed * 65_599 + ord(letter)) & 0xFFFF_FFFF
    written = (
        struct.pack("<IHH", 0, hashed & 0xFFFF, len(name)) + name.encode("utf-16-le") + b"\0\0"
    )
    return struct.pack("<I", names[name]) + written
