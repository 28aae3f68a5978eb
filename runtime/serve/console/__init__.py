"""The console: the page that the service serves at `/`, built from `console/` of the repository, and how its files are answered.

The files are read once. They hold nothing of any service, so they need no token; what they show they ask for with one. The policy
that goes with them lets the page load nothing from elsewhere, speak to nobody else, and be framed by nobody.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

INDEX = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent."""

    kind: str
    content: bytes
    packed: bytes
    tag: str


class Console:
    """The files by name, and the paths under which they are found."""

    def __init__(self) -> None:
        self._files = {
            each.name: _file(each.name, each.read_bytes())
            for each in files(__package__).iterdir()
            if each.name.rpartition(".")[2] in _KINDS
        }
        self.paths = {f"/assets/{name}": name for name in sorted(self._files) if name != INDEX}
        self.paths |= {"/": INDEX}

    def answer(self, name: str, headers: Mapping[str, str]) -> Response:
        """A file, or that it is the one that the browser has."""
        file = self._files[name]
        told = {
            "cache-control": "no-cache",
            "content-security-policy": POLICY,
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "etag": file.tag,
            "referrer-policy": "no-referrer",
            "vary": "accept-encoding",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
        }
        if file.tag in headers.get("if-none-match", ""):
            return Response(status_code=304, headers=told)
        content = file.content
        if "gzip" in headers.get("accept-encoding", ""):
            content = file.packed
            told["content-encoding"] = "gzip"
        return Response(content, media_type=file.kind, headers=told)


def _file(name: str, content: bytes) -> File:
    tag = f'"{sha256(content).hexdigest()[:20]}"'
    kind = _KINDS[name.rpartition(".")[2]]
    return File(kind, content, gzip.compress(content, 6, mtime=0), tag)


CONSOLE = Console()
