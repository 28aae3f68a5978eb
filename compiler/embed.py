"""A whole program through all stages, from text or files, with every mistake of every file reported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.bind.checks.check_bounds import check_bounds
from cqc.compiler.bind.statements.bind_program import bind_program
from cqc.compiler.diagnostics.arguments import expect, kind_of
from cqc.compiler.diagnostics.diagnostic import CompileError, Diagnostic, Severity, order
from cqc.compiler.diagnostics.source import BadByte, SourceFile
from cqc.compiler.functions.registered import user_functions
from cqc.compiler.graph.graph import Graph
from cqc.compiler.idle_check import idle_warnings
from cqc.compiler.parse.collector import COLLECTOR
from cqc.compiler.parse.follow_ons import without_follow_ons
from cqc.compiler.parse.parser import parse
from cqc.compiler.pipeline import check_query, check_view, normalise
from cqc.compiler.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence


def compile(text: str, name: str = "<text>") -> Program:  # noqa: A001  the public name
    """Compile the text of a program.

    Args:
        text: Statements separated by `;`.
        name: How diagnostics call the text.

    Raises:
        CompileError: when the program has errors; `diagnostics` holds all of them.

    Example:
        >>> compile("CREATE STREAM s (ts TIMESTAMP, x BIGINT); SELECT x FROM s;").queries.names
        ['q1']
    """
    is_path = isinstance(text, PathLike)
    hint = "; cqc.compile_files compiles files" if is_path else "; decode it first"
    shows_hint = is_path or isinstance(text, bytes)
    expect(text, str, "cqc.compile", "the text of a program", hint if shows_hint else "")
    expect(name, str, "cqc.compile", "a name for the text")
    return compile_sources([(SourceFile(name, text), ".")])


def compile_files(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Program:
    """Compile program files, or folders of `.cq` files, as one program.

    Args:
        paths: A file or folder, or several of them; a folder stands for its `.cq` files in name order.

    Raises:
        CompileError: when the program has errors; `diagnostics` holds those of all files.
        OSError: when a file cannot be read.

    Example:
        >>> import cqc, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "streams.cq").write_text("CREATE STREAM s (ts TIMESTAMP, x BIGINT);")
        >>> _ = (folder / "alarms.cq").write_text("CREATE QUERY high AS SELECT x FROM s WHERE x > 9;")
        >>> cqc.compile_files(folder).queries.names
        ['high']
        >>> cqc.compile_files([folder / "streams.cq", str(folder / "alarms.cq")]).queries.names
        ['high']
    """
    files = [file for path in _paths(paths) for file in files_of(path)]
    sources = [(decode_source(str(file), file.read_bytes()), str(file.parent)) for file in files]
    return compile_sources(sources)


def decode_source(name: str, data: bytes) -> SourceFile:
    """Make a program file of its bytes: UTF-8, with or without a byte-order mark. `parse` reports bytes that are not UTF-8."""
    try:
        return SourceFile(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        at = len(data[: error.start].decode("utf-8-sig"))
        text = data.decode("utf-8-sig", errors="replace")
        return SourceFile(name, text, BadByte(at, data[error.start]))


def _paths(paths: object) -> Iterator[Path]:
    wanted = "cqc.compile_files takes a path, or a list of paths (str or Path)"
    if isinstance(paths, str | PathLike):
        paths = [paths]
    if isinstance(paths, bytes | Mapping) or not isinstance(paths, Iterable):
        raise TypeError(f"{wanted}, not {kind_of(paths)}")
    for path in paths:
        if not isinstance(path, str | PathLike):
            raise TypeError(f"{wanted}, not a list with {kind_of(path)}")
        if isinstance(path, str) and (";" in path or "\n" in path) and not os.path.exists(path):  # noqa: PTH110 - Path.exists raises where the name is too long
            raise FileNotFoundError(
                f"there is no file {path[:40]!r}...; cqc.compile compiles the text of a program"
            )
        yield Path(path)


def files_of(path: Path) -> Iterator[Path]:
    """The program files that a path stands for: itself, or the `.cq` files of a folder in name order.

    Raises:
        FileNotFoundError: when a folder holds none.
    """
    if not path.is_dir():
        yield path
        return
    files = sorted(path.glob("*.cq"))
    if not files:
        raise FileNotFoundError(f"no .cq file in the folder {path}")
    yield from files


def compile_sources(sources: Sequence[tuple[SourceFile, str]]) -> Program:
    """Compile files that are already read, each with the folder its relative paths start from.

    Raises:
        CompileError: when the program has errors; `diagnostics` holds all of them, and the warnings.
    """
    with COLLECTOR.is_still():
        return _compile(sources)


def _compile(sources: Sequence[tuple[SourceFile, str]]) -> Program:
    diagnostics: list[Diagnostic] = []
    parsed = []
    for source, folder in sources:
        program, found = parse(source)
        diagnostics.extend(found)
        parsed.append((program, source, folder))
    mistakes = tuple(diagnostics)
    bound = bind_program(parsed, user_functions())
    diagnostics.extend(without_follow_ons(mistakes, bound.diagnostics))
    for query in bound.unselected:
        found = check_bounds(query, normalise(query), is_whole=False)
        diagnostics.extend(without_follow_ons(mistakes, found))
    has_errors = any(each.severity is Severity.ERROR for each in diagnostics)
    views = [
        found
        for each in bound.catalog.views.values()
        for found in check_view(each, is_declared=True)
    ]
    diagnostics.extend(without_follow_ons(mistakes, views))
    broken_views = any(each.severity is Severity.ERROR for each in views)
    has_errors = has_errors or broken_views
    graph = Graph()
    program_ = Program(bound.catalog, graph, ())
    queries = list(reversed(bound.queries))
    # A hundred thousand syntax trees and bound queries need not all stay while the graph grows.
    del parsed, bound
    while queries:
        query = queries.pop()
        normal, found = check_query(query)
        if broken_views and any(item.relation.view for item in query.items):
            found = []  # what is wrong may be the view's
        diagnostics.extend(without_follow_ons(mistakes, found))
        if not has_errors:
            graph.add(normal)
            program_.keep(query)
    if any(each.severity is Severity.ERROR for each in diagnostics):
        raise CompileError(order(diagnostics))
    diagnostics += idle_warnings(program_.catalog, graph.queries.values())
    program_.warnings = tuple(order(diagnostics))
    return program_
