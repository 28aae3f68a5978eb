"""Combinations that wait for their guards, in the order in which they were found.

They lie in chunks. Each chunk knows from which watermark on one of its rows can be decided, so a watermark that moves looks only at
chunks where that is so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

_SMALL = 1024  # a chunk of fewer rows takes the next ones too


@dataclass(slots=True, eq=False)
class Chunk:
    """Rows that came together.

    Of each: its rule, the positions of its tuples by item, their latest event time, and for each guard the entry that is watched
    and the last instant (as in `Guard.reach`).
    """

    rules: NDArray[np.int64]
    positions: Sequence[NDArray[np.int64]]
    times_us: NDArray[np.int64]
    entries: Sequence[NDArray[np.int64]]
    lasts: Sequence[NDArray[np.int64]]
    soonest: list[int] = field(init=False)  # by guard, the least of the last instants

    def __post_init__(self) -> None:
        self.soonest = [int(last.min()) if len(last) else 0 for last in self.lasts]

    def __len__(self) -> int:
        return len(self.rules)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Chunk:
        """Some of the rows."""
        return Chunk(
            self.rules[rows],
            [each[rows] for each in self.positions],
            self.times_us[rows],
            [each[rows] for each in self.entries],
            [each[rows] for each in self.lasts],
        )

    @property
    def nbytes(self) -> int:
        arrays = (self.rules, self.times_us, *self.positions, *self.entries, *self.lasts)
        return sum(int(each.nbytes) for each in arrays)


def together(chunks: Sequence[Chunk]) -> Chunk:
    """The rows of several chunks."""
    if len(chunks) == 1:
        return chunks[0]
    return Chunk(
        np.concatenate([each.rules for each in chunks]),
        _joined([each.positions for each in chunks]),
        np.concatenate([each.times_us for each in chunks]),
        _joined([each.entries for each in chunks]),
        _joined([each.lasts for each in chunks]),
    )


def _joined(columns: Iterable[Sequence[NDArray[np.int64]]]) -> list[NDArray[np.int64]]:
    return [np.concatenate(parts) for parts in zip(*columns, strict=True)]


class PendingRows:
    """All rows of one pattern that are not decided."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def __len__(self) -> int:
        return sum(map(len, self.chunks))

    def append(self, chunk: Chunk) -> None:
        """Let more rows wait."""
        if self.chunks and len(self.chunks[-1]) < _SMALL:
            self.chunks[-1] = together([self.chunks[-1], chunk])
        else:
            self.chunks.append(chunk)

    def leave(self, chunks: Iterable[Chunk]) -> None:
        """What is left after some were decided."""
        self.chunks = [each for each in chunks if len(each)]

    def follow(self, guard: int, change: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Entries of a guard have moved."""
        for chunk in self.chunks:
            entries = list(chunk.entries)
            entries[guard] = change(entries[guard])
            chunk.entries = entries

    def drop_rule(self, rule: int) -> None:
        """Forget the rows of a rule that has left."""
        self.leave([chunk.take(chunk.rules != rule) for chunk in self.chunks])

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.chunks)
