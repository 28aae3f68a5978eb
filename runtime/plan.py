"""Which part of the input comes next: files are found in name order and handed out as ranges, one micro-batch at a time.

Streams that are behind in event time come first, so that joins keep no more state than their windows ask for. A run that
follows looks for new files, and for lines added to files it has read, every time it is asked.

What was handed out is told by `positions`; a planner that starts from them goes on where the other one stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.runtime.cursors import open_cursor
from cqc.runtime.errors import RunError
from cqc.runtime.sources import source_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.catalog import Relation
    from cqc.runtime.cursors import Cursor
    from cqc.runtime.ranges import Range
    from cqc.runtime.sources import SourceFile

Positions = dict[str, dict[str, "int | None"]]  # stream -> file -> where its next range begins

BYTES_PER_BATCH = 16 * 1024 * 1024  # of each stream
_BEFORE_ALL = -(2**63)


class Planner:
    """Hands out ranges of the files of some streams.

    Args:
        places: by folded name, the stream and its file or folder.
        follow: look for more input for ever.
        rows_per_batch: how many rows a micro-batch may have.
        positions: what was handed out before.

    Raises:
        RunError: when a file or folder is not there.
    """

    def __init__(
        self,
        places: Mapping[str, tuple[Relation, Path]],
        *,
        follow: bool = False,
        rows_per_batch: int | None = None,
        positions: Positions | None = None,
    ) -> None:
        self._rows = rows_per_batch
        done = positions or {}
        self._feeds = {
            name: FileFeed(name, relation, path, follow=follow, done=done.get(name, {}))
            for name, (relation, path) in places.items()
        }
        self._latest: dict[str, int] = {}
        self._turn = 0

    def next_batch(self, latest_us: Mapping[str, int | None]) -> list[Range]:
        """The ranges of the next micro-batch; none when there is no input (at present, for one that follows).

        Args:
            latest_us: how far each stream is in event time.
        """
        ready = [feed for feed in self._feeds.values() if feed.has_more()]
        chosen = self._behind(ready, latest_us)
        self._latest = {name: us for name, us in latest_us.items() if us is not None}
        ranges: list[Range] = []
        if self._rows is None:
            for feed in chosen:
                ranges += feed.take_bytes(BYTES_PER_BATCH)
            return ranges
        self._turn += 1
        first = self._turn % max(len(chosen), 1)
        left = self._rows
        share = max(left // max(len(chosen), 1), 1)
        for feed in chosen[first:] + chosen[:first]:
            taken, rows = feed.take_rows(min(share, left))
            ranges += taken
            left -= rows
            if left <= 0:
                break
        return ranges

    def positions(self) -> Positions:
        """Where each file's next range begins."""
        return {name: dict(feed.done) for name, feed in self._feeds.items()}

    def close(self) -> None:
        """Let go of the files."""
        for feed in self._feeds.values():
            feed.close()

    def _behind(
        self, ready: list[FileFeed], latest_us: Mapping[str, int | None]
    ) -> list[FileFeed]:
        """The stream that is furthest behind, and those that it may overtake with its next ranges."""
        if len(ready) < 2:
            return ready
        reached = {feed.name: latest_us.get(feed.name) or _BEFORE_ALL for feed in ready}
        last = min(ready, key=lambda feed: reached[feed.name]).name
        gained = max(reached[last] - self._latest.get(last, reached[last]), 0)
        limit = reached[last] + gained
        return [feed for feed in ready if reached[feed.name] <= limit]


def add_ranges(positions: Positions, ranges: Iterable[Range]) -> None:
    """Count ranges as handed out."""
    for part in ranges:
        positions.setdefault(part.stream, {})[part.path] = part.stop


@dataclass(slots=True)
class FileFeed:
    """The files of one stream; `done` says for each file that was begun where its next range begins."""

    name: str
    relation: Relation
    path: Path
    follow: bool
    done: dict[str, int | None]
    _files: Iterator[SourceFile] | None = None
    _cursor: Cursor | None = None
    _ahead: tuple[Range, int] | None = None
    _sizes: dict[str, int] = field(default_factory=dict)

    def has_more(self) -> bool:
        """Whether there is a range to hand out."""
        if self._ahead is None:
            self._ahead = self._find(None if not self.follow else None)
        return self._ahead is not None

    def take_bytes(self, size: int) -> list[Range]:
        """Ranges of about `size` bytes."""
        ranges: list[Range] = []
        while size > 0 and self.has_more():
            part = self._hand_out()
            ranges.append(part)
            size -= _weight(part)
        return ranges

    def take_rows(self, rows: int) -> tuple[list[Range], int]:
        """Ranges of at most `rows` rows in all, and how many they have."""
        ranges: list[Range] = []
        left = rows
        while left > 0:
            found = self._find(left)
            if found is None:
                break
            self._ahead = found
            ranges.append(self._hand_out())
            left -= found[1]
        return ranges, rows - left

    def close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None
