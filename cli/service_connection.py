"""One client's connection to a service: JSON requests and server-sent events, with Python's own library."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cqc.compiler.diagnostics.diagnostic import Diagnostic, Severity, render_text
from cqc.compiler.diagnostics.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE = "place"  # an event that only says where in the results the watcher is
_TIMEOUT_S = 60.0  # the service sends something every 15 seconds, also when nothing happens


class ServiceError(click.ClickException):
    """The service refused or could not be reached; exit code 3, or 1 for a query with errors."""

    def __init__(self, message: str, *, may_pass: bool = False, exit_code: int = 3) -> None:
        super().__init__(message)
        self.may_pass = may_pass
        self.exit_code = exit_code  # type: ignore[misc]  # click has one a class; the server's answer decides here

    def show(self, file: Any = None) -> None:
        """As all messages of the command look."""
        click.echo(
            self.message if self.exit_code == 1 else f"error: {self.message}", err=True, file=file
        )


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    id: str | None
    kind: str
    data: str


class Connection:
    """Speaks to a service.

    Args:
        address: where it is.
        token: shown with every request.
        authority: a file with the certificates that are trusted; those of the system by default.

    Raises:
        click.UsageError: for an address that is no HTTP address, or a file without certificates.
    """

    def __init__(self, address: str, token: str | None, authority: str | None = None) -> None:
        parts = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise click.UsageError(
                f"--service wants an address such as http://127.0.0.1:8765, not {address!r}"
            )
        self._address = urllib.parse.urlunsplit(
            (parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")
        )
        self._token = token
        # The service is spoken to directly: a proxy in the environment is for other places.
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({}), _StayHere()]
        if parts.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=_trusting(authority)))
        self._opener = urllib.request.build_opener(*handlers)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """One request; the JSON of its answer, None where it has none.

        Raises:
            ServiceError: when the service cannot be reached, or refuses.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "accept": "application/json"}
        with self._open(method, path, headers, data) as answer:
            try:
                text = answer.read()
                return json.loads(text) if text else None
            except (OSError, http.client.HTTPException) as error:
                raise ServiceError(
                    f"the connection to {self._address} broke", may_pass=True
                ) from error
            except ValueError as error:
                raise ServiceError(f"{self._address} is not a cqc service") from error

    def read_text(self, path: str) -> str:
        """What a path answers, as text.

        Raises:
            ServiceError: when the service cannot be reached, or refuses.
        """
        with self._open("GET", path, {}, None) as answer:
            try:
                text: str = answer.read().decode("utf-8", errors="replace")
                return text
            except (OSError, http.client.HTTPException) as error:
                raise ServiceError(
                    f"the connection to {self._address} broke", may_pass=True
                ) from error

    def events(self, path: str, last_id: str | None) -> Iterator[Event]:
        """Events as they come, until the service ends them or the connection breaks.

        Raises:
            ServiceError: when the service cannot be reached, or refuses.
        """
        headers = {"accept": "text/event-stream"}
        if last_id is not None:
            headers["last-event-id"] = last_id
        with self._open("GET", path, headers, None) as answer:
            try:
                yield from _parse(answer)
            except (OSError, http.client.HTTPException):
                return

    def _open(self, method: str, path: str, headers: dict[str, str], data: bytes | None) -> Any:
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._address + path, data, headers, method=method)
        try:
            return self._opener.open(request, timeout=_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error, data or b"{}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise ServiceError(
                    f"the certificate of {self._address} is not trusted ({reason.verify_message}); "
                    "name the file of who issued it with --cacert"
                ) from error
            raise ServiceError(
                f"no service at {self._address} ({reason}); start one with cqc serve", may_pass=True
            ) from error


class _StayHere(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: the token is for this service alone."""

    def redirect_request(self, *given: Any) -> None:
        """No request; the answer is shown as it is."""
        del given


def _trusting(authority: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise click.UsageError(f"cannot read a certificate from {authority}") from error


def _refusal(error: urllib.error.HTTPError, sent: bytes) -> ServiceError:
    try:
        problem = json.loads(error.read())
        message, diagnostics = problem["error"], problem.get("diagnostics", [])
    except (ValueError, TypeError, KeyError, OSError):
        return ServiceError(f"the service answered {error.code} {error.reason}")
    if diagnostics:
        text = json.loads(sent).get("text", "")
        shown = render_text(_diagnostic(each, text) for each in diagnostics)
        return ServiceError(shown, exit_code=1)
    return ServiceError(message, may_pass=error.code in (502, 503, 504))


def _diagnostic(given: dict[str, Any], text: str) -> Diagnostic:
    """A diagnostic of the service, its place found again in what was sent."""
    source = SourceFile(given["file"], text)

    def offset(line: int, column: int) -> int:
        start = source.line_starts[min(line, len(source.line_starts)) - 1]
        return min(start + column - 1, len(text))

    start = offset(given["line"], given["column"])
    span = Span(source, start, max(start, offset(given["end_line"], given["end_column"])))
    severity = Severity(given["severity"])
    code, message = given["code"], given["message"]
    return Diagnostic(code, severity, message, span, given.get("detail"), given.get("hint"))


def _parse(answer: Any) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in answer:
        text = line.decode().rstrip("\r\n")
        if text:
            name, _, value = text.partition(": ")
            fields[name] = value
            continue
        if "data" in fields:
            yield Event(fields.get("id"), fields.get("event", "message"), fields["data"])
        elif "id" in fields:
            yield Event(fields["id"], PLACE, "")
        fields = {}
