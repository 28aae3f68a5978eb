"""The text of a program that runs, beside its checkpoint.

While a run follows a folder of programs, a file with errors leaves the running queries as they were. So that this holds for
a restart too, the files are kept as they were when they last took effect:

    DIR/program.json     {"files": [["queries/a.cq", "queries", "CREATE STREAM ..."]], "checksum": 3735928559}
"""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING

from cqc.compiler.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Sources = list[tuple[SourceFile, str]]  # each with the folder that its relative paths start from

_NAME = "program.json"


def keep_program(folder: Path, sources: Sequence[tuple[SourceFile, str]]) -> None:
    """Keep the files of a program that took effect.

    Raises:
        OSError: when they cannot be written.
    """
    files = [[source.name, place, source.text] for source, place in sources]
    text = json.dumps({"files": files, "checksum": _checksum(files)})
    aside = folder / f"{_NAME}.part"
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(folder / _NAME)


def kept_program(folder: Path) -> Sources | None:
    """The files of the program that ran last; None when nobody knows them."""
    try:
        given = json.loads((folder / _NAME).read_text(encoding="utf-8"))
        if given["checksum"] != _checksum(given["files"]):
            return None
        return [(SourceFile(name, text), place) for name, place, text in given["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checksum(files: list[list[str]]) -> int:
    return zlib.crc32(json.dumps(files).encode())
