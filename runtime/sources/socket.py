"""Lines from a TCP connection: JSON objects, or CSV fields in the order of declaration.

    WITH (format = 'socket', host = 'localhost', port = '9999', value = 'csv')

A line that came by a connection cannot be asked for again, so lines go to a file first and are read from there; with a
checkpoint the file outlives the process. The stream ends when the other side closes the connection.
"""

from __future__ import annotations

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
from cqc.runtime.file_feed import FileFeed

if TYPE_CHECKING:
    from cqc.compiler.catalog import Relation
    from cqc.runtime.range import Range

_PATIENCE_S = 10.0
_AT_ONCE = 65_536


class SocketFeed:
    """Receives in a thread of its own; the ranges are those of the file.

    Raises:
        RunError: when nobody listens.
    """

    def __init__(
        self, name: str, relation: Relation, spool: Path | None, *, done: dict[str, int | None]
    ) -> None:
        self.name = name
        self.ended = False
        self._connection = _connect(relation)
        is_csv = relation.options.get("value", "json").lower() == "csv"
        self._temporary = Path(tempfile.mkdtemp(prefix="cqc-socket-")) if spool is None else None
        folder = self._temporary or spool or Path()
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{urllib.parse.quote(name, safe='')}.{'csv' if is_csv else 'jsonl'}"
        if is_csv and not self._file.exists():
            names = ",".join(f'"{column.name}"' for column in relation.columns)
            self._file.write_text(f"{names}\n", encoding="utf-8")
        self._file.touch()
        in_file = replace(relation, options={})  # what the file is, its name says
        self._lines = FileFeed(name, in_file, self._file, follow=True, done=done)
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    @property
    def done(self) -> dict[str, int | None]:
        return self._lines.done

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        closed = not self._receiver.is_alive()
        if closed:
            self._lines.look()
        found = self._lines.take(rows)
        self.ended = found is None and closed
        return found

    def look(self) -> None:
        self._lines.look()

    def close(self) -> None:
        with suppress(OSError):  # the other side may have gone before
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._receiver.join(_PATIENCE_S)
        self._lines.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _receive(self) -> None:
        rest = b""
        with self._file.open("ab", buffering=0) as file:
            while data := _received(self._connection):
                whole, line_end, rest = (rest + data).rpartition(b"\n")
                file.write(whole + line_end)
            if rest:
                file.write(rest + b"\n")


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
