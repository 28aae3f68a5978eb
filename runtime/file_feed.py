"""The files of one stream, found in name order and handed out range by range.

A finite run lists its files once. A run that follows lists them again whenever it has nothing left: new files come in name
order, and lines added to a text file are handed out too. A file that is still being written is left alone for a moment.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.cursors import open_cursor
from cqc.runtime.errors import RunError
from cqc.runtime.sources import source_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.catalog import Relation
    from cqc.runtime.cursors import Cursor
    from cqc.runtime.range import Range
    from cqc.runtime.sources import SourceFile

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
        self._sizes: dict[str, int] = {}
        self._cursor: Cursor | None = None
        self._files: Iterator[SourceFile] = iter(self._listed())

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        """The next range, of at most `rows` rows, and how many it has; None when there is nothing (any more)."""
        while not self.ended:
            if self._cursor is None and not self._open_next():
                self.ended = not self._follow
                return None
            found = None if self._cursor is None else self._cursor.take(rows)
            if found is not None:
                self.done[found[0].path] = found[0].stop
                return found
            self.close()
        return None

    def look(self) -> None:
        """List the files again, if this is a feed that follows and all known ones were handed out."""
        if self._follow and self._cursor is None:
            self._files = iter(self._changed(self._listed()))

    def forget_gone(self) -> None:
        """Forget the files that are no longer there."""
        for path in [path for path in self.done if not Path(path).exists()]:
            del self.done[path]
            self._sizes.pop(path, None)

    def done_with_all(self) -> None:
        """Files are their owner's: nothing is done to them."""

    def close(self) -> None:
        """Let go of the open file."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _open_next(self) -> bool:
        for file in self._files:
            path = str(file.path)
            if path in self.done and self.done[path] is None:
                continue
            young = self._follow and _is_young(file.path)
            try:
                self._cursor = open_cursor(self.name, file, self.done.get(path), whole_lines=young)
            except RunError:
                if young or (self._follow and not file.path.exists()):
                    continue
                raise
            return True
        return False

    def _listed(self) -> list[SourceFile]:
        return source_files(self._relation, self._path)

    def _changed(self, files: list[SourceFile]) -> list[SourceFile]:
        """Files that are new, or larger than when they were last listed, or were too young then."""
        changed = []
        for file in files:
            try:
                size = file.path.stat().st_size
            except OSError:
                continue
            key = str(file.path)
            if self._sizes.get(key) != size or _is_young(file.path):
                changed.append(file)
                if not _is_young(file.path):
                    self._sizes[key] = size
        return changed


def weight(part: Range) -> int:
    """About how many bytes a range has."""
    if part.stop is None:
        return 1 << 30
    size = part.stop - part.start
    return size if part.format in ("csv", "jsonl") else size * _BYTES_PER_ROW


def _is_young(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < SETTLED_S
    except OSError:
        return False
