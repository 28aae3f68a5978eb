"""Guards a listener against pages in somebody's browser.

Two things do. The Host header must be one that the listener knows: a page whose name was made to point to this machine has another.
And what a browser says of where a request comes from (Origin, Sec-Fetch-Site) must be the listener itself; programs that are no
browsers say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.networks.hosts import host_name, is_address, is_loopback, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 100  # characters of a header that is told back
Headers = list[tuple[bytes, bytes]]


class PageGuard:
    """Knows which requests may come.

    Args:
        hosts: names under which the listener is reached, beside those of this machine alone.
        takes_addresses: whether any address in numbers is fine as well, since nobody can make that point elsewhere.
        hint: what whoever should be heard can do; `{host}` is the name that was used.
    """

    def __init__(self, hosts: Iterable[str] = (), *, takes_addresses: bool, hint: str) -> None:
        self._hosts = {plain_name(host) for host in hosts}
        self._takes_addresses = takes_addresses
        self._hint = hint

    def refusal(self, headers: Headers, *, is_page: bool = False) -> str | None:
        """Why a request is not heard; a link elsewhere may lead to a page of our own (`is_page`), which holds nothing yet."""
        host = header_of(headers, b"host").decode("latin-1").strip()
        name = host_name(host)
        if not self._is_known(name):
            shown = name[:_SHOWN]
            hint = f"; if it should, {self._hint.format(host=shown)}" if shown else ""
            return f"this service does not answer to the host {shown!a}{hint}"
        for origin in (value for key, value in headers if key == b"origin"):
            if origin.decode("latin-1").strip().lower().partition("://")[2] != host.lower():
                return "requests of pages from elsewhere are not answered (Origin)"
        is_visit = is_page and _lower(headers, b"sec-fetch-mode") == b"navigate"
        if not is_visit and _lower(headers, b"sec-fetch-site") in (b"cross-site", b"same-site"):
            return "requests of pages from elsewhere are not answered (Sec-Fetch-Site)"
        return None

    def _is_known(self, name: str) -> bool:
        if is_loopback(name) or plain_name(name) in self._hosts:
            return True
        return self._takes_addresses and is_address(name)


def header_of(headers: Headers, name: bytes) -> bytes:
    """The last value of a header, as applications see it; nothing where it is not there."""
    return next((value for key, value in reversed(headers) if key == name), b"")


def _lower(headers: Headers, name: bytes) -> bytes:
    return header_of(headers, name).strip().lower()
