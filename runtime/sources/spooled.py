"""Rows that come once and cannot be asked for again: they go to files first and are read from there.

With a checkpoint these files outlive the process, with checksums. A file that is long enough is followed by another, and removed when
all of it was read and counts. What brings the rows is handed in (`Incoming`): a connection (`socket`, `http`, `mqtt`, `nats`), a table
of a database (`postgres`), or a user's own source (`user_feed`). A file is called by how many rows came before it, so that a start
after a crash knows how many there are.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cqc.runtime.errors import RunError
from cqc.runtime.files.names import folder_name
from cqc.runtime.files.private_files import open_private, private_folder
from cqc.runtime.sinks.output import cannot_write
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.file_trace import Begun
from cqc.runtime.sources.spool_sums import SpoolSums

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.range import Range

_PATIENCE_S = 10.0
# What WITH says of reading, wherever rows come from; all else is for the connection.
READING_KEYS = ("timestamp", "zone", "on_bad", "mode", "delimiter", "quote", "nulls")
FILE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines that came together: JSON objects, or CSV under a header."""

    rows: bytes
    extension: str = "jsonl"
    header: bytes = b""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What came in earlier starts: how many rows, and the file with the last of them."""

    rows: int
    last_file: Path | None = None


class Incoming(Protocol):
    """What brings the rows."""

    answers: bool  # whether it tells the other side that rows are kept: then they are on the disk before it does

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """Whole lines, some at a time, as they come. Being asked for more says that the last ones are kept.

        Raises:
            RunError: when no more can come, because of a failure.
        """

    def close(self) -> None:
        """Let `pieces` end."""


class SpooledFeed:
    """Receives in a thread of its own; the ranges are those of the files.

    Args:
        name: the folded name of the stream.
        relation: the stream.
        incoming: what brings the rows.
        spool: a folder for the files; a temporary one by default.
        done: what was read before.

    Raises:
        RunError: when what was received before is damaged.
    """

    def __init__(
        self,
        name: str,
        relation: Relation,
        incoming: Incoming,
        spool: Path | None,
        *,
        done: Mapping[str, Place],
    ) -> None:
        self.name = name
        self.ended = False
        self._incoming = incoming
        self._temporary = Path(tempfile.mkdtemp(prefix="cqc-spool-")) if spool is None else None
        folder = self._temporary or spool or Path()
        private_folder(folder)  # one for all such streams of the program
        self._folder = private_folder(folder / folder_name(name))
        # What the files are, their names say.
        options = {key: text for key, text in relation.options.items() if key in READING_KEYS}
        in_file = replace(relation, options=options)
        self._lines = FileFeed(name, in_file, self._folder, follow=True, done=done)
        self._failure: OSError | RunError | None = None
        self._sums = SpoolSums(self._folder)
        try:
            self._check_files(done)
            self._rows = self._count_rows()
        except BaseException:
            incoming.close()
            raise
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    @property
    def done(self) -> Mapping[str, Place]:
        return self._lines.done

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        closed = not self._receiver.is_alive()
        found = self._lines.take(rows)
        if found is None and closed:
            # Only now: the feed lists files when it has none open, and the last lines may be in files it has not listed.
            self._lines.look()
            found = self._lines.take(rows)
            self.ended = found is None
        if found is None and isinstance(self._failure, OSError):
            raise cannot_write(self._folder, self._failure)
        if found is None and self._failure is not None:
            raise self._failure
        return found

    def look(self) -> None:
        self._lines.look()

    def give_back(self, part: Range) -> None:
        self._lines.give_back(part)

    def forget_gone(self) -> None:
        self._lines.forget_gone()

    def done_with_all(self) -> None:
        for file in self._files()[:-1]:
            if (Begun.at(self.done.get(str(file))).stop or 0) >= file.stat().st_size:
                file.unlink()
                self._sums.forget(file)
                self._lines.forget_gone()

    def close(self) -> None:
        self._incoming.close()
        self._receiver.join(_PATIENCE_S)
        self._lines.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.iterdir())

    def _receive(self) -> None:
        earlier = Earlier(self._rows, next(iter(self._files()[-1:]), None))
        try:
            for piece in self._incoming.pieces(earlier):
                self._keep(piece)
        except (OSError, RunError) as error:  # `take` tells it
            self._failure = error
            self._incoming.close()

    def _count_rows(self) -> int:
        """How many rows came before: those before the last file, which is never removed, and its own."""
        for file in self._files()[-1:]:
            lines = file.read_bytes().count(b"\n")
            return int(file.stem) + lines - (file.suffix == ".csv")
        return 0

    def _check_files(self, done: Mapping[str, Place]) -> None:
        """See that what was received before is there as it came, before anything is cut off."""
        ends = {
            file: self._sums.check(file, Begun.at(done.get(str(file))).stop or 0)
            for file in self._files()
        }
        self._cut_half_line()
        for file, end in ends.items():
            self._sums.complete(file, end)

    def _cut_half_line(self) -> None:
        """Remove the half of a line that a process left which was killed as it wrote."""
        for file in self._files()[-1:]:
            data = file.read_bytes()
            if not data.endswith(b"\n"):
                os.truncate(file, data.rfind(b"\n") + 1)

    def _keep(self, piece: Piece) -> None:
        """Add whole lines to the last file, or to a new one after it."""
        if not piece.rows:
            return
        lines = piece.rows
        files = self._files()
        last = files[-1] if files else None
        if last is None or last.stat().st_size >= FILE_BYTES or not _goes_on(last, piece):
            last = self._folder / f"{self._rows:012d}.{piece.extension}"
            lines = piece.header + lines
        rest = memoryview(lines)
        with open_private(last, "ab") as file:
            while rest:  # a disk that is nearly full takes less than it is given
                rest = rest[file.write(rest) :]
            end = file.tell()
            if self._incoming.answers and self._temporary is None:
                file.flush()
                os.fsync(file.fileno())
        self._sums.add(last, end, lines)
        self._rows += piece.rows.count(b"\n")


def _goes_on(file: Path, piece: Piece) -> bool:
    """Whether a piece can stand under what a file begins with."""
    if file.suffix != f".{piece.extension}":
        return False
    if not piece.header:
        return True
    with file.open("rb") as opened:
        return opened.read(len(piece.header)) == piece.header
