"""How far each file was read, for checkpoints: small however many files there were.

A commit holds the places of all files while these are few. When they are many, most of them stand in a base file that is
written now and then, and a commit holds only what has changed since, with the base's name.

    DIR/positions/000000000400.json     where every file stood when micro-batch 400 counted
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import read_sealed_json
from cqc.runtime.run.input_plan import add_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from cqc.runtime.run.input_plan import Planner, Positions
    from cqc.runtime.sources.range import Range

MOST = 1_000  # places that a commit holds itself


class PositionBook:
    """The places of one run, as its commits hold them.

    Args:
        folder: the checkpoint's folder.
        base: the name of the base file of the last commit; "" for none.
        recent: the places that the last commit holds itself.

    Raises:
        DamagedError: when the base file is not what was written.
    """

    def __init__(self, folder: Path, base: str = "", recent: Positions | None = None) -> None:
        self._folder = folder / "positions"
        self._settled = False  # this process has written a base, or needs none
        self.base = base
        self.recent: Positions = recent or {}
        self.before: Positions = {}
        if base:
            self.before = read_sealed_json(self._folder / base)
        for stream, places in self.recent.items():
            self.before.setdefault(stream, {}).update(places)

    def note(self, ranges: Iterable[Range]) -> None:
        """Remember that ranges were read."""
        if self.base:
            add_ranges(self.recent, ranges)

    def settle(
        self, number: int, planner: Planner, write: Callable[[Path, dict[str, Any]], None]
    ) -> None:
        """Have `base` and `recent` say what a commit must hold.

        Args:
            number: the micro-batch that will count.
            planner: knows all places.
            write: writes a file durably.

        Raises:
            OSError: when the base file cannot be written.
        """
        if planner.places <= MOST:
            self.base, self.recent = "", planner.positions()
        elif not self._settled or not self.base or _count(self.recent) > MOST:
            planner.forget_gone()
            private_folder(self._folder)
            self.base, self.recent = f"{number:012d}.json", {}
            write(self._folder / self.base, planner.positions())
        self._settled = True

    def tidy(self, named: set[str]) -> None:
        """Remove the base files that no commit names which is kept."""
        if self._folder.exists():
            for file in self._folder.iterdir():
                if file.name not in named:
                    file.unlink(missing_ok=True)


def _count(positions: Positions) -> int:
    return sum(map(len, positions.values()))
