"""Files of records that a crash can cut short but not corrupt: length, checksum, a JSON head and a body of bytes.

Reading stops at the first record that is not whole; whoever goes on writing cuts the file there first. A record is on the disk
when `sync` has returned.

    | head bytes u32 | body bytes u32 | crc32 u32 | head (JSON) | body |
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FRAME = struct.Struct("<III")
Head = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One record, and where the next one begins."""

    head: Head
    body: bytes
    stop: int


def read_records(path: Path) -> Iterator[Record]:
    """The whole records of a file."""
    at = 0
    with path.open("rb") as file:
        while len(frame := file.read(_FRAME.size)) == _FRAME.size:
            head_bytes, body_bytes, checksum = _FRAME.unpack(frame)
            content = file.read(head_bytes + body_bytes)
            if len(content) < head_bytes + body_bytes or zlib.crc32(content) != checksum:
                return
            at += _FRAME.size + len(content)
            yield Record(json.loads(content[:head_bytes]), content[head_bytes:], at)


class RecordFile:
    """A file that records are added to.

    Args:
        path: created when it is not there.
        keep: how many bytes of it are whole records; the rest is cut off.
    """

    def __init__(self, path: Path, keep: int = 0) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        self._file.truncate(keep)
        self.size = keep
        self._unsynced = False
        self._failure: OSError | None = None
        sync_folder(path.parent)

    def append(self, head: Head, body: bytes = b"") -> None:
        """Add a record; it is not safe before `sync`.

        Raises:
            OSError: when it cannot be written. Then nothing can follow it, and `sync` fails too: what is not whole is not committed.
        """
        self._check()
        head_text = json.dumps(head).encode()
        content = head_text + body
        frame = _FRAME.pack(len(head_text), len(body), zlib.crc32(content))
        whole = memoryview(frame + content)
        try:
            while len(whole):
                whole = whole[self._file.write(whole) :]
        except OSError as error:
            self._failure = error
            raise
        self.size += len(frame) + len(content)
        self._unsynced = True

    def sync(self) -> None:
        """Wait until everything added is on the disk.

        Raises:
            OSError: when something added is not there.
        """
        self._check()
        if self._unsynced:
            os.fsync(self._file.fileno())
            self._unsynced = False

    def close(self) -> None:
        self._file.close()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure


def sync_folder(folder: Path) -> None:
    """Make it durable that files were made or removed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
