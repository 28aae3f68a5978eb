"""A folder of `.cq` files whose queries run: a file that is added, edited or removed takes effect when it is seen.

A file with errors is reported once and leaves what runs as it was. Declarations belong to the program; a file here holds
queries and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.source import SourceFile
from cqc.runtime.errors import RunError
from cqc.runtime.serve.statements import Statement, statements_of_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Seen = tuple[int, int, int]  # what changes when a file is written: inode, size, time
_NEVER: Seen = (0, 0, 0)


class QueryFolder:
    """Tells which files of a folder have changed since the last look.

    Raises:
        RunError: when there is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RunError(f"there is no folder {folder} to read queries from")
        self._folder = folder
        self.name = folder.resolve().name
        self._seen: dict[str, Seen] = {}
        self._emptied: set[str] = set()  # at the last look

    def owner(self, file: str) -> str:
        """Who owns the queries of a file, as `cqc queries` shows it."""
        return f"{self.name}/{file}"

    def expect(self, owners: Iterable[str]) -> None:
        """Remember the files of the run before, so that those deleted since then are reported as gone."""
        prefix = self.owner("")
        for owner in owners:
            if owner.startswith(prefix):
                self._seen[owner.removeprefix(prefix)] = _NEVER

    def changed(self) -> list[str]:
        """The names of files that are new, different or gone; each is told once."""
        present = dict(self._look())
        gone = [name for name in self._seen if name not in present]
        changed = [name for name, seen in present.items() if self._seen.get(name) != seen]
        # Editors empty a file before they write it: one that has become empty counts when it still is at the next look.
        emptied = {name for name in changed if not present[name][1]} - self._emptied
        kept = {name: self._seen[name] for name in emptied if name in self._seen}
        self._seen = {name: seen for name, seen in present.items() if name not in emptied} | kept
        self._emptied = emptied
        return gone + [name for name in changed if name not in emptied]

    def statements(self, name: str) -> list[Statement]:
        """The queries of a file; none when it has gone.

        Raises:
            CompileError: when it has errors, or holds anything but queries.
            RunError: when it cannot be read.
        """
        path = self._folder / name
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(f"cannot read {path}: {error}") from error
        return statements_of_file(SourceFile(str(path), text))

    def _look(self) -> Iterator[tuple[str, Seen]]:
        for path in sorted(self._folder.glob("*.cq")):
            try:
                found = path.stat()
            except OSError:
                continue
            yield path.name, (found.st_ino, found.st_size, found.st_mtime_ns)
