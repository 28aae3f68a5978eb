"""Files of results that only grow, and what a checkpoint knows of them.

A checkpoint remembers of each file where it was, how long, which file of the disk (its inode) and a digest of its last bytes.
So a run that starts again does not trust a name: the file must still hold what counts, up to the length that counts, and
the rest is cut off. A file that was moved aside meanwhile, as log rotation does, is found by its inode: it is cut back
where it is now, and results go on in a new file. A file that was deleted, shortened or written over cannot be brought to
agree, and nothing is written then.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import sync_folder
from cqc.runtime.notices import say
from cqc.runtime.sinks.output import Output, cannot_write

if TYPE_CHECKING:
    from collections.abc import Callable

_TAIL = 4096  # bytes by which a file is recognised


@dataclass(frozen=True, slots=True)
class Known:
    """What a checkpoint knows of a file of results. What was printed has no path, only a length."""

    length: int
    path: str = ""
    inode: int = 0
    tail: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Growing:
    """A file that only grows.

    Args:
        path: the file.
        known: what it was when it last counted; None for a file that begins now.
        option: of the command, by which the file is named.

    Raises:
        RunError: when it cannot be written, or does not hold what counts.
    """

    def __init__(self, path: Path, known: Known | None = None, option: str = "--out") -> None:
        self.path = path
        self.length = 0 if known is None else bring_back(path, known, option)
        is_new = not path.exists()
        output = Output(path, append=True)
        try:
            os.ftruncate(output.fileno(), self.length)
            self._last = _last_bytes(path, self.length)
            if is_new:
                sync_folder(path.parent)
            self._place = _place_of(os.fstat(output.fileno()))
        except OSError as error:
            raise cannot_write(path, error) from error
        finally:
            output.close()
        self._kept: Known | None = None  # what it is, since it was last kept

    def append(self, data: bytes | memoryview) -> None:
        # Opened each time: a folder has a file for each query, which may be more than a process may keep open.
        if not self.path.exists():
            raise self._changed("was moved or deleted")
        output = Output(self.path, append=True)
        try:
            self._check(os.fstat(output.fileno()))
            output.write(data)
        finally:
            output.close()
        self.length += len(data)
        self._last = (self._last + bytes(data[-_TAIL:]))[-_TAIL:]
        self._kept = None

    write = append

    def flush(self) -> None:
        """Everything is with the operating system already."""

    def keep(self, number: int) -> Known:
        """Put everything on the disk before a micro-batch counts. Returns what the file is now.

        Raises:
            RunError: when that fails, or somebody else has changed the file.
        """
        del number
        if self._kept is not None:
            return self._kept
        try:
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
                here = os.fstat(file.fileno())
        except FileNotFoundError as error:
            raise self._changed("was moved or deleted") from error
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._check(here)
        where = str(self.path.absolute())
        self._kept = Known(self.length, where, here.st_ino, _digest(self._last))
        return self._kept

    def close(self) -> None:
        """Nothing is open between two micro-batches."""

    def _check(self, here: os.stat_result) -> None:
        """See that the file of this name is the one that was written, and nobody else wrote."""
        if _place_of(here) != self._place:
            raise self._changed("was moved or replaced")
        if here.st_size != self.length:
            raise self._changed("was written or cut by somebody else")

    def _changed(self, how: str) -> RunError:
        return RunError(
            f"{self.path} {how} while results were written to it: the micro-batch under way does not count; "
            "start again to go on from the one before"
        )


def _place_of(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def check(path: Path, known: Known, option: str = "--out") -> None:
    """Check that a file can be cut back to what the checkpoint knows of it. Changes nothing.

    Raises:
        RunError: when it cannot.
    """
    _plan(path, known, option)


def bring_back(path: Path, known: Known, option: str = "--out") -> int:
    """Cut off what does not count, wherever the file is now. Returns how long the file at `path` is then.

    Raises:
        RunError: when the file does not hold what counts.
    """
    length, act = _plan(path, known, option)
    try:
        act()
    except OSError as error:
        raise cannot_write(path, error) from error
    return length


def leave(known: Known) -> None:
    """Stop using a file of results: cut off what does not count, if the file is still there."""
    if known.path:
        before = Path(known.path)
        _, act = _elsewhere(before, before, _moved(known, before), known)
        act()


def _plan(path: Path, known: Known, option: str) -> tuple[int, Callable[[], None]]:
    """How long the file at `path` will be, and what makes that so."""
    if not known.path:  # it was printed before, and goes to a file now
        return 0, lambda: None
    before, now = Path(known.path), path.absolute()
    moved = _moved(known, before)
    if known.length == 0 and moved is not None and moved.stat().st_size:
        raise RunError(
            f"{before} was moved to {moved} with results that do not count yet: move it back, or remove that file"
        )
    if _agrees(path, known) and (known.length or before == now):
        return known.length, lambda: os.truncate(path, known.length)
    if before != now:
        return _elsewhere(path, before, moved, known)
    if moved is not None and _size(path) in (None, 0):
        return 0, lambda: _cut_moved(path, moved, known)
    raise RunError(
        f"{_what_is_wrong(path, known)}: put it back as it was, or name another {option}"
    )


def _elsewhere(
    path: Path, before: Path, moved: Path | None, known: Known
) -> tuple[int, Callable[[], None]]:
    """Another place was named: results go on there, and what does not count is cut off where they were."""
    old = moved
    if _agrees(before, known) and (known.length or before.stat().st_ino == known.inode):
        old = before

    def act() -> None:
        if old is not None:
            os.truncate(old, known.length)
        elif known.length:
            place = "" if path == before else f" in {path}"
            say(f"note: {_what_is_wrong(before, known)}; results go on{place}")

    return 0, act


def _cut_moved(path: Path, moved: Path, known: Known) -> None:
    os.truncate(moved, known.length)
    say(f"note: {path} was moved to {moved}; results go on in a new {path}")


def _moved(known: Known, before: Path) -> Path | None:
    """The file under another name in the same folder, if it still holds what counts."""
    try:
        others = [each for each in os.scandir(before.parent) if each.inode() == known.inode]
    except OSError:
        return None
    for each in others:
        if each.name != before.name and each.is_file(follow_symlinks=False):
            found = before.parent / each.name
            if _agrees(found, known):
                return found
    return None


def _agrees(path: Path, known: Known) -> bool:
    size = _size(path)
    if size is None or size < known.length:
        return False
    try:
        return _digest(_last_bytes(path, known.length)) == known.tail
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error


def _what_is_wrong(path: Path, known: Known) -> str:
    size = _size(path)
    has = f"{known.length:,} bytes of results that count"
    if size is None:
        return f"{path} has gone, which had {has}"
    if size < known.length:
        return f"{path} was cut to {size:,} bytes, but had {has}"
    return f"{path} does not hold the {has} any more"


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _last_bytes(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(length - _TAIL, 0))
        return file.read(min(length, _TAIL))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
