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
from cqc.runtime.run.program_files import program_files, stamp_of

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.durable.program_book import Sources


class LivePrograms:
    """The files of a run's folders, as they were when they were last looked at."""

    def __init__(self, options: RunOptions) -> None:
        self.folders = [Path(name) for name in options.programs if Path(name).is_dir()]
        self._programs = options.programs
        self._stamp = stamp_of(options.programs) if options.stamp is None else options.stamp
        self.sources: Sources = []  # what was compiled last

    def look(self) -> Program | None:
        """What the files hold now; None when that is what they held before, or has errors."""
        stamp = stamp_of(self._programs)
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
        files = program_files(self._programs)
        return [(decode_source(str(file), file.read_bytes()), str(file.parent)) for file in files]


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
