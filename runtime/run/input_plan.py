"""Which part of the input comes next: files are found in name order and handed out as ranges, one micro-batch at a time.

Streams that are behind in event time come first, so that joins keep no more state than their windows ask for. What was
handed out is told by `positions`; a planner that starts from them goes on where the other one stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sources.connections import open_feed
from cqc.runtime.sources.file_feed import FileFeed, weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources.connections import Feed
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.range import Range

Positions = dict[str, dict[str, "Place"]]  # stream -> file -> where its next range begins

BYTES_PER_BATCH = 16 * 1024 * 1024  # of each stream
_BEFORE_ALL = -(2**63)


class Planner:
    """Hands out ranges of the files of some streams.

    Args:
        places: by folded name, the stream and its file or folder (None: its WITH clause names a connection).
        follow: look for more input for ever.
        rows_per_batch: how many rows a micro-batch may have.
        positions: what was handed out before.
        spool: a folder for what comes by a connection and cannot be asked for again; a temporary one by default.
        warn: told of files that were begun and changed, or went away.

    Raises:
        RunError: when a file or folder is not there.
    """

    def __init__(
        self,
        places: Mapping[str, tuple[Relation, Path | None]],
        *,
        follow: bool = False,
        rows_per_batch: int | None = None,
        positions: Positions | None = None,
        spool: Path | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._rows = rows_per_batch
        self._warn = warn
        self._follow, self._spool = follow, spool
        self._done = positions or {}
        self._feeds: list[Feed] = []
        self._failure: RunError | None = None  # of one feed, told when the others had their turn
        try:
            for name, (relation, path) in places.items():
                self.add(self.open(name, relation, path))
        except BaseException:
            self.close()
            raise
        self._latest: dict[str, int] = {}
        self._turn = 0

    def open(self, name: str, relation: Relation, path: Path | None) -> Feed:
        """The feed of a stream, for `add`.

        Raises:
            RunError: when there is nothing to read from.
        """
        done = self._done.get(name, {})
        return open_feed(
            name, relation, path, done, follow=self._follow, spool=self._spool, warn=self._warn
        )

    def add(self, feed: Feed) -> None:
        """Hand out the ranges of one more stream."""
        self._feeds.append(feed)

    def next_batch(self, latest_us: Mapping[str, int]) -> list[Range]:
        """The ranges of the next micro-batch; none when there is no input (at present, for one that follows).

        Args:
            latest_us: how far each stream is in event time.

        Raises:
            RunError: when one feed cannot go on. Nothing that was handed out is lost by it, and the others go on when
                they are asked again.
        """
        self._raise_failure()
        ready = [feed for feed in self._feeds if self._look(feed)]
        while ready:
            chosen = self._behind(ready, latest_us)
            ranges = self._take(chosen)
            if ranges:
                self._latest = dict(latest_us)
                return ranges
            ready = [feed for feed in ready if feed not in chosen]
        self._raise_failure()
        return []

    def give_back(self, part: Range) -> None:
        """A range could not be read: it counts as not handed out."""
        for feed in self._feeds:
            if feed.name == part.stream:
                feed.give_back(part)

    @property
    def ended(self) -> bool:
        """Whether there will never be more."""
        return all(feed.ended for feed in self._feeds)

    @property
    def share(self) -> float | None:
        """What part of the bytes of all files was handed out; None where there are none."""
        parts = [feed.read_and_all() for feed in self._feeds if isinstance(feed, FileFeed)]
        every = sum(each for _, each in parts)
        return min(sum(read for read, _ in parts) / every, 1.0) if every else None

    @property
    def places(self) -> int:
        """How many files, or the like, were begun."""
        return sum(len(feed.done) for feed in self._feeds)

    def forget_gone(self) -> None:
        """Forget the files that are no longer there."""
        for feed in self._feeds:
            feed.forget_gone()

    def done_with_all(self) -> None:
        """Everything that was handed out was read, and will not be asked for again."""
        for feed in self._feeds:
            feed.done_with_all()

    def positions(self) -> Positions:
        """Where each file's next range begins."""
        return {feed.name: dict(feed.done) for feed in self._feeds}

    def close(self) -> None:
        """Let go of the files."""
        for feed in self._feeds:
            feed.close()

    def _look(self, feed: Feed) -> bool:
        """See whether a feed has more; whether it can be asked for it."""
        try:
            feed.look()
        except RunError as error:
            self._failure = error
            return False
        return not feed.ended

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _taken_of(self, feed: Feed, rows: int | None) -> tuple[Range, int] | None:
        """The next range of a feed. A failure is kept until what was taken before it is on its way."""
        try:
            return feed.take(rows)
        except RunError as error:
            self._failure = error
            return None

    def _take(self, chosen: list[Feed]) -> list[Range]:
        if self._rows is None:
            return [part for feed in chosen for part in self._take_bytes(feed, BYTES_PER_BATCH)]
        self._turn += 1
        first = self._turn % len(chosen)
        left = self._rows
        share = max(left // len(chosen), 1)
        ranges: list[Range] = []
        for feed in chosen[first:] + chosen[:first]:
            taken = self._take_rows(feed, min(share, left))
            ranges += [part for part, _ in taken]
            left -= sum(rows for _, rows in taken)
            if left <= 0:
                break
        return ranges

    def _behind(self, ready: list[Feed], latest_us: Mapping[str, int]) -> list[Feed]:
        """The stream that is furthest behind, and those that its next ranges may overtake."""
        if len(ready) == 1:
            return ready
        reached = {feed.name: latest_us.get(feed.name, _BEFORE_ALL) for feed in ready}
        last = min(ready, key=lambda feed: reached[feed.name]).name
        gained = max(reached[last] - self._latest.get(last, reached[last]), 0)
        return [feed for feed in ready if reached[feed.name] <= reached[last] + gained]

    def _take_bytes(self, feed: Feed, size: int) -> list[Range]:
        """Ranges of about `size` bytes."""
        ranges: list[Range] = []
        while size > 0 and (found := self._taken_of(feed, None)) is not None:
            ranges.append(found[0])
            size -= weight(found[0])
        return ranges

    def _take_rows(self, feed: Feed, rows: int) -> list[tuple[Range, int]]:
        """Ranges of at most `rows` rows in all."""
        ranges: list[tuple[Range, int]] = []
        while rows > 0 and (found := self._taken_of(feed, rows)) is not None:
            ranges.append(found)
            rows -= found[1]
        return ranges


def add_ranges(positions: Positions, ranges: Iterable[Range]) -> None:
    """Count ranges as handed out."""
    for part in ranges:
        positions.setdefault(part.stream, {})[part.path] = part.place
