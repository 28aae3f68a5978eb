"""While a service starts, and reads its checkpoint if it has one: how far it is, for whoever looks at standard error or asks `/health`.

The listener is there from the beginning, but nothing behind it yet. Until the service itself takes over, a thread answers each
connection by one sentence: `/health` says `recovering` and the share that is read, everything else is 503, to be tried again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

_LOOK_S = 0.05
_PATIENCE_S = 1.0  # for the head of a request
_MOST_HEAD = 65_536
_FIRST_WORD_S, _NEXT_WORD_S = 3.0, 5.0


class Recovering:
    """While it is entered, connections are answered and progress is told.

    Args:
        listener: where clients connect.
        say: told now and then how far it is.
        clock: seconds that only go up.
    """

    def __init__(
        self,
        listener: socket.socket,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listener = listener
        self._say = say
        self._clock = clock
        self._say_at = clock() + _FIRST_WORD_S
        self._done = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._answer_all, name="cqc-recovering", daemon=True)

    def __enter__(self) -> Self:
        self._listener.settimeout(_LOOK_S)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._listener.settimeout(None)

    def progress(self, done: float) -> None:
        """So much of the checkpoint is read, from 0 to 1."""
        self._done = done
        if self._clock() >= self._say_at:
            self._say_at = self._clock() + _NEXT_WORD_S
            self._say(f"recovering: {done:.0%} of the checkpoint is read")

    def _what(self) -> str:
        """What it does now: not every service has a checkpoint, and before one is open nobody knows how much is in it."""
        return f"reads its checkpoint ({self._done:.0%})" if self._done else "is starting"

    def _answer_all(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # nobody came
                continue
            with connection, contextlib.suppress(OSError):
                connection.settimeout(_PATIENCE_S)
                connection.sendall(self._answer(_head_of(connection)))

    def _answer(self, head: bytes) -> bytes:
        asked = ([*head.split(b" ", 2), b"", b""])[1]
        if asked.split(b"?")[0] == b"/health":
            status, content = "200 OK", {
                "status": "recovering", "recovered": round(self._done, 3), "busy": None, "engine": "",
                "caught_up": False, "queries": 0, "tuples": 0, "problems": [],
            }  # fmt: skip
        else:
            status = "503 Service Unavailable"
            content = {
                "error": f"the service {self._what()}; try again later",
                "diagnostics": [],
            }
        body = json.dumps(content).encode()
        lines = (
            f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}",
            "retry-after: 1", "connection: close",
        )  # fmt: skip
        return "\r\n".join((*lines, "", "")).encode() + body


def _head_of(connection: socket.socket) -> bytes:
    """What a client asks for, without its body."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MOST_HEAD:
        more = connection.recv(_MOST_HEAD)
        if not more:
            break
        head += more
    return head
