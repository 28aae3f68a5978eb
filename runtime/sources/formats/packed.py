"""Files that are packed: `.gz` and `.zst` after the ending that says what is inside.

A packed file can only be read from its beginning, so it is one piece: a run that follows takes it when nobody has touched it
for a moment, and does not look at it again.
"""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

UNPACKED = (".gz", ".zst")
_OTHERS = (".bz2", ".xz", ".zip", ".lz4", ".7z", ".br", ".z")
CANNOT_UNPACK = (OSError, EOFError, zlib.error)


def is_packed(path: Path) -> bool:
    """Whether a file is read through an unpacker."""
    return path.suffix.lower() in UNPACKED


def inner_name(path: Path) -> Path:
    """The name that a file has when it is unpacked."""
    return path.with_suffix("") if is_packed(path) else path


def is_packed_otherwise(path: Path) -> bool:
    """Whether a file is packed in a way that nobody here unpacks."""
    return path.suffix.lower() in _OTHERS


def unpacked(path: Path, opened: BinaryIO) -> BinaryIO:
    """The bytes inside a file; the file itself where it is not packed."""
    match path.suffix.lower():
        case ".gz":
            return gzip.open(opened)  # type: ignore[return-value]  # it reads bytes
        case ".zst":
            return pa.CompressedInputStream(pa.PythonFile(opened, "r"), "zstd")  # type: ignore[no-any-return]  # it reads bytes
        case _:
            return opened
