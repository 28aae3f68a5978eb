"""The files of one stream, found in name order and handed out range by range.

A finite run lists its files once. A run that follows lists them again whenever it has nothing left: new files come in name
order, and lines added to a text file are handed out too. A file that is still being written is left alone for a moment.

A file that was listed is not seen yet: another stream may be behind, and then nobody asks this feed for a while. It waits
until somebody does, and counts as seen when everything it held was handed out.

A file that changed in another way than by growing is not read on. When all of it had been handed out, that is said once and
what it holds now is left out: nobody could tell which of its rows are new. When something of it was still to be read, those
rows are lost, and the feed says so by an error.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.meaning.source_formats import has_lines
from cqc.runtime.errors import RunError
from cqc.runtime.sources import about_no_files, no_files, source_files
from cqc.runtime.sources.file_cursors import open_cursor
from cqc.runtime.sources.file_trace import Begun
from cqc.runtime.sources.formats.csv_form import CsvForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources import SourceFile
    from cqc.runtime.sources.file_cursors import Cursor
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.range import Range

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
        warn: told, once for each file, of files that changed or went away; without it nobody looks for that.

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
        done: Mapping[str, Place],
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self.ended = False
        self.done: dict[str, Place] = dict(done)
        self._warn = warn
        self._told: set[str] = set()  # files that changed or went away
        self._relation = relation
        self._path = path
        self._follow = follow
        self._seen: dict[str, Stamp] = {}  # how the files were of which everything was handed out
        # Files with a later date than now (a clock was put back): how they were, and since when.
        self._from_the_future: dict[str, tuple[Stamp, float]] = {}
        self._cursor: Cursor | None = None
        self._open: tuple[str, Stamp | None] = ("", None)  # the cursor's file, as it was before
        self._files: deque[SourceFile] = deque(self._listed())  # and not opened yet
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
                self.done[found[0].path] = found[0].place
                return found
            self._see()
            self.close()
        return None

    def read_and_all(self) -> tuple[int, int]:
        """Bytes that were handed out, and bytes of all files that are known, about."""
        read, every = 0, sum(size_of(file.path) for file in self._files)
        for path, place in self.done.items():
            begun, size = Begun.at(place), size_of(Path(path))
            every += size
            # Parquet is cut by rows: of such a file only the whole counts.
            in_bytes = not path.endswith(".parquet") and begun.has_more
            part = begun.stop if in_bytes and begun.stop is not None else 0
            read += part if begun.has_more else size
        return read, every

    def look(self) -> None:
        """List the files again, if this is a feed that follows and all known ones were handed out."""
        self._is_listed = self._follow and self._cursor is None and not self._files
        if self._is_listed:
            self._files = deque(self._changed(self._listed()))

    def give_back(self, part: Range) -> None:
        """Take back a range that could not be read. Its file is left out until it changes."""
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
        """Do nothing: files belong to the user."""

    def close(self) -> None:
        """Let go of the open file."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _open_next(self) -> bool:
        while self._files:
            file = self._files.popleft()
            path = str(file.path)
            young = self._follow and self._is_young(file.path)
            # From before it is read: what is written while it is read makes it another one.
            stamp = _stamp(file.path)
            self._open = (path, None if young else stamp)
            begun = Begun.at(self.done[path]) if path in self.done else None
            if begun is not None and (self._has_changed(file, begun) or begun.stop is None):
                self._open = (path, stamp)
                self._see()
                continue
            try:
                start = None if begun is None else begun.stop
                form = CsvForm.of(self._relation.options)
                self._cursor = open_cursor(self.name, file, start, whole_lines=young, form=form)
            except RunError:
                if young or (self._follow and not file.path.exists()):
                    continue
                self._see()  # it is told once, and looked at again when it has changed
                raise
            return True
        return False

    def _is_young(self, path: Path) -> bool:
        """Whether somebody may still be writing a file: by its own date, and where that is in the future by how long nothing changed."""
        stamp = _stamp(path)
        if stamp is None:
            return False
        age_s = time.time() - stamp[1] / 1e9
        if age_s >= 0:
            self._from_the_future.pop(str(path), None)
            return age_s < SETTLED_S
        before, since = self._from_the_future.get(str(path), (None, 0.0))
        if before != stamp:
            since = time.monotonic()
            self._from_the_future[str(path)] = (stamp, since)
        return time.monotonic() - since < SETTLED_S

    def _see(self) -> None:
        """Leave the file out that was opened last, until it changes; one that is young may not be complete."""
        path, stamp = self._open
        if stamp is not None:
            self._seen[path] = stamp

    def _has_changed(self, file: SourceFile, begun: Begun) -> bool:
        """Whether a file that was begun became another one; that is told.

        Raises:
            RunError: when something of it was still to be read.
        """
        path = str(file.path)
        if self._warn is None:
            return False
        try:
            how = begun.change(file.path, file.format)
        except OSError:
            return False  # whoever opens it says why
        if not how:
            return False
        if begun.has_more and path not in self._told:
            self._told.add(path)
            self._see()
            raise RunError(
                f"{path} was {how} when only a part of it had been read, and the rest cannot be found any more: "
                "put it back as it was and start again, or begin anew with another checkpoint"
            )
        if path not in self._told:
            self._told.add(path)
            self._warn(
                f"{path} was {how} after it had been read; what it holds now is left out "
                "(give new rows a file of their own)"
            )
        return True

    def _tell_gone(self, files: list[SourceFile]) -> None:
        """Tell of files that were begun and are no longer there.

        Raises:
            RunError: when something of one was still to be read.
        """
        if self._warn is None or not self.done:
            return
        gone = self.done.keys() - {str(file.path) for file in files} - self._told
        if not gone:
            return
        self._told |= gone
        unread = sorted(path for path in gone if Begun.at(self.done[path]).has_more)
        if unread:
            raise RunError(
                f"{unread[0]} went away when only a part of it had been read: put it back and start again, "
                "or begin anew with another checkpoint"
            )
        others = "" if len(gone) == 1 else f" and {len(gone) - 1:,} more"
        self._warn(
            f"{self._relation.name}: {min(gone)}{others} went away after all of it had been read; nothing is lost"
        )

    def _listed(self) -> list[SourceFile]:
        files = source_files(self._relation, self._path)
        self._tell_gone(files)
        self._tell_no_files()
        return files

    def _tell_no_files(self) -> None:
        """Tell of what is called like data and cannot be read as such."""
        if self._warn is None:
            return
        found = [entry for entry in no_files(self._path) if str(entry) not in self._told]
        if found:
            self._told.update(map(str, found))
            self._warn(about_no_files(self._relation, found))

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
    return size if has_lines(part.format) else size * _BYTES_PER_ROW


def _stamp(path: Path) -> Stamp | None:
    """What changes when a file does; None when it has gone."""
    try:
        there = path.stat()
    except OSError:
        return None
    return there.st_size, there.st_mtime_ns, there.st_ino


def size_of(path: Path) -> int:
    """The bytes of a file; none of one that went away, of which whoever reads it says so."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
