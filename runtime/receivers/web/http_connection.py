"""A connection to a web server that is kept: a request goes out in one write, and of the answer no more is read than a sender needs.

The standard library's client makes an e-mail message of each answer's header lines, which takes most of the time of a short request.

    POST /in HTTP/1.1 ...          HTTP/1.1 204 No Content        Answer(204, 'No Content', {...})
"""

from __future__ import annotations

import socket
from string import hexdigits
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

_LONGEST_LINE = 1 << 16
_MOST_LINES = 200  # of one head
_PIECE = 1 << 16
_LONGEST_BODY = 1 << 20  # a longer one is not waited for: the connection is given up instead
_HEXADECIMAL = frozenset(hexdigits)
_NO_BODY = frozenset({204, 304})
_CONTINUE, _FIRST_FINAL, _SWITCHING = 100, 200, 101


class Answer(NamedTuple):
    """What a server said; names of headers in small letters."""

    status: int
    reason: str
    headers: Mapping[str, str]


class BadAnswerError(Exception):
    """What came is no answer of HTTP."""


class HttpConnection:
    """One connection; whoever gets an error from it closes it.

    Raises:
        OSError: when nobody is there, or no answer comes in time.
    """

    def __init__(self, host: str, port: int, timeout_s: float, tls: ssl.SSLContext | None) -> None:
        plain = socket.create_connection((host, port), timeout_s)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        self._in = self._socket.makefile("rb")
        self.is_kept = True  # whether it takes another request

    def ask(self, request: bytes) -> Answer:
        """Send a request, and read the whole answer.

        Raises:
            OSError: when the connection breaks, or no answer comes in time.
            BadAnswerError: when what comes cannot be understood.
        """
        self._socket.sendall(request)
        while True:
            version, status, reason = self._status()
            headers = self._headers()
            if not _CONTINUE <= status < _FIRST_FINAL or status == _SWITCHING:
                break
        wishes = headers.get("connection", "").lower()
        self.is_kept = "close" not in wishes and (version != "HTTP/1.0" or "keep-alive" in wishes)
        self._skip_body(status, headers)
        return Answer(status, reason, headers)

    def close(self) -> None:
        self._in.close()
        self._socket.close()

    def _line(self) -> str:
        line = self._in.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            raise BadAnswerError("a line of the answer is too long")
        if not line.endswith(b"\n"):
            raise BadAnswerError("the connection was closed without an answer")
        return line.decode("latin-1").rstrip("\r\n")

    def _status(self) -> tuple[str, int, str]:
        line = self._line()
        version, _, rest = line.partition(" ")
        number, _, reason = rest.strip().partition(" ")
        if not version.startswith("HTTP/1.") or not (number.isascii() and number.isdigit()):
            raise BadAnswerError(f"'{line[:80]}' is no answer of HTTP")
        return version, int(number), reason.strip()

    def _headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for _ in range(_MOST_LINES):
            line = self._line()
            if not line:
                return found
            name, _, value = line.partition(":")
            found[name.strip().lower()] = value.strip()
        raise BadAnswerError("the answer has too many headers")

    def _skip_body(self, status: int, headers: Mapping[str, str]) -> None:
        if status in _NO_BODY or status == _SWITCHING:
            self.is_kept = self.is_kept and status != _SWITCHING
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            left = _LONGEST_BODY
            while size := self._chunk_size():
                left -= size
                if left < 0:
                    self.is_kept = False
                    return
                self._skip(size)
                self._line()
            self._headers()
        elif "content-length" in headers:
            length = headers["content-length"]
            if not (length.isascii() and length.isdigit()):
                raise BadAnswerError(f"'{length[:80]}' is no Content-Length")
            if int(length) > _LONGEST_BODY:
                self.is_kept = False
            else:
                self._skip(int(length))
        else:  # it goes on until the server closes, and says nothing that matters
            self.is_kept = False

    def _chunk_size(self) -> int:
        text = self._line().partition(";")[0].strip()
        if not text or not set(text) <= _HEXADECIMAL:
            raise BadAnswerError(f"'{text[:80]}' is no size of a chunk")
        return int(text, 16)

    def _skip(self, size: int) -> None:
        while size:
            piece = self._in.read(min(size, _PIECE))
            if not piece:
                raise BadAnswerError("the connection was closed within an answer")
            size -= len(piece)
