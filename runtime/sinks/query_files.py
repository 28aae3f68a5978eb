"""A folder of results with a file for each query.

Files are opened for each piece that is written: thousands of queries are more than a process may keep open.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import quote

from cqc.runtime.sinks.output import Output, make_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LONGEST = 160  # of a name; file systems have room for 255 bytes, and some files get a longer ending for a while
_DIGITS = 16


def file_of_query(folder: Path, query: str, extension: str) -> Path:
    """The file of a query; characters that no file name has are written as %XX, and the end of a very long name as a digest."""
    name = quote(query, safe=" ()[]{}+,;=@!$&'~#^").replace(".", "%2E")
    if len(name) > _LONGEST:
        digest = hashlib.sha256(query.encode()).hexdigest()
        name = f"{name[:_LONGEST]}-{digest[:_DIGITS]}"
    return folder / f"{name}.{extension}"


class QueryFiles:
    """The files of a folder, each made anew when its query first has something to write."""

    def __init__(self, folder: Path, extension: str) -> None:
        make_folder(folder)
        self._folder = folder
        self._extension = extension
        self._begun: set[str] = set()

    def has(self, query: str) -> bool:
        """Whether something was written for a query."""
        return query in self._begun

    def append(self, query: str, pieces: Iterable[bytes | memoryview]) -> None:
        """Add to the file of a query.

        Raises:
            RunError: when it cannot be written.
        """
        path = file_of_query(self._folder, query, self._extension)
        file = Output(path, append=query in self._begun)
        self._begun.add(query)
        for piece in pieces:
            file.write(piece)
        file.close()
