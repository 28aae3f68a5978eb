"""What Spark's state store keeps of cells, with checksums of ours: its files are checked in part only, and its logs not at all.

A blob of tuples has four bytes before it, a record eight characters. What does not fit ends the run with a sentence, in the worker
that found it.
"""

from __future__ import annotations

import struct
import zlib

from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import ADVICE

_SUM = struct.Struct("<I")
_ENTRY = struct.Struct("<qQ")


def sealed_blob(batch: int, blob: bytes) -> bytes:
    """The tuples that came to a cell with a micro-batch, as they are kept."""
    return _SUM.pack(_sum_of(batch, blob)) + blob


def opened_blob(batch: int, kept: bytes) -> bytes:
    """The tuples again.

    Raises:
        RunError: when they are not what was kept.
    """
    blob = kept[_SUM.size :]
    if kept[: _SUM.size] != _SUM.pack(_sum_of(batch, blob)):
        raise _damaged(f"tuples of micro-batch {batch}")
    return blob


def sealed_record(text: str) -> str:
    """A cell's record, as it is kept."""
    return f"{zlib.crc32(text.encode()):08x}{text}"


def opened_record(kept: str) -> str:
    """The record again.

    Raises:
        RunError: when it is not what was kept.
    """
    text = kept[8:]
    if kept != sealed_record(text):
        raise _damaged("record")
    return text


def pack_entries(entries: list[tuple[int, bytes]]) -> bytes:
    """Blobs with their micro-batches as one piece, for a file."""
    return b"".join(_ENTRY.pack(batch, len(blob)) + blob for batch, blob in entries)


def unpack_entries(packed: bytes) -> list[tuple[int, bytes]]:
    """What `pack_entries` was given."""
    entries, at = [], 0
    while at < len(packed):
        batch, length = _ENTRY.unpack_from(packed, at)
        at += _ENTRY.size
        entries.append((batch, packed[at : at + length]))
        at += length
    return entries


def _sum_of(batch: int, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(b"%d" % batch))


def _damaged(what: str) -> RunError:
    return RunError(
        f"the {what} that Spark's part of the checkpoint (distributed/spark*/state) keeps of a cell is damaged: {ADVICE}"
    )
