"""Who may speak to the service, and how much they may say: checked before anything else looks at a request.

On the loopback interface without a token the Host header must name it, so that a page in somebody's browser cannot reach the
service under a name of its own. Everywhere else a token is needed; it is compared in constant time and never shown.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from cqc.runtime.serve.limits import Limits

TRUSTED = "cqc.trusted"  # in the scope of a request: whether it may be told everything
_OPEN_PATHS = {"/health"}


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine alone."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Gate:
    """Lets a request through to the application, or answers it."""

    def __init__(self, app: ASGIApp, *, token: str | None, limits: Limits) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._body_bytes = limits.body_bytes
        self._body_seconds = limits.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        scope[TRUSTED] = self._may_know(headers)
        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        await self._app(scope, self._within_limit(receive), send)

    def _may_know(self, headers: dict[bytes, bytes]) -> bool:
        if self._token is None:
            return is_loopback(_host_name(headers.get(b"host", b"")))
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)

    def _refused(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if not scope[TRUSTED]:
            if self._token is None:
                return 403, "this service answers to localhost only"
            if scope["path"] not in _OPEN_PATHS:
                return 401, "a token is needed: Authorization: Bearer ..."
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:19]) > self._body_bytes:
            return 413, self._too_large()
        return None

    def _within_limit(self, receive: Receive) -> Receive:
        """The same body, until it is larger than it may be or takes longer."""
        read = 0
        give_up = asyncio.get_running_loop().time() + self._body_seconds
        is_whole = False

        async def counted() -> Message:
            nonlocal read, is_whole
            if is_whole:
                return await receive()  # only the end of the connection is left to hear of
            try:
                async with asyncio.timeout_at(give_up):
                    message = await receive()
            except TimeoutError as error:
                slow = f"the body did not come within {self._body_seconds:g} seconds"
                raise HTTPException(408, slow, {"connection": "close"}) from error
            is_whole = not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > self._body_bytes:
                raise HTTPException(413, self._too_large(), {"connection": "close"})
            return message

        return counted

    def _too_large(self) -> str:
        return f"the body is larger than {self._body_bytes:,} bytes"


def _host_name(header: bytes) -> str:
    text = header.decode("latin-1").strip()
    if text.startswith("["):
        return text.partition("]")[0].lstrip("[")
    return text.partition(":")[0]


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message, "diagnostics": []}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
