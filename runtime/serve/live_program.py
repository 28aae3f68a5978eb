"""Program folders that were named on the command line: their queries may change while the service runs.

When a file of such a folder was added, edited or removed, the whole program is compiled again and its queries take the place of
those that run. Streams, tables and settings are those of the start.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import compile_sources
from cqc.compiler.embed import decode_source
from cqc.runtime.errors import RunError
from cqc.runtime.run.durable.program_book import keep_program
from cqc.runtime.serve.statements import statements_of_program
from cqc.runtime.sinks.output import cannot_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.source import SourceFile
    from cqc.compiler.meaning.catalog import Catalog
    from cqc.runtime.run.durable.program_book import Sources
    from cqc.runtime.serve.statements import Statement

Stamp = tuple[tuple[str, int, int], ...]


class LiveProgram:
    """The files of the folders among the PROGRAM arguments."""

    def __init__(
        self, programs: Sequence[str], catalog: Catalog, checkpoint: str | None = None
    ) -> None:
        self._checkpoint = None if checkpoint is None else Path(checkpoint)
        self._sources: Sources = []  # what was compiled last
        self._programs = programs if any(Path(name).is_dir() for name in programs) else ()
        self._catalog = catalog
        self.views = catalog.views  # as they were compiled last
        self._stamp = self._look()

    def changed(self) -> bool:
        """Whether something changed since the last time."""
        stamp = self._look()
        changed = stamp != self._stamp
        self._stamp = stamp
        return changed

    def statements(self) -> list[Statement]:
        """The queries of the program as it is now.

        Raises:
            CompileError: when it has errors.
            RunError: when a file cannot be read, or the declarations are different ones.
        """
        try:
            self._sources = [
                (decode_source(str(file), file.read_bytes()), str(file.parent))
                for file in self._files()
            ]
            program = compile_sources(self._sources)
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(f"cannot read the program: {error}") from error
        if program.catalog.relations != self._catalog.relations:
            raise RunError(
                "streams and tables cannot change while the service runs; restart it for that"
            )
        self.views = program.catalog.views
        return statements_of_program(program)

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

    def _files(self) -> list[Path]:
        found: list[Path] = []
        for name in self._programs:
            path = Path(name)
            found += sorted(path.glob("*.cq")) if path.is_dir() else [path]
        return found

    def _look(self) -> Stamp:
        found = []
        for path in self._files():
            try:
                stat = path.stat()
            except OSError:
                continue
            found.append((str(path), stat.st_size, stat.st_mtime_ns))
        return tuple(found)
