"""Files and folders that are nobody else's: 0600 and 0700 whatever the umask says, and never behind a link.

A checkpoint, a spool and a log hold rows of the user's. Only what cqc makes itself gets these modes: a folder that was there
before keeps its own, and what is made inside it is private all the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def private_folder(folder: Path, *, own: bool = True) -> Path:
    """Make a folder, with those above it that are missing, for this user alone.

    Args:
        folder: where.
        own: it is cqc's alone, so that one that is there already is made private too.

    Raises:
        OSError: when it cannot be made, or is a link to somewhere else although it should be ours.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if own and not missing:
        there = folder.lstat()
        if there.st_uid == os.getuid() and there.st_mode & 0o077:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                os.fchmod(descriptor, FOLDER_MODE)
            finally:
                os.close(descriptor)
    return folder


def private_opener(path: str, flags: int) -> int:
    """How `open` makes a private file: `path.open("wb", opener=private_opener)` is in the builtin's terms."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    if flags & (os.O_WRONLY | os.O_RDWR):
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def open_private(path: Path, mode: str) -> BinaryIO:
    """Open a private file without a buffer of Python's.

    Raises:
        OSError: when that cannot be done, or there is a link in its place.
    """
    opened: BinaryIO = open(path, mode, buffering=0, opener=private_opener)  # type: ignore[assignment]  # noqa: SIM115  # only the builtin takes an opener
    return opened


def sync_folder(folder: Path) -> None:
    """Make it durable that files of a folder were made, renamed or removed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
