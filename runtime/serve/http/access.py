"""Who may speak to the service, and how much they may say: checked before anything else looks at a request.

First comes the guard against pages in somebody's browser (`pages`), then the token, where there are any.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cqc.runtime.networks.pages import PageGuard, header_of
from cqc.runtime.serve.console import CONSOLE
from cqc.runtime.serve.http.bodies import FORM, SAY_JSON
from cqc.runtime.serve.http.request_body import RequestBody
from cqc.runtime.serve.http.tokens import ANYBODY, Caller, Role, TokenBook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from cqc.runtime.networks.pages import Headers
    from cqc.runtime.serve.http.tokens import Tokens
    from cqc.runtime.serve.limits import Limits

CALLER = "cqc.caller"  # in the scope of a request: whose it is; not there for somebody unknown
ROWS_PATH = "/streams/"
_OPEN_PATHS = {"/health", *CONSOLE.paths}
# They change nothing, so whoever may look may ask for them.
_LOOKING_PATHS = {"/check", "/preview"}
_READING = {"GET", "HEAD"}
_SHOWN = 100  # characters of a header that is told back
Refused = tuple[int, str]


class Gate:
    """Lets a request through to the application, or answers it.

    Args:
        app: what is behind it.
        tokens: who may speak; without any, whoever reaches the service under a name of this machine alone.
        limits: of bodies.
        hosts: names under which the service is reached, beside those of this machine alone. With tokens any address
            in numbers is fine as well, since nobody can make that point elsewhere.
    """

    def __init__(
        self, app: ASGIApp, *, tokens: Tokens, limits: Limits, hosts: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._book = TokenBook(tokens)
        self._limits = limits
        self._pages = PageGuard(
            hosts, takes_addresses=bool(self._book), hint="start it with --allow-host {host}"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing else is spoken here
        headers: Headers = scope["headers"]
        caller = (
            self._book.caller_of(header_of(headers, b"authorization")) if self._book else ANYBODY
        )
        unsafe = self._pages.refusal(headers, is_page=_is_page(scope))
        refused = self._not_allowed(scope, caller) if unsafe is None else (403, unsafe)
        if refused is not None:
            await _answer(send, *refused)
            return
        if caller is not None:
            scope[CALLER] = caller
        body = RequestBody(receive, self._most_bytes(scope), self._limits.body_seconds)
        wrong = _wrong_body(scope, headers, body)
        if wrong is not None:
            await _answer(body.sender(send), *wrong)
        else:
            await self._app(scope, body.receive, body.sender(send))

    def _not_allowed(self, scope: Scope, caller: Caller | None) -> Refused | None:
        path = scope["path"]
        if caller is None:
            if path in _OPEN_PATHS:
                return None
            return 401, "a token is needed: Authorization: Bearer ..."
        asks = (
            scope["method"] == "POST" and path.startswith("/queries/") and path.endswith("/invoke")
        )
        tries = scope["method"] == "POST" and path in _LOOKING_PATHS
        only_reads = asks or tries or scope["method"] in _READING
        if caller.role < Role.USER and not only_reads:
            return 403, "this token may only look: it cannot register, remove or push"
        return None

    def _most_bytes(self, scope: Scope) -> int:
        """How large the body may be; without rows in it there is no reason to be long."""
        if scope["path"].startswith(ROWS_PATH):
            return self._limits.body_bytes
        return min(self._limits.plain_bytes, self._limits.body_bytes)


def _is_page(scope: Scope) -> bool:
    return scope["method"] in _READING and scope["path"] in CONSOLE.paths


def _wrong_body(scope: Scope, headers: Headers, body: RequestBody) -> Refused | None:
    length = header_of(headers, b"content-length")
    if length.isdigit() and int(length[:19]) > body.most:
        return 413, body.too_large()
    method, path = scope["method"], scope["path"]
    is_query = method == "POST" and path in {"/queries", *_LOOKING_PATHS}
    if is_query or (method == "PUT" and path.startswith("/queries/")):
        return _not_json(header_of(headers, b"content-type").decode("latin-1"))
    return None


def _not_json(content_type: str) -> Refused | None:
    """Which kinds a framework takes for JSON differs by its version; and a page may send some kinds without being asked."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return None
    more = f"; {SAY_JSON}" if kind in ("", FORM) else ""
    return 415, f"a query comes as application/json, not {kind[:_SHOWN]!a}{more}"


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message, "diagnostics": []}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (401, 403):  # nothing more is read of somebody who may not speak here
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
