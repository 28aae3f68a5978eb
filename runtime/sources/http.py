"""Rows that clients send by HTTP, as they send them to the service.

    WITH (format = 'http', port = 8080, token = ENV('ROWS_TOKEN'))

    curl http://127.0.0.1:8080/streams/readings -H 'content-type: application/json' -d '[{"ts": 1, "x": 2}]'

A body is JSON (an object, or an array of objects), JSON lines, or CSV with a header. It is answered when its rows are kept (`spooled`),
with how many there are and why some will be rejected; a body that is broken as a whole is refused. The stream has no end.
"""

from __future__ import annotations

import asyncio
import hmac
import io
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
from cqc.runtime.receivers.secret_values import revealed
from cqc.runtime.sources.formats.csv import read_csv
from cqc.runtime.sources.formats.csv_form import CsvForm
from cqc.runtime.sources.formats.jsonl import JsonLinesReader
from cqc.runtime.sources.spooled import Piece, SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier

MOST_BYTES = 64 * 1024 * 1024
_MOST_CONNECTIONS = 256
_PATIENCE_S = 30.0
_LOOK_S = 0.2
_JSON_SPACE = b" \t\r\n"
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


class BadBodyError(Exception):
    """A body that is not what it says it is."""


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
        except ImportError as error:
            raise RunError(
                f"{relation.name} is sent by HTTP, which needs `pip install 'cqc[serve]'`"
            ) from error
        self._came: queue.Queue[tuple[Piece, asyncio.Future[None], asyncio.AbstractEventLoop]] = (
            queue.Queue()
        )
        self._closed = threading.Event()
        listener = _listener(relation.name, host, int(port))
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._serve,
                interface="asgi3",
                ws="none",
                http="h11",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                limit_concurrency=_MOST_CONNECTIONS,
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
        except (BadBodyError, RunError) as error:
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
        if kind not in _READERS:
            known = ", ".join(_READERS)
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {
                "error": f"rows come as one of {known}, not {kind!r}"
            }
        body = bytearray()
        while True:
            message = await asyncio.wait_for(receive(), _PATIENCE_S)
            if message["type"] == "http.disconnect":
                raise BadBodyError("the body did not come whole")
            body += message.get("body", b"")
            if len(body) > MOST_BYTES:
                text = f"the body is larger than {MOST_BYTES:,} bytes; send it in parts"
                return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": text}
            if not message.get("more_body", False):
                break
        piece, answer = await asyncio.to_thread(self._read, kind, bytes(body))
        if piece.rows and not await self._is_kept(piece):
            return HTTPStatus.SERVICE_UNAVAILABLE, {
                "error": "the rows were not kept; send them again"
            }
        return HTTPStatus.OK, answer

    def _refusal(self, scope: dict[str, Any]) -> Answer | None:
        """Why a request is not even read."""
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
        piece, batches = _READERS[kind](self._relation, body)
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


def _json_array(relation: Relation, body: bytes) -> tuple[Piece, list[TypedBatch]]:
    """One object, or an array of them: a line each, as it was written."""
    try:
        text = body.decode("utf-8")
        decoder = json.JSONDecoder()
        at = _after_space(text, 0)
        if not text.startswith("[", at):
            lines = [_element(decoder, text, at)]
            at = lines[0][1]
        else:
            lines = []
            at = _after_space(text, at + 1)
            while not text.startswith("]", at):
                lines.append(_element(decoder, text, at))
                at = _after_space(text, lines[-1][1])
                if text.startswith(",", at):
                    at = _after_space(text, at + 1)
                    if text.startswith("]", at):
                        raise ValueError("a comma before the end of the array")
                elif not text.startswith("]", at):
                    raise ValueError(f"a comma is missing at character {at}")
            at += 1
        if _after_space(text, at) < len(text):
            raise ValueError(f"there is more after its end, at character {at}")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadBodyError(f"the body is not JSON: {reason}") from error
    rows = "".join(line + "\n" for line, _ in lines).encode()
    return Piece(rows), [JsonLinesReader(relation).read(rows)] if rows else []


def _element(decoder: json.JSONDecoder, text: str, at: int) -> tuple[str, int]:
    """A value as it is written, on one line, and where it ends."""
    value, end = decoder.raw_decode(text, at)
    if not isinstance(value, dict):
        raise BadBodyError("the body must be an array of objects, one for each row")
    return text[at:end].replace("\n", " ").replace("\r", " "), end


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _json_lines(relation: Relation, body: bytes) -> tuple[Piece, list[TypedBatch]]:
    lines = body.replace(b"\r\n", b"\n").rstrip(b"\n")
    rows = lines + b"\n" if lines.strip(_JSON_SPACE) else b""
    return Piece(rows), [JsonLinesReader(relation).read(rows)] if rows else []


def _csv(relation: Relation, body: bytes) -> tuple[Piece, list[TypedBatch]]:
    lines = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    header, _, rows = lines.partition(b"\n")
    if rows and not rows.endswith(b"\n"):
        rows += b"\n"
    if rows.count(CsvForm.of(relation.options).dialect.quote.encode()) % 2:
        raise BadBodyError(
            "the body is not CSV: a quote is not closed"
        )  # what comes after it would be inside
    found = list(read_csv(relation, io.BytesIO(header + b"\n" + rows), "the body"))
    return Piece(rows, "csv", header + b"\n"), found


_READERS: dict[str, Callable[[Relation, bytes], tuple[Piece, list[TypedBatch]]]] = {
    "application/json": _json_array,
    "application/x-ndjson": _json_lines,
    "application/jsonl": _json_lines,
    "text/csv": _csv,
}
