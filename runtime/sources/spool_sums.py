"""Checksums of lines that came by a connection and wait in files to be read: they cannot be asked for again.

Beside the folder of such files is one with a list for each of them: where each piece that was added ends, and its checksum. A process
that starts again reads the pieces that do not count yet once more; what a crash left without a checksum is taken as it is.

    DIR/spool/readings/000000000000.jsonl
    DIR/spool/readings%sums/000000000000.jsonl     `0000000000001234 5d0f1a2b`, a line for each piece
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from cqc.runtime.files.private_files import open_private, private_folder
from cqc.runtime.files.sealed import DamagedError

if TYPE_CHECKING:
    from pathlib import Path

_LINE_BYTES = 16 + 1 + 8 + 1
_ADVICE = "restore it from a copy, or remove it to go on without the lines that wait there"


class SpoolSums:
    """The checksums of the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder.with_name(f"{folder.name}%sums"))

    def add(self, file: Path, end: int, piece: bytes) -> None:
        """Note a piece that was added to a file, which ends there now."""
        with open_private(self._folder / file.name, "ab") as sums:
            sums.write(_line(end, zlib.crc32(piece)))

    def forget(self, file: Path) -> None:
        """A file has gone."""
        (self._folder / file.name).unlink(missing_ok=True)

    def check(self, file: Path, start: int) -> int:
        """See that what waits in a file from a place on is what came; where the checksums end.

        Raises:
            DamagedError: when it is not.
        """
        data = file.read_bytes()
        begin = 0
        for end, checksum in self._known(file):
            if end > len(data):
                raise DamagedError(file, f"was cut to {len(data):,} of {end:,} bytes", _ADVICE)
            if end > start and zlib.crc32(data[begin:end]) != checksum:
                raise DamagedError(file, "is damaged (a checksum is wrong)", _ADVICE)
            begin = end
        return begin

    def complete(self, file: Path, begin: int) -> None:
        """Note what a crash has left without a checksum."""
        rest = file.read_bytes()[begin:]
        if rest:
            self.add(file, begin + len(rest), rest)

    def _known(self, file: Path) -> list[tuple[int, int]]:
        path = self._folder / file.name
        if not path.exists():
            return []
        data = path.read_bytes()
        whole = len(data) - len(data) % _LINE_BYTES
        found, before = [], 0
        for at in range(0, whole, _LINE_BYTES):
            line = data[at : at + _LINE_BYTES]
            try:
                end, checksum = int(line[:16], 16), int(line[17:25], 16)
            except ValueError as error:
                raise DamagedError(path, "is damaged", _ADVICE) from error
            if end <= before or line != _line(end, checksum):
                raise DamagedError(path, "is damaged", _ADVICE)
            found.append((end, checksum))
            before = end
        if whole < len(data):  # the end of a line that a crash has cut off
            with open_private(path, "r+b") as sums:
                sums.truncate(whole)
        return found


def _line(end: int, checksum: int) -> bytes:
    return b"%016x %08x\n" % (end, checksum)
