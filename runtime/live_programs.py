"""Folders of `.cq` files whose queries change while they run.

A folder that was named on the command line is looked at between micro-batches. When a file was added, edited or removed, the
whole program is compiled again and the difference is registered; when it does not compile, that is reported once and the
running set stays as it was. What files declare (streams, tables, settings) is read at the start only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import CompileError, compile_files
from cqc.runtime.query_set import texts_of

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions
    from cqc.runtime.query_set import QuerySet

Stamp = tuple[tuple[str, int, int], ...]


class LivePrograms:
    """The files of a run's folders, as they were when they were last looked at."""

    def __init__(self, program: Program, options: RunOptions) -> None:
        self.folders = [Path(name) for name in options.programs if Path(name).is_dir()]
        self._programs = options.programs
        self._only = options.only
        self._catalog = program.catalog
        self._stamp = self._look_at_files()

    def look(self, queries: QuerySet) -> None:
        """Let the running queries be those that the files hold now."""
        stamp = self._look_at_files()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            program = compile_files(self._files())
        except (CompileError, OSError, UnicodeDecodeError) as error:
            say(f"{error}\nerror: the program has errors; the queries that run stay as they were")
            return
        if program.catalog.relations != self._catalog.relations:
            say("warning: streams and tables cannot change while they run; restart for that")
        try:
            for change in queries.change_to(texts_of(program, self._only)):
                say(change)
        except CompileError as error:
            say(str(error))

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


def say(text: str) -> None:
    """Tell the user something while the run goes on."""
    sys.stderr.write(f"{text.rstrip()}\n")
    sys.stderr.flush()
