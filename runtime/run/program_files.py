"""The files of program folders, and when each was written: by that a change is noticed.

The stamp is taken before the files are read at the start. Taken later, it would miss what was edited while they were compiled, and
such an edit would never be noticed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Stamp = tuple[tuple[str, int, int], ...]


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; a name that no file can have names none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def program_files(programs: Sequence[str]) -> list[Path]:
    """The files that PROGRAM arguments name, those of a folder in name order."""
    found: list[Path] = []
    for name in programs:
        path = Path(name)
        found += sorted(path.glob("*.cq")) if is_folder(path) else [path]
    return found


def stamp_of(programs: Sequence[str]) -> Stamp:
    """The files with their sizes and times; nothing where no folder is among the arguments, because then nothing may change."""
    if not any(is_folder(Path(name)) for name in programs):
        return ()
    found = []
    for path in program_files(programs):
        try:
            there = path.stat()
        except OSError:
            continue
        found.append((str(path), there.st_size, there.st_mtime_ns))
    return tuple(found)
