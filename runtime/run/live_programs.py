"""Folders of `.cq` files whose queries change while they run.

A folder that was named on the command line is looked at between micro-batches. When a file was added, edited or removed, the
whole program is compiled again and the difference is registered; when it does not compile, that is reported once and the
running set stays as it was. A stream or table that is new is declared too; one that runs stays as it was declared.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import CompileError, compile_sources
from cqc.compiler.embed import decode_source
from cqc.runtime.errors import RunError
from cqc.runtime.notices import say

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.durable.program_book import Sources

Stamp = tuple[tuple[str, int, int], ...]


class LivePrograms:
    """The files of a run's folders, as they were when they were last looked at."""

    def __init__(self, options: RunOptions) -> None:
        self.folders = [Path(name) for name in options.programs if Path(name).is_dir()]
        self._programs = options.programs
        self._stamp = self._look_at_files()
        self.sources: Sources = []  # what was compiled last

    def look(self) -> Program | None:
        """What the files hold now; None when that is what they held before, or has errors."""
        stamp = self._look_at_files()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            self.sources = self.read()
            return compile_sources(self.sources)
        except (CompileError, OSError, UnicodeDecodeError) as error:
            refuse(str(error))
            return None

    def read(self) -> Sources:
        """The files as they are now.

        Raises:
            OSError: when one cannot be read.
        """
        files = map(Path, self._files())
        return [(decode_source(str(file), file.read_bytes()), str(file.parent)) for file in files]

    def _files(self) -> list[str]:
        found: list[str] = []
        for name in self._programs:
            path = Path(name)
            found += [str(file) for file in sorted(path.glob("*.cq"))] if path.is_dir() else [name]
        return found

    def _look_at_files(self) -> Stamp:
        stamps = []
        for folder in self.folders:
            for file in sorted(folder.glob("*.cq")):
                try:
                    there = file.stat()
                except OSError:
                    continue
                stamps.append((str(file), there.st_mtime_ns, there.st_size))
        return tuple(stamps)


def new_relations(catalog: Catalog, running: Catalog) -> list[Relation]:
    """The streams and tables that do not run yet.

    Raises:
        RunError: when one that runs is declared in another way.
    """
    for name, relation in catalog.relations.items():
        if name in running.relations and running.relations[name] != relation:
            raise RunError(
                f"{relation.name} cannot be declared in another way while it runs; restart for that"
            )
    return [each for name, each in catalog.relations.items() if name not in running.relations]


def refuse(reason: str) -> None:
    """Tell the user why the files change nothing."""
    say(f"{reason.rstrip()}\nerror: the program has errors; the queries that run stay as they were")
