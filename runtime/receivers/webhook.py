"""Results by HTTP: at least once, in order per query, each with an id by which a receiver knows a repeat.

Requests of different queries are under way at the same time, over connections that are kept; those of one query follow each other.
No answer, 5xx, 408, 425 and 429 are tried again; any other answer but a 2xx is final.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from cqc.compiler.meaning.source_formats import seconds_of
from cqc.runtime.errors import RunError
from cqc.runtime.receivers.alert_payloads import slack_line, webhook_payload
from cqc.runtime.receivers.exact_values import exact_value
from cqc.runtime.receivers.receiver import RefusedError, UnreachableError
from cqc.runtime.receivers.templates import Template
from cqc.runtime.receivers.web.http_connection import BadAnswerError, HttpConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cqc.runtime.receivers.receiver import Sent, Setting

_TIMEOUT_S = 10.0
_AGAIN = frozenset({408, 425, 429})
_SAFE = "/?%:@!$&'()*+,;=~-._[]"  # what may be in a path and its query as it is
_AT_ONCE = 16  # requests under way
_ROUND = 64  # requests of a query in one round


class WebhookReceiver:
    """Sends results to one address.

    Raises:
        RunError: when the address or an option cannot be.
    """

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self._batch = int(options.get("batch", "1"))
        self.at_once = max(self._batch, 1) * _AT_ONCE * (_ROUND if self._batch == 1 else 1)
        self._make_body = _body_maker(
            options.get("template"),
            options.get("format", "json").lower(),
            setting.sink,
            is_batched=self._batch > 1,
        )
        self._is_json = self._make_body.is_json
        self._requests = Requests(options)
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=f"sink {setting.sink}")

    def send(self, results: Sequence[Sent]) -> None:
        of_query: dict[str, list[Sent]] = {}
        for each in results:
            of_query.setdefault(each.query, []).append(each)
        taken: set[int] = set()
        under_way = [self._pool.submit(self._send_query, own, taken) for own in of_query.values()]
        errors = [error for each in under_way if (error := each.exception()) is not None]
        again = [error for error in errors if isinstance(error, UnreachableError)]
        final = [error for error in errors if isinstance(error, RefusedError)]
        for error in errors:
            if not isinstance(error, UnreachableError | RefusedError):
                raise error
        if final:  # the others are tried again with what is left
            raise RefusedError(str(final[0]), final[0].status, final[0].refused, taken)
        if again:
            longest = max(again, key=lambda error: error.after_s or 0.0)
            tried = [number for error in again for number in error.tried or ()]
            raise UnreachableError(
                str(longest), longest.after_s, taken, status=longest.status, tried=tried
            )

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._requests.close()

    def _send_query(self, results: Sequence[Sent], taken: set[int]) -> None:
        for at in range(0, len(results), self._batch):
            some = results[at : at + self._batch]
            numbers = [each.number for each in some]
            try:
                self._requests.post(self._make_body(some), _key(some), is_json=self._is_json)
            except RefusedError as error:
                raise RefusedError(str(error), error.status, numbers) from error
            except UnreachableError as error:
                raise UnreachableError(
                    str(error), error.after_s, status=error.status, tried=numbers
                ) from error
            taken.update(numbers)


def _key(results: Sequence[Sent]) -> str:
    if len(results) == 1:
        return results[0].id
    return hashlib.sha256("".join(each.id for each in results).encode()).hexdigest()[:32]


class _Body:
    """Makes the body of a request."""

    def __init__(self, make: Callable[[Sequence[Sent]], str], *, is_json: bool) -> None:
        self._make = make
        self.is_json = is_json

    def __call__(self, results: Sequence[Sent]) -> bytes:
        return self._make(results).encode()


def _body_maker(template: str | None, format_: str, sink: str, *, is_batched: bool) -> _Body:
    if template is not None:
        filled = Template(template)

        def make(results: Sequence[Sent]) -> str:
            return "\n".join(_fill(filled, each) for each in results)

        return _Body(make, is_json=filled.is_json)
    if format_ == "slack":
        return _Body(_slack, is_json=True)
    if format_ == "alertmanager":
        return _Body(
            lambda results: webhook_payload([each.value() for each in results], sink), is_json=True
        )
    return _Body(_array if is_batched else _line, is_json=True)


def _line(results: Sequence[Sent]) -> str:
    return results[0].line


def _array(results: Sequence[Sent]) -> str:
    """An array, also of one: whoever takes batches takes arrays."""
    return f"[{', '.join(each.line for each in results)}]"


def _fill(template: Template, result: Sent) -> str:
    value = exact_value(result)
    known = {"id": result.id, "query": result.query, "ts": value.get("ts"), "at": value.get("at")}
    known |= value.get("alert") or {}
    try:
        return template.fill({**known, **value["row"]})
    except KeyError as error:
        raise RefusedError(f"query {result.query} has no column {error.args[0]}") from error


def _slack(results: Sequence[Sent]) -> str:
    lines = [slack_line(each.value()) for each in results]
    return json.dumps({"text": "\n".join(lines)}, ensure_ascii=False)


class Requests:
    """Connections to one address, as many as there are threads at work."""

    def __init__(self, options: Mapping[str, str]) -> None:
        parts = urlsplit(options["url"])
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RunError("url must begin with http:// or https:// and name a host")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._host = parts.hostname
        self._port = parts.port or (80 if self._tls is None else 443)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        method = options.get("method", "post").upper()
        first = f"{method} {quote(path, safe=_SAFE)} HTTP/1.1"
        self._timeout_s = seconds_of(options.get("timeout", "")) or _TIMEOUT_S
        headers = {"Host": parts.netloc.rpartition("@")[2], "Accept-Encoding": "identity"}
        headers |= _headers(options.get("headers", ""))
        if "token" in options:
            headers["Authorization"] = f"Bearer {options['token']}"
        self._heads = {is_json: _head(first, headers, is_json=is_json) for is_json in (True, False)}
        self._hmac = options.get("hmac")
        self._free: list[HttpConnection] = []

    def post(self, body: bytes, key: str, *, is_json: bool) -> None:
        """Send one request and look at the answer.

        Raises:
            UnreachableError: when it may be tried again later.
            RefusedError: when this request will never be taken.
        """
        more = f"Idempotency-Key: {key}\r\n"
        if self._hmac is not None:
            signature = hmac.new(self._hmac.encode(), body, hashlib.sha256).hexdigest()
            more += f"X-Cqc-Signature: sha256={signature}\r\n"
        more += f"Content-Length: {len(body)}\r\n\r\n"
        connection = self._free.pop() if self._free else self._connect()
        try:
            answer = connection.ask(b"".join((self._heads[is_json], more.encode(), body)))
        except (OSError, BadAnswerError) as error:
            connection.close()
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"{self._host} does not answer ({reason})") from error
        if connection.is_kept:
            self._free.append(connection)
        else:
            connection.close()
        status = answer.status
        if 200 <= status < 300:
            return
        reason = f"{self._host} answered {status} {answer.reason}".rstrip()
        if status >= 500 or status in _AGAIN:
            after_s = _retry_after(answer.headers.get("retry-after"))
            raise UnreachableError(reason, after_s, status=status)
        raise RefusedError(reason, status)

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def _connect(self) -> HttpConnection:
        try:
            return HttpConnection(self._host, self._port, self._timeout_s, self._tls)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UnreachableError(f"{self._host} cannot be reached ({reason})") from error


def _head(first: str, headers: Mapping[str, str], *, is_json: bool) -> bytes:
    """What the heads of all requests begin with; a header that users give replaces ours."""
    kind = "application/json" if is_json else "text/plain; charset=utf-8"
    named = {"content-type": ("Content-Type", kind)}
    named |= {name.lower(): (name, value) for name, value in headers.items()}
    for ours in ("content-length", "idempotency-key"):
        named.pop(ours, None)
    lines = [first, *(f"{name}: {value}" for name, value in named.values())]
    if not all(line.isprintable() for line in lines):
        raise RunError("headers cannot have line breaks and other control characters")
    try:
        return ("\r\n".join(lines) + "\r\n").encode("latin-1")
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise RunError(f"headers cannot have '{character}', which HTTP does not know") from error


def _headers(text: str) -> dict[str, str]:
    """`X-Team: blue; X-Env: prod`, or a JSON object."""
    if text.lstrip().startswith("{"):
        try:
            return {str(name): str(value) for name, value in json.loads(text).items()}
        except ValueError as error:
            raise RunError(f"headers is not a JSON object: {error}") from error
    found = {}
    for part in filter(None, (each.strip() for each in text.replace("\n", ";").split(";"))):
        name, colon, value = part.partition(":")
        if not colon or not name.strip():
            raise RunError(f"headers has no colon in '{part}': write 'Name: value; Name: value'")
        found[name.strip()] = value.strip()
    return found


def _retry_after(text: str | None) -> float | None:
    """Seconds, from a number or a date."""
    if text is None:
        return None
    try:
        return max(float(text), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(text).timestamp() - time(), 0.0)
    except ValueError:
        return None
