"""Text to shared operator graph: the embedding surface of the compiler.

Example:
    >>> from cqc.compiler import compile
    >>> program = compile("CREATE STREAM s (ts TIMESTAMP, x BIGINT); SELECT x FROM s WHERE x > 3;")
    >>> program.queries.names, program.streams.names
    (['q1'], ['s'])
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.compile_sources import compile_sources
from cqc.compiler.diagnostics import CompileError, Diagnostic
from cqc.compiler.program import Program
from cqc.compiler.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "CompileError",
    "Diagnostic",
    "Program",
    "compile",
    "compile_files",
    "compile_sources",
]


def compile(text: str, name: str = "<text>") -> Program:  # noqa: A001  the public name
    """Compile the text of a program.

    Args:
        text: Statements separated by `;`.
        name: How diagnostics call the text.

    Raises:
        CompileError: when the program has errors; `diagnostics` holds all of them.
    """
    return compile_sources([(SourceFile(name, text), ".")])


def compile_files(paths: Iterable[str | Path]) -> Program:
    """Compile program files, or folders of `.cq` files, as one program.

    Args:
        paths: Files and folders; a folder stands for its `.cq` files in name order.

    Raises:
        CompileError: when the program has errors; `diagnostics` holds those of all files.
        OSError: when a file cannot be read.
    """
    files = [file for path in paths for file in _files_of(Path(path))]
    sources = [
        (SourceFile(str(file), file.read_text(encoding="utf-8-sig")), str(file.parent))
        for file in files
    ]
    return compile_sources(sources)


def _files_of(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = sorted(path.glob("*.cq"))
    if not files:
        raise FileNotFoundError(f"no .cq file in the folder {path}")
    yield from files
