"""Rows that clients send by HTTP, as they send them to the service.

    WITH (format = 'http', port = 8080, token = ENV('ROWS_TOKEN'))

    curl http://127.0.0.1:8080/streams/readings -H 'content-type: application/json' -d '[{"ts": 1, "x": 2}]'

A body is JSON (an object, or an array of objects), JSON lines, or CSV with a header. It is answered when its rows are kept (`spooled`),
with how many there are and why some will be rejected; a body that is broken as a whole is refused. The stream has no end.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import queue
import socket
import threading
import urllib.parse
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.networks.hosts import is_loopback
from cqc.runtime.networks.pages import PageGuard
from cqc.runtime.receivers.secret_values import revealed
from cqc.runtime.sources.http_rows import READERS, BadBodyError
from cqc.runtime.sources.spooled import SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier, Piece

MOST_BYTES = 64 * 1024 * 1024
MOST_WAITING_BYTES = 256 * 1024 * 1024  # of bodies that are received, read, or wait to be kept
MOST_CONNECTIONS = 256
HEAD_S = 30.0  # until the head of a request is there
BODY_S = 120.0  # until its body is
_UNREAD_S = 10.0  # that nothing of an answer may be read
_PATIENCE_S = 30.0
_LOOK_S = 0.2
Answer = tuple[HTTPStatus, dict[str, Any]]


class HttpFeed(SpooledFeed):
    """The feed of a stream whose rows clients send.

    Raises:
        RunError: when the address cannot be listened on.
    """

    def __init__(
        self, name: str, relation: Relation, spool: Path | None, *, done: Mapping[str, Place]
    ) -> None:
        super().__init__(name, relation, HttpBodies(relation), spool, done=done)


class HttpBodies:
    """Listens, and brings the rows of bodies.

    Raises:
        RunError: when the address cannot be listened on.
    """

    answers = True

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        options = revealed(relation.options, relation.folder)
        host, port = options.get("host", "127.0.0.1"), options.get("port", "")
        self._token = options.get("token")
        if not port.isdigit():
            raise RunError(f"{relation.name} needs WITH (format = 'http', port = ...)")
        if self._token is None and not is_loopback(host):
            raise RunError(
                f"{relation.name} would take rows from anybody who can reach {host}: add `token = ENV('NAME')`"
            )
        try:
            import uvicorn

            from cqc.runtime.networks.prompt_http import protocol_with
        except ImportError as error:
            raise RunError(
                f"{relation.name} is sent by HTTP, which needs `pip install 'cqc[serve]'`"
            ) from error
        self._came: queue.Queue[tuple[Piece, asyncio.Future[None], asyncio.AbstractEventLoop]] = (
            queue.Queue()
        )
        self._closed = threading.Event()
        self._waiting_bytes = 0
        # Whoever shows the token is no page; without one only programs of this machine may speak.
        self._pages = (
            None
            if self._token is not None
            else PageGuard(takes_addresses=False, hint="add `token = ENV('NAME')` to the stream")
        )
        listener = _listener(relation.name, host, int(port))
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._serve,
                interface="asgi3",
                ws="none",
                http=protocol_with(HEAD_S, _UNREAD_S, MOST_CONNECTIONS),
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._listening = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, daemon=True
        )
        self._listening.start()

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """The rows of each body; it is answered when they are kept."""
        del earlier  # clients send once
        try:
            while not self._closed.is_set():
                try:
                    piece, kept, loop = self._came.get(timeout=_LOOK_S)
                except queue.Empty:
                    continue
                yield piece
                loop.call_soon_threadsafe(_tell, kept)
        finally:
            self.close()

    def close(self) -> None:
        """Listen no longer; whose rows were not kept is told so."""
        self._closed.set()
        self._server.should_exit = True
        if threading.current_thread() is not self._listening:
            self._listening.join(_PATIENCE_S)

    # What the listener's thread does

    async def _serve(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Any],
        send: Callable[[dict[str, Any]], Any],
    ) -> None:
        """Answer a request (ASGI)."""
        try:
            status, answer = await self._answer(scope, receive)
        except BadBodyError as error:
            status, answer = error.status, {"error": str(error)}
        except RunError as error:
            status, answer = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        body = json.dumps(answer, ensure_ascii=False).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if status >= HTTPStatus.BAD_REQUEST:
            headers.append((b"connection", b"close"))  # what is left of a body is not read
        await send({"type": "http.response.start", "status": int(status), "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: dict[str, Any], receive: Callable[[], Any]) -> Answer:
        refused = self._refusal(scope)
        if refused is not None:
            return refused
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if kind not in READERS:
            known = ", ".join(READERS)
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {
                "error": f"rows come as one of {known}, not {kind!r}"
            }
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_S):
                await self._receive(body, receive)
            piece, answer = await asyncio.to_thread(self._read, kind, bytes(body))
            if piece.rows and not await self._is_kept(piece):
                return HTTPStatus.SERVICE_UNAVAILABLE, {
                    "error": "the rows were not kept; send them again"
                }
        except TimeoutError:
            text = f"the body did not come within {BODY_S:g} seconds"
            return HTTPStatus.REQUEST_TIMEOUT, {"error": text}
        finally:
            self._waiting_bytes -= len(body)
        return HTTPStatus.OK, answer

    async def _receive(self, body: bytearray, receive: Callable[[], Any]) -> None:
        """Read a body to its end.

        Raises:
            BadBodyError: when it is too much, alone or with those of others, or does not come whole.
        """
        is_whole = False
        while not is_whole:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadBodyError("the body did not come whole")
            part = message.get("body", b"")
            if len(body) + len(part) > MOST_BYTES:
                text = f"the body is larger than {MOST_BYTES:,} bytes; send it in parts"
                raise BadBodyError(text, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            if self._waiting_bytes + len(part) > MOST_WAITING_BYTES:
                text = "too many rows wait to be kept; try again later"
                raise BadBodyError(text, HTTPStatus.TOO_MANY_REQUESTS)
            body += part
            self._waiting_bytes += len(part)
            is_whole = not message.get("more_body", False)

    def _refusal(self, scope: dict[str, Any]) -> Answer | None:
        """Why a request is not even read."""
        unsafe = None if self._pages is None else self._pages.refusal(scope["headers"])
        if unsafe is not None:
            return HTTPStatus.FORBIDDEN, {"error": unsafe}
        given = dict(scope["headers"]).get(b"authorization", b"")
        shown = b"Bearer " + (self._token or "").encode()
        if self._token is not None and not hmac.compare_digest(given, shown):
            return HTTPStatus.UNAUTHORIZED, {"error": "show the token: Authorization: Bearer TOKEN"}
        name = urllib.parse.unquote(scope["path"]).removeprefix("/streams/").strip("/")
        if name and fold(name) != fold(self._relation.name):
            return HTTPStatus.NOT_FOUND, {
                "error": f"there is no stream {name} here; rows of {self._relation.name} go to /streams/{self._relation.name}"
            }
        if scope["method"] != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED, {"error": "rows are sent by POST"}
        return None

    def _read(self, kind: str, body: bytes) -> tuple[Piece, dict[str, Any]]:
        """The rows of a body, and what is told of them."""
        piece, batches = READERS[kind](self._relation, body)
        read = sum(batch.read for batch in batches)
        reasons = Counter(each.reason for batch in batches for each in batch.rejects)
        rejected = sum(reasons.values())
        return piece, {
            "read": read,
            "accepted": read - rejected,
            "rejected": rejected,
            "reasons": dict(reasons),
        }

    async def _is_kept(self, piece: Piece) -> bool:
        loop = asyncio.get_running_loop()
        kept: Any = loop.create_future()
        self._came.put((piece, kept, loop))
        while not self._closed.is_set():
            done, _ = await asyncio.wait([kept], timeout=_LOOK_S)
            if done:
                return True
        return bool(kept.done())


def _tell(kept: Any) -> None:
    if not kept.done():
        kept.set_result(None)


def _listener(stream: str, host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host.strip("[]"), port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise RunError(
            f"cannot listen for {stream} on {host}:{port}: {error.strerror or error}"
        ) from error
