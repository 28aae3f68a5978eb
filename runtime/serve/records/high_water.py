"""How much of a service's files was on the disk when it last committed, so that a file that was cut or deleted is noticed.

Written over after each commit without waiting for the disk: a process that is killed leaves it as it was, and after a loss of power it
may be older, so it says only how much there must be at least. It is synced before segments are deleted, since it also says
which is the first there must be. One that is damaged says nothing, and nothing else depends on it.

    DIR/synced
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from cqc.runtime.files.private_files import FILE_MODE

if TYPE_CHECKING:
    from pathlib import Path

_FIELDS = struct.Struct("<7Q")
_SUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Marks:
    """Sizes in bytes, and numbers of segments."""

    tables: int = 0
    first_rows: int = 0
    last_rows: int = 0
    rows: int = 0
    first_results: int = 0
    last_results: int = 0
    results: int = 0


class HighWater:
    """The file with the marks."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(folder / "synced", flags, FILE_MODE)
        self.before = _read(os.pread(self._file, _FIELDS.size + _SUM.size + 1, 0))

    def note(self, marks: Marks) -> None:
        fields = _FIELDS.pack(*astuple(marks))
        os.pwrite(self._file, fields + _SUM.pack(zlib.crc32(fields)), 0)

    def sync(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _read(data: bytes) -> Marks:
    fields = data[: _FIELDS.size]
    if len(data) != _FIELDS.size + _SUM.size or data[_FIELDS.size :] != _SUM.pack(
        zlib.crc32(fields)
    ):
        return Marks()
    return Marks(*_FIELDS.unpack(fields))
