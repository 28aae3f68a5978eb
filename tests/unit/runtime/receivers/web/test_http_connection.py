"""Answers of web servers, as they come over a connection that is kept."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.receivers.web.http_connection import BadAnswerError, HttpConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

_LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Server:
    """Answers what it is told, request after request, over one connection."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with connection, suppress(OSError):  # the client may leave before it has read everything
            while self.answers and connection.recv(1 << 16):
                answer = self.answers.pop(0)
                for at in range(0, len(answer), 7):  # in pieces, as networks have it
                    connection.sendall(answer[at : at + 7])

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def connection_to(server: Server) -> HttpConnection:
    return HttpConnection("127.0.0.1", server.port, 5.0, None)


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "OK"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, "No Content"),
        (b"HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", 503, ""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nx", 201, "Created"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\n", 200, "OK"),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}", 200, "OK"),
    ],
)  # fmt: skip
def test_the_next_request_goes_over_the_same_connection(
    answer: bytes, status: int, reason: str, server: Server
) -> None:
    server.answers = [answer, _LAST]
    connection = connection_to(server)
    told = connection.ask(b"POST / HTTP/1.1\r\n\r\n")
    assert (told.status, told.reason, connection.is_kept) == (status, reason, True)
    assert connection.ask(b"POST / HTTP/1.1\r\n\r\n").status == 200
    connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nand so on",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\nand so on",
    ],
)
def test_a_connection_that_ends_is_not_kept(answer: bytes, server: Server) -> None:
    server.answers = [answer]
    connection = connection_to(server)
    assert connection.ask(b"POST / HTTP/1.1\r\n\r\n").status == 200
    assert not connection.is_kept
    connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 20x OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: -9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + 300 * b"X: y\r\n",
        b"HTTP/1.1 200 " + (1 << 17) * b"x",
    ],
)
def test_what_is_no_answer_is_an_error(answer: bytes, server: Server) -> None:
    server.answers = [answer]
    connection = connection_to(server)
    with pytest.raises((BadAnswerError, OSError)):
        connection.ask(b"POST / HTTP/1.1\r\n\r\n")
    connection.close()


def test_the_headers_of_an_answer_are_found_in_small_letters(server: Server) -> None:
    server.answers = [b"HTTP/1.1 429 Slow\r\nRetry-After:  7 \r\nContent-Length: 0\r\n\r\n"]
    connection = connection_to(server)
    assert connection.ask(b"POST / HTTP/1.1\r\n\r\n").headers["retry-after"] == "7"
    connection.close()


def test_who_says_nothing_in_time_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = HttpConnection("127.0.0.1", silent.getsockname()[1], 0.1, None)
        with pytest.raises(TimeoutError):
            connection.ask(b"POST / HTTP/1.1\r\n\r\n")
        connection.close()
