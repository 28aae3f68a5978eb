"""Lines from a TCP connection: JSON objects, or CSV fields in the order of declaration.

    WITH (format = 'socket', host = 'localhost', port = '9999', value = 'csv')

A line that came by a connection cannot be asked for again, so lines go to files first and are read from there; with a
checkpoint these outlive the process, with checksums. A file that is long enough is followed by another, and removed when all of it was read
and counts. The stream ends when the other side closes the connection.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import urllib.parse
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import open_private, private_folder
from cqc.runtime.sinks.output import cannot_write
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.file_trace import Begun
from cqc.runtime.sources.long_lines import LONGEST_LINE
from cqc.runtime.sources.spool_sums import SpoolSums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.range import Range

_PATIENCE_S = 10.0
_AT_ONCE = 65_536
FILE_BYTES = 16 * 1024 * 1024


class SocketFeed:
    """Receives in a thread of its own; the ranges are those of the file.

    Raises:
        RunError: when nobody listens.
    """

    def __init__(
        self, name: str, relation: Relation, spool: Path | None, *, done: Mapping[str, Place]
    ) -> None:
        self.name = name
        self.ended = False
        self._connection = _connect(relation)
        is_csv = relation.options.get("value", "json").lower() == "csv"
        self._temporary = Path(tempfile.mkdtemp(prefix="cqc-socket-")) if spool is None else None
        folder = self._temporary or spool or Path()
        private_folder(folder)  # one for all sockets of the program
        self._folder = private_folder(folder / urllib.parse.quote(name, safe=""))
        self._extension = "csv" if is_csv else "jsonl"
        names = ",".join(f'"{column.name}"' for column in relation.columns)
        self._header = f"{names}\n".encode() if is_csv else b""
        in_file = replace(relation, options={})  # what the files are, their names say
        self._lines = FileFeed(name, in_file, self._folder, follow=True, done=done)
        self._failure: OSError | None = None
        self._sums = SpoolSums(self._folder)
        try:
            self._check_files(done)
        except BaseException:
            self._connection.close()
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
        if found is None and self._failure is not None:
            raise cannot_write(self._folder, self._failure)
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
        with suppress(OSError):  # the other side may have gone before
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._receiver.join(_PATIENCE_S)
        self._lines.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.iterdir())

    def _receive(self) -> None:
        # A line that has not ended. Of one that is too long only so much is kept that whoever reads it can tell.
        rest = bytearray()
        try:
            while data := _received(self._connection):
                whole, line_end, begun = data.rpartition(b"\n")
                if line_end:
                    self._keep(bytes(rest) + whole + line_end)
                    rest.clear()
                rest += begun[: LONGEST_LINE + 1 - len(rest)]
            if rest:
                self._keep(bytes(rest) + b"\n")
        except OSError as error:  # `take` tells it
            self._failure = error

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

    def _keep(self, lines: bytes) -> None:
        """Add whole lines to the last file, or to a new one after it."""
        if not lines:
            return
        files = self._files()
        last = files[-1] if files else None
        if last is None or last.stat().st_size >= FILE_BYTES:
            number = 0 if last is None else int(last.stem) + 1
            last = self._folder / f"{number:012d}.{self._extension}"
            lines = self._header + lines
        rest = memoryview(lines)
        with open_private(last, "ab") as file:
            while rest:  # a disk that is nearly full takes less than it is given
                rest = rest[file.write(rest) :]
            end = file.tell()
        self._sums.add(last, end, lines)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_AT_ONCE)
    except OSError:  # closed, by us or by the other side
        return b""


def _connect(relation: Relation) -> socket.socket:
    host, port = relation.options.get("host", "localhost"), relation.options.get("port", "")
    if not port.isdigit():
        raise RunError(f"{relation.name} needs WITH (format = 'socket', host = ..., port = ...)")
    try:
        connection = socket.create_connection((host, int(port)), timeout=_PATIENCE_S)
    except OSError as error:
        raise RunError(
            f"cannot read {relation.name} from {host}:{port}: {error.strerror or error}"
        ) from error
    connection.settimeout(None)
    return connection
