"""Lines from a TCP connection: JSON objects, or CSV fields in the order of declaration.

    WITH (format = 'socket', host = 'localhost', port = '9999', value = 'csv')

A line that came by a connection cannot be asked for again, so lines are spooled (`spooled`). The stream ends when the other side closes
the connection.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sources.formats.long_lines import LONGEST_LINE
from cqc.runtime.sources.line_form import LineForm
from cqc.runtime.sources.spooled import SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier, Piece

_PATIENCE_S = 10.0
_AT_ONCE = 65_536


class SocketFeed(SpooledFeed):
    """The feed of a stream that comes by a connection.

    Raises:
        RunError: when nobody listens.
    """

    def __init__(
        self, name: str, relation: Relation, spool: Path | None, *, done: Mapping[str, Place]
    ) -> None:
        super().__init__(name, relation, SocketLines(relation), spool, done=done)


class SocketLines:
    """Lines as they come by a connection.

    Raises:
        RunError: when nobody listens.
    """

    answers = False

    def __init__(self, relation: Relation) -> None:
        self._connection = _connect(relation)
        self._form = LineForm(relation)

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """Whole lines, until the other side closes the connection."""
        del earlier  # nobody on the other side asks
        # A line that has not ended. Of one that is too long only so much is kept that whoever reads it can tell.
        rest = bytearray()
        while data := _received(self._connection):
            whole, line_end, begun = data.rpartition(b"\n")
            if line_end:
                yield self._form.piece(bytes(rest) + whole + line_end)
                rest.clear()
            rest += begun[: LONGEST_LINE + 1 - len(rest)]
        if rest:
            yield self._form.piece(bytes(rest) + b"\n")

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):  # the other side may have gone before
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


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
