"""The text of a program that runs, beside its checkpoint.

While a run follows a folder of programs, a file with errors leaves the running queries as they were. So that this holds for
a restart too, the files are kept as they were when they last took effect:

    DIR/program.json     {"files": [["queries/a.cq", "queries", "CREATE STREAM ..."]]}, sealed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.source import SourceFile
from cqc.runtime.files.sealed import read_sealed_json, write_sealed_json

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
    write_sealed_json(folder / _NAME, {"files": files})


def kept_program(folder: Path) -> Sources | None:
    """The files of the program that ran last; None when none were kept.

    Raises:
        DamagedError: when they are not what was written.
    """
    if not (folder / _NAME).exists():
        return None
    given = read_sealed_json(folder / _NAME)["files"]
    return [(SourceFile(name, text), place) for name, place, text in given]
