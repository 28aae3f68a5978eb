"""The files of one stream, found in name order and handed out range by range.

A finite run lists its files once. A run that follows lists them again whenever it has nothing left: new files come in name
order, and lines added to a text file are handed out too. A file that is still being written is left alone for a moment.

A file that was listed is not seen yet: another stream may be behind, and then nobody asks this feed for a while. It waits
until somebody does, and counts as seen when everything it held was handed out.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.cursors import open_cursor
from cqc.runtime.errors import RunError
from cqc.runtime.sources import source_files

if TYPE_CHECKING:
    from cqc.compiler.catalog import Relation
    from cqc.runtime.cursors import Cursor
    from cqc.runtime.range import Range
    from cqc.runtime.sources import SourceFile

Stamp = tuple[int, int, int]  # size, when it was written, inode

SETTLED_S = 2.0  # a file that nobody touched for so long is complete
_BYTES_PER_ROW = 64


class FileFeed:
    """The ranges of one stream's files.

    Args:
        name: the stream's folded name.
        relation: the stream.
        path: its file or folder.
        follow: look for more when everything was handed out.
        done: for each file that was begun where its next range begins (None: nowhere, it was read whole).

    Raises:
        RunError: when there is nothing at the path.
    """

    def __init__(
        self,
        name: str,
        relation: Relation,
        path: Path,
        *,
        follow: bool,
        done: dict[str, int | None],
    ) -> None:
        self.name = name
        self.done = dict(done)
        self.ended = False
        self._relation = relation
        self._path = path
        self._follow = follow
        self._seen: dict[str, Stamp] = {}  # how the files were of which everything was handed out
        self._cursor: Cursor | None = None
        self._open: tuple[str, Stamp | None] = ("", None)  # the cursor's file, as it was before
        self._files = deque(self._listed())  # listed, and not opened yet
        self._is_listed = False  # since somebody looked last

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        """The next range, of at most `rows` rows, and how many it has; None when there is nothing (any more)."""
        while not self.ended:
            if self._cursor is None and not self._open_next():
                if self._follow and not self._is_listed:
                    self.look()  # what was listed was listed some time ago
                    continue
                self.ended = not self._follow
                return None
            found = None if self._cursor is None else self._cursor.take(rows)
            if found is not None:
                self.done[found[0].path] = found[0].stop
                return found
            self._see()
            self.close()
        return None

    def look(self) -> None:
        """List the files again, if this is a feed that follows and all known ones were handed out."""
        self._is_listed = self._follow and self._cursor is None and not self._files
        if self._is_listed:
            self._files = deque(self._changed(self._listed()))

    def give_back(self, part: Range) -> None:
        """A range could not be read: it was not handed out, and its file is left out until it changes."""
        if part.start <= part.header:
            self.done.pop(part.path, None)
        else:
            self.done[part.path] = part.start
        stamp = _stamp(Path(part.path))
        if stamp is not None:
            self._seen[part.path] = stamp
        if self._open[0] == part.path:
            self.close()

    def forget_gone(self) -> None:
        """Forget the files that are no longer there."""
        for path in [path for path in self.done if not Path(path).exists()]:
            del self.done[path]
            self._seen.pop(path, None)

    def done_with_all(self) -> None:
        """Files are their owner's: nothing is done to them."""

    def close(self) -> None:
        """Let go of the open file."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _open_next(self) -> bool:
        while self._files:
            file = self._files.popleft()
            path = str(file.path)
            if path in self.done and self.done[path] is None:
                continue
            young = self._follow and _is_young(file.path)
            # From before it is read: what is written while it is read makes it another one.
            self._open = (path, None if young else _stamp(file.path))
            try:
                self._cursor = open_cursor(self.name, file, self.done.get(path), whole_lines=young)
            except RunError:
                if young or (self._follow and not file.path.exists()):
                    continue
                self._see()  # it is told once, and looked at again when it has changed
                raise
            return True
        return False

    def _see(self) -> None:
        """Leave the file out that was opened last, until it changes; one that is young may not be complete."""
        path, stamp = self._open
        if stamp is not None:
            self._seen[path] = stamp

    def _listed(self) -> list[SourceFile]:
        return source_files(self._relation, self._path)

    def _changed(self, files: list[SourceFile]) -> list[SourceFile]:
        """Files that are new, or are not what they were when all of them had been handed out."""
        changed = []
        for file in files:
            stamp = _stamp(file.path)
            if stamp is not None and self._seen.get(str(file.path)) != stamp:
                changed.append(file)
        return changed


def weight(part: Range) -> int:
    """About how many bytes a range has."""
    if part.stop is None:
        return 1 << 30
    size = part.stop - part.start
    return size if part.format in ("csv", "jsonl") else size * _BYTES_PER_ROW


def _stamp(path: Path) -> Stamp | None:
    """What changes when a file does; None when it has gone."""
    try:
        there = path.stat()
    except OSError:
        return None
    return there.st_size, there.st_mtime_ns, there.st_ino


def _is_young(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < SETTLED_S
    except OSError:
        return False
