"""Files of records that a crash can cut short, and that tell when they are damaged: a frame, a JSON head and a body of bytes.

    | magic u32 | head bytes u32 | body bytes u32 | crc32 of head and body u32 | crc32 of this frame and its place u32 | head | body |

A process that dies as it appends leaves the beginning of a record at the end of the file, and a machine that loses power perhaps
zeros: such a *torn tail* was never acknowledged to anybody, and is cut off. A record that is there at its full length, or has
others after it, and does not fit its checksums is *damage*: it was acknowledged, so nothing is cut off and reading ends with an
error. The frame has a checksum of its own, so that a wrong length cannot pass for a torn tail. A record is on the disk when
`sync` has returned.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.runtime.files.private_files import open_private, sync_folder
from cqc.runtime.files.sealed import DamagedError, EarlierVersionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_FIELDS = struct.Struct("<IIII")
_SUM = struct.Struct("<I")
_PLACE = struct.Struct("<Q")
_FRAME_BYTES = _FIELDS.size + _SUM.size
_MAGIC = int.from_bytes(b"cqc3", "little")
_BEFORE = struct.Struct("<III")  # the frames of earlier versions
_ZEROS = 512  # what no record ends with
Head = dict[str, Any]


@record
class Record:
    """One record, and where the next one begins."""

    head: Head
    body: bytes
    stop: int


def read_records(path: Path, synced: int | None = 0) -> Iterator[Record]:
    """The records of a file.

    Args:
        path: the file.
        synced: how many bytes are known to have been on the disk; None: all of them were, so there is no torn tail.

    Raises:
        DamagedError: when a record was whole once and is not any more.
    """
    at = 0
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        known = size if synced is None else synced
        while at < size:
            record = read_record(file, path, at, size)
            if record is None:
                break
            at = record.stop
            yield record
    if at < known:
        raise DamagedError(
            path, f"ends after {at:,} bytes, although {max(known, size):,} were written"
        )


def read_record(file: BinaryIO, path: Path, at: int, size: int) -> Record | None:
    """The record at a place, where the file stands; None when it is a torn tail, or not all of it is there yet.

    Raises:
        DamagedError: when it was whole once and is not any more.
    """
    content = _content(file, path, at, size)
    if content is None:
        return None
    head, body = content
    return Record(json.loads(head), body, at + _FRAME_BYTES + len(head) + len(body))


def _content(file: BinaryIO, path: Path, at: int, size: int) -> tuple[bytes, bytes] | None:
    """Head and body of the record at a place; None when it is a torn tail."""
    frame = file.read(_FRAME_BYTES)
    if len(frame) < _FRAME_BYTES:
        return None
    magic, head_bytes, body_bytes, checksum = _FIELDS.unpack_from(frame)
    if magic != _MAGIC or _SUM.unpack_from(frame, _FIELDS.size)[0] != _frame_sum(
        frame[: _FIELDS.size], at
    ):
        if not any(frame) and _is_zero(file):
            return None
        if at == 0 and _is_earlier(path):
            raise EarlierVersionError(path)
        raise _damaged(path, at)
    content = file.read(head_bytes + body_bytes)
    if len(content) < head_bytes + body_bytes:
        return None
    if zlib.crc32(content) != checksum:
        is_last = at + _FRAME_BYTES + len(content) == size
        if is_last and len(content) >= _ZEROS and not any(content[-_ZEROS:]):
            return None
        raise _damaged(path, at)
    return content[:head_bytes], content[head_bytes:]


def _frame_sum(fields: bytes, at: int) -> int:
    return zlib.crc32(_PLACE.pack(at), zlib.crc32(fields))


def _is_zero(file: BinaryIO) -> bool:
    """Whether nothing but zeros is left."""
    return all(not any(piece) for piece in iter(lambda: file.read(1 << 20), b""))


def _is_earlier(path: Path) -> bool:
    with path.open("rb") as file:
        frame = file.read(_BEFORE.size)
        head_bytes, body_bytes, checksum = _BEFORE.unpack(frame)
        size = os.fstat(file.fileno()).st_size
        if head_bytes + body_bytes > size:
            return False
        return bool(zlib.crc32(file.read(head_bytes + body_bytes)) == checksum)


def _damaged(path: Path, at: int) -> DamagedError:
    return DamagedError(path, f"is damaged at byte {at:,} (a checksum is wrong)")


class RecordFile:
    """A file that records are added to.

    Args:
        path: created when it is not there.
        keep: how many bytes of it are whole records; the rest is cut off.
    """

    def __init__(self, path: Path, keep: int = 0) -> None:
        self.path = path
        self._file = open_private(path, "ab")
        self._file.truncate(keep)
        self.size = keep
        self._unsynced = False
        self._failure: OSError | None = None
        sync_folder(path.parent)

    def append(self, head: Head, body: bytes = b"") -> None:
        """Add a record; it is not safe before `sync`.

        Raises:
            OSError: when there is no room; from then on always, since what follows would miss a record.
        """
        self._raise_failure()
        head_text = json.dumps(head).encode()
        content = head_text + body
        fields = _FIELDS.pack(_MAGIC, len(head_text), len(body), zlib.crc32(content))
        whole = memoryview(fields + _SUM.pack(_frame_sum(fields, self.size)) + content)
        size = len(whole)
        try:
            while len(whole):
                whole = whole[self._file.write(whole) :]
        except OSError as error:
            self._failure = error
            raise
        self.size += size
        self._unsynced = True

    def sync(self) -> None:
        """Wait until everything added is on the disk.

        Raises:
            OSError: when it is not, or something could not be added.
        """
        self._raise_failure()
        if self._unsynced:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:  # a second call might say that all is well
                self._failure = error
                raise
            self._unsynced = False

    def close(self) -> None:
        self._file.close()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise OSError(self._failure.errno, self._failure.strerror)
