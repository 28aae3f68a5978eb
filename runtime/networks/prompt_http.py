"""HTTP connections that must get to the point: whoever begins a request and does not say what it wants is hung up on.

So is whoever does not read its answer. Otherwise a client that sends a byte now and then, or nothing at all, could hold a
connection and what is to be sent on it for ever, and many of them all that there are. When there are too many connections, the one
that has been silent for longest makes room: whoever holds many and says nothing locks nobody out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


_LAST_WORD_S = 2.0
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\n"
    b"connection: close\r\n\r\n"
)


def protocol_with(
    head_seconds: float, unread_seconds: float, connections: int
) -> type[H11Protocol]:
    """The protocol in which requests and answers get on.

    Args:
        head_seconds: how long the head of a request may take.
        unread_seconds: how long nothing of an answer may be read.
        connections: how many there may be at once; whoever comes beyond that is told to try again, unless somebody has not even asked yet.
    """
    held: set[H11Protocol] = set()
    silent: dict[
        H11Protocol, asyncio.BaseTransport
    ] = {}  # whose first request is not there yet, in the order they came

    class PromptProtocol(H11Protocol):
        """uvicorn's own, with a limit for the head of each request and for answers that are not read."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._head_timer: asyncio.TimerHandle | None = None
            self._unread_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(held) >= connections and not self._make_room():
                transport.write(_TOO_MANY)
                transport.close()
                return
            held.add(self)
            silent[self] = transport
            self._watch_head()

        def _make_room(self) -> bool:
            """Hang up on who has been silent for longest, if anybody is."""
            for other, wire in silent.items():
                held.discard(other)
                del silent[other]
                wire.close()
                return True
            return False

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return  # nothing more is heard
            super().data_received(data)
            self._watch_head()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.conn.trailing_data[0]:  # the next request had begun to come already
                self._watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watching()
            self._stop_timing()
            held.discard(self)
            silent.pop(self, None)
            super().connection_lost(exc)

        def shutdown(self) -> None:
            super().shutdown()
            if self.transport.get_extra_info("sslcontext") is not None:
                # TLS is closed by both sides, and who has nothing to ask may never hear of it.
                self.loop.call_later(_LAST_WORD_S, self._hang_up)

        def _hang_up(self) -> None:
            if self.transport.is_closing() and not self.transport.get_write_buffer_size():
                self.transport.abort()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stop_timing()
            self._look_later(None)

        def resume_writing(self) -> None:
            self._stop_timing()
            super().resume_writing()

        def _look_later(self, unsent: int | None) -> None:
            self._unread_timer = self.loop.call_later(unread_seconds, self._look, unsent)

        def _look(self, before: int | None) -> None:
            """Hang up when nothing was read since the last look; who sends events decides itself when to give up."""
            unsent = self.transport.get_write_buffer_size()
            is_stuck = before is not None and unsent >= before
            if is_stuck and (self.transport.is_closing() or self.cycle.response_complete):
                self.transport.abort()  # `close` would wait until everything is read
            else:
                self._look_later(unsent)

        def _stop_timing(self) -> None:
            if self._unread_timer is not None:
                self._unread_timer.cancel()
                self._unread_timer = None

        def _watch_head(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                silent.pop(self, None)
                self._stop_watching()
            elif self._head_timer is None:
                self._head_timer = self.loop.call_later(head_seconds, self.transport.close)

        def _stop_watching(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return PromptProtocol
