"""Whether a file is still the one of which something was read.

Where a file's next range begins says nothing about a file that somebody rewrote meanwhile: reading on there would give half
a line of other rows, or nothing. So with that place a *trace* is remembered: how large the file was, whether something of it
was left to read, and a checksum of the first and the last bytes before the place. A file that only grew has the same trace
there; one that was rewritten or shortened has not.

    {"b/1.csv": [4194281, 2774821023, 9000000, true]}     as a checkpoint holds it: place, checksum, size, something is left

A change in the middle of a large file that leaves its length as it was is not noticed.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.source_formats import has_lines
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from cqc.runtime.sources.range import Range

Place = int | None | list[int | None]  # where the next range begins, alone or with a trace

_EDGE_BYTES = 4096


@record
class Begun:
    """How far a file was handed out, and what it was then."""

    stop: int | None
    checksum: int | None = None  # None: nobody knows
    size: int = 0
    has_more: bool = False

    @staticmethod
    def at(place: Place) -> Begun:
        """What a checkpoint holds."""
        if isinstance(place, list):
            stop, checksum, size, has_more = place
            return Begun(stop, checksum, size or 0, bool(has_more))
        return Begun(place)

    def change(self, path: Path, format_: str) -> str:
        """What happened to a file since; "" when nothing did, or it only grew.

        Raises:
            OSError: when it cannot be read.
        """
        if self.checksum is None:
            return ""
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self.size:
                return "shortened"
            at = traced_bytes(format_, self.stop, self.size)
            if checksum(file, at) != self.checksum:
                return "rewritten"
            is_text = self.stop is not None and has_lines(format_)
            grown = not is_text and os.fstat(file.fileno()).st_size != self.size
            return "rewritten" if grown else ""


def traced_bytes(format_: str, stop: int | None, size: int) -> int:
    """Up to where a file is traced: text may grow, and what cannot be read on in the middle is traced as a whole."""
    return stop if stop is not None and has_lines(format_) else size


def checksum(file: BinaryIO, at: int) -> int:
    """A checksum of the first and the last bytes before a place; the file stays where it stands."""
    descriptor = file.fileno()
    first = os.pread(descriptor, min(at, _EDGE_BYTES), 0)
    start = max(at - _EDGE_BYTES, 0)
    last = os.pread(descriptor, at - start, start)
    return zlib.crc32(last, zlib.crc32(first))


def check_unchanged(file: BinaryIO, part: Range) -> None:
    """See that a range is read from the file that it was cut from.

    Raises:
        RunError: when the file was changed meanwhile.
    """
    if part.checksum is None:
        return
    if checksum(file, traced_bytes(part.format, part.stop, part.size)) != part.checksum:
        raise RunError(
            f"{part.path} was changed while it was being read: put it back as it was and start again, "
            "and give new rows a file of their own"
        )
