r"""The latest results, numbered, for watchers that read at their own pace and come back after a disconnect.

Results are kept as the text of their lines, a micro-batch in a piece, and forgotten from the front when they take more than
a number of bytes. A watcher is only a number in this log: a slow one costs nothing, and one that is so slow that its place
has been forgotten is told so. Written by the engine's thread and read by the server's, hence the lock.

    first 1: {"query": "q1", ...}\n{"query": "q2", ...}\n       ids 1, 2
    first 3: {"query": "q1", ...}\n                             id 3
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.deliver.results import merge
from cqc.runtime.sinks.lines import LINES_AT_ONCE, result_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.deliver.results import ResultBlock

_NEWLINE = ord("\n")
_BYTES_PER_LINE = 16  # of `ends` and `queries`


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive results: their lines, where each ends, and the number of each one's query."""

    first: int
    text: bytes
    ends: NDArray[np.int64]
    queries: NDArray[np.int64]

    @property
    def stop(self) -> int:
        """The number of the result after the last."""
        return self.first + len(self.ends)

    @property
    def size(self) -> int:
        return len(self.text) + _BYTES_PER_LINE * len(self.ends)

    def places(self, begin: int, query: int | None) -> Sequence[int]:
        """Where the lines of a query (None: of all) are, from a place on."""
        if query is None:
            return range(begin, len(self.ends))
        found: list[int] = (np.flatnonzero(self.queries[begin:] == query) + begin).tolist()
        return found

    def count(self, begin: int, query: int | None) -> int:
        """How many lines of a query (None: of all) there are from a place on."""
        if query is None:
            return max(len(self.ends) - begin, 0)
        return int(np.count_nonzero(self.queries[begin:] == query))

    def line(self, at: int) -> bytes:
        """One line without its line end."""
        start = int(self.ends[at - 1]) if at else 0
        return self.text[start : int(self.ends[at]) - 1]


@dataclass(frozen=True, slots=True)
class Page:
    """Some results for a watcher: numbers with lines, where to go on, and whether some before them are forgotten."""

    lines: list[tuple[int, bytes]]
    next: int
    lost: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """How many results came in each of some spans of equal length; the first one begins `begin` seconds since the epoch."""

    begin: float
    seconds: float  # of one span
    counts: list[int]


class ResultLog:
    """Pieces in the order of their numbers.

    Args:
        most_bytes: what the results may take together; the latest piece is kept whatever it takes.
        next_number: the number of the next result.
        now: seconds since the epoch.
    """

    def __init__(
        self, most_bytes: int, next_number: int = 1, now: Callable[[], float] = time.time
    ) -> None:
        self._most_bytes = most_bytes
        self._now = now
        self._pieces: list[Piece] = []
        self._firsts: list[int] = []
        self._times: list[float] = []  # when each piece came
        self._bytes = 0
        self._next = next_number
        self._lock = threading.Lock()

    @property
    def next_number(self) -> int:
        """The number that the next result will have."""
        return self._next

    @property
    def oldest(self) -> int:
        """The number of the oldest result that is kept."""
        with self._lock:
            return self._firsts[0] if self._firsts else self._next

    @property
    def size(self) -> int:
        """The bytes of all results that are kept."""
        return self._bytes

    def append(self, pieces: Sequence[Piece]) -> None:
        """Add results that are numbered already."""
        with self._lock:
            for piece in pieces:
                self._pieces.append(piece)
                self._firsts.append(piece.first)
                self._times.append(self._now())
                self._bytes += piece.size
                self._next = piece.stop
            self._forget()

    def read(self, start: int, query: int | None = None, most: int = 500) -> Page:
        """Up to `most` results from a number on, those of one query if it is given."""
        with self._lock:
            at = max(bisect_right(self._firsts, start) - 1, 0)
            pieces = self._pieces[at:]
            lost = start < (self._firsts[0] if self._firsts else self._next)
        found: list[tuple[int, bytes]] = []
        for piece in pieces:
            begin = max(start - piece.first, 0)
            for place in piece.places(begin, query):
                found.append((piece.first + place, piece.line(place)))
                if len(found) == most:
                    return Page(found, piece.first + place + 1, lost)
            start = max(start, piece.stop)
        return Page(found, start, lost)

    def last(self, query: int | None = None, most: int = 500) -> list[tuple[int, bytes]]:
        """The latest results, the newest first: numbers with lines."""
        with self._lock:
            pieces = list(self._pieces)
        found: list[tuple[int, bytes]] = []
        for piece in reversed(pieces):
            for place in reversed(piece.places(0, query)):
                found.append((piece.first + place, piece.line(place)))
                if len(found) == most:
                    return found
        return found

    def skip(self, start: int, query: int | None, most: int) -> tuple[int, int]:
        """Where to go on so that at most so many results are left to read, and how many of them are left out before that."""
        with self._lock:
            at = max(bisect_right(self._firsts, start) - 1, 0)
            pieces = self._pieces[at:]
        left = [piece.count(max(start - piece.first, 0), query) for piece in pieces]
        skipped = 0
        for piece, count in zip(pieces, left, strict=True):
            total = sum(left) - skipped
            if total - count >= most:  # the whole piece can go
                skipped += count
                start = max(start, piece.stop)
                continue
            places = piece.places(max(start - piece.first, 0), query)
            gone = max(total - most, 0)
            return (piece.first + places[gone] if gone else start), skipped + gone
        return start, skipped

    def counts(self, query: int | None, seconds: float, spans: int) -> Counts:
        """How many results came in each span of time until now."""
        now = self._now()
        begin = (int(now / seconds) + 1 - spans) * seconds
        with self._lock:
            first = bisect_left(self._times, begin)
            pieces, times = self._pieces[first:], self._times[first:]
        counts = [0] * spans
        for piece, when in zip(pieces, times, strict=True):
            counts[min(int((when - begin) / seconds), spans - 1)] += piece.count(0, query)
        return Counts(begin, seconds, counts)

    def _forget(self) -> None:
        gone = 0
        while self._bytes > self._most_bytes and gone < len(self._pieces) - 1:
            self._bytes -= self._pieces[gone].size
            gone += 1
        del self._pieces[:gone], self._firsts[:gone], self._times[:gone]


def render(
    blocks: Sequence[ResultBlock], first: int, number_of: Callable[[str], int]
) -> Iterator[Piece]:
    """The results of one micro-batch as pieces, numbered from `first`; `number_of` tells the number of a query."""
    blocks = [block for block in blocks if len(block)]
    block_of, _ = merge(blocks)
    numbers = np.array([number_of(block.query) for block in blocks], np.int64)
    queries = numbers[block_of] if len(blocks) else numbers
    for at, lines in enumerate(result_lines(blocks)):
        own = queries[at * LINES_AT_ONCE : (at + 1) * LINES_AT_ONCE]
        yield piece_of(first, bytes(lines), own)
        first += len(own)


def piece_of(first: int, text: bytes, queries: NDArray[np.int64]) -> Piece:
    """A piece of text whose lines end with a line end; no result line has one inside."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1
    return Piece(first, text, ends, queries)
