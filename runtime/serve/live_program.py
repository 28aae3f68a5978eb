"""Program folders that were named on the command line: their queries may change while the service runs.

When a file of such a folder was added, edited or removed, the program is compiled again and its queries take the place of
those that run. Streams, tables and settings are those of the start. Where files were edited that hold the same named queries as
before and nothing else, they alone are compiled, with the files that declare something: of thousands of rules one is soon changed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import CompileError, compile_sources
from cqc.compiler.embed import decode_source
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.tree import CreateQuery
from cqc.runtime.errors import RunError
from cqc.runtime.run.durable.program_book import keep_program
from cqc.runtime.run.program_files import program_files, stamp_of
from cqc.runtime.serve.statements import statements_of_program
from cqc.runtime.sinks.output import cannot_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler import Program
    from cqc.compiler.diagnostics.source import SourceFile
    from cqc.compiler.meaning.catalog import Catalog
    from cqc.runtime.run.durable.program_book import Sources
    from cqc.runtime.run.program_files import Stamp
    from cqc.runtime.serve.statements import Statement

_DECLARES = re.compile(r"\b(?:CREATE\s+(?!QUERY\b)|SET\b)", re.IGNORECASE)  # or may do so
_MOST_KNOWN = 20_000  # queries whose texts are kept from the start on
_FEW = 20  # files; with more, all may as well be compiled


class LiveProgram:
    """The files of the folders among the PROGRAM arguments."""

    def __init__(
        self,
        programs: Sequence[str],
        catalog: Catalog,
        checkpoint: str | None = None,
        stamp: Stamp | None = None,
    ) -> None:
        """`stamp`: that of the files before they were read at the start; that of now by default."""
        self._checkpoint = None if checkpoint is None else Path(checkpoint)
        self._sources: Sources = []  # what was compiled last
        self._known: list[Statement] | None = None  # its queries; None when it had errors
        self._programs = programs if any(Path(name).is_dir() for name in programs) else ()
        self._catalog = catalog
        self.views = catalog.views  # as they were compiled last
        self._stamp = stamp_of(self._programs) if stamp is None else stamp

    def begin(self, program: Program, sources: Sequence[tuple[SourceFile, str]]) -> None:
        """Know what was compiled at the start, so that the first edit need not compile all of it again."""
        if self._programs and sources and len(program.queries) <= _MOST_KNOWN:
            self._sources, self._known = list(sources), statements_of_program(program)

    def changed(self) -> bool:
        """Whether something changed since the last time."""
        stamp = stamp_of(self._programs)
        changed = stamp != self._stamp
        self._stamp = stamp
        return changed

    def statements(self) -> list[Statement]:
        """The queries of the program as it is now.

        Raises:
            CompileError: when it has errors.
            RunError: when a file cannot be read, or the declarations are different ones.
        """
        before, known, self._known = self._sources, self._known, None
        try:
            self._sources = [
                (decode_source(str(file), file.read_bytes()), str(file.parent))
                for file in program_files(self._programs)
            ]
            edited = None if known is None else _edited_queries(before, self._sources)
            program = compile_sources(
                self._sources if edited is None else _needed(self._sources, edited)
            )
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(f"cannot read the program: {error}") from error
        if program.catalog.relations != self._catalog.relations:
            raise RunError(
                "streams and tables cannot change while the service runs; restart it for that"
            )
        self.views = program.catalog.views
        found = statements_of_program(program)
        if known is not None and edited is not None:
            by_name = {fold(each.name): each for each in found if each.name is not None}
            names = {name for each in edited.values() for name in each}
            found = [
                by_name[key] if (key := fold(each.name or "")) in names else each for each in known
            ]
        self._known = found
        return list(found)

    def keep(self, sources: Sequence[tuple[SourceFile, str]] | None = None) -> None:
        """Remember the files that run now (those compiled last), so that a restart can use them even if the folder has changed.

        Raises:
            RunError: when they cannot be written down.
        """
        if self._checkpoint is None or not self._programs:
            return
        try:
            keep_program(self._checkpoint, self._sources if sources is None else sources)
        except OSError as error:
            raise cannot_write(self._checkpoint, error) from error


def _edited_queries(before: Sources, now: Sources) -> dict[int, list[str]] | None:
    """By file that was edited the folded names of its queries; None where more than the text of named queries changed."""
    if [source.name for source, _ in before] != [source.name for source, _ in now]:
        return None
    edited: dict[int, list[str]] = {}
    for at, ((old, _), (new, _)) in enumerate(zip(before, now, strict=True)):
        if old.text == new.text:
            continue
        names = _names_alone(new)
        if names is None or names != _names_alone(old) or len(edited) >= _FEW:
            return None
        edited[at] = names
    return edited or None


def _names_alone(source: SourceFile) -> list[str] | None:
    """The folded names of the queries of a file; None where it holds anything else, or has errors."""
    try:
        parsed, mistakes = parse(source)
    except CompileError:
        return None
    names = []
    for node in parsed.statements:
        if not isinstance(node, CreateQuery) or node.name is None or node.parameters:
            return None
        names.append(fold(node.name.text))
    return None if mistakes else names


def _needed(sources: Sources, edited: dict[int, list[str]]) -> Sources:
    """The edited files, and those that may declare what they read."""
    return [
        each
        for at, each in enumerate(sources)
        if at in edited or _DECLARES.search(each[0].text) is not None
    ]
