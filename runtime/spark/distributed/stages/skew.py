"""Values that bring one cell more than its share of the tuples, and how they are spread.

A join by hash sends all tuples of one value to one cell. Where a value is *heavy*, the stream that has most of its tuples is
dealt out over all cells instead, and the tuples that the other streams have of it are copied to every cell. A result has one
tuple of the dealt stream, so it is found in one cell still. That stream must therefore be in every query of the group,
once.

Tuples are kept for as long as their windows say, so a value is spread in two steps. First the other streams are copied, while
the heavy stream still goes where it went. Once the cell that had the value has let go of everything older than that, every cell
knows what it needs, and dealing out begins:

    micro-batch   1 2 3   4 5 6          7 8 9
    A (heavy)     home    home           in turn
    B             home    to every cell  to every cell
                          ^ seen heavy   ^ home holds no B of 1-3 any more

Both steps are changes like those of the query set: they are in the header of every micro-batch that follows and in checkpoints.
Which values are heavy is estimated from samples that tasks take, and forgotten when the driver restarts; answers do not
depend on it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.spark.distributed.messages.spec import Spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.graph.partitioning import Group

SAMPLED = 512  # tuples of a packet
_LEAST_TUPLES = 20_000  # that came to a group's cells, before anything is said of it
_MOST_SPREAD = 64  # values of a group


@dataclass(slots=True)
class Load:
    """What tasks saw go to the cells of groups: tuples by stream, and estimates for frequent values."""

    tuples: Counter[tuple[int, str]] = field(default_factory=Counter)  # by group and stream
    values: Counter[tuple[int, str, int]] = field(default_factory=Counter)  # and code of the value

    def note(self, group: int, stream: str, codes: NDArray[np.int64], cells: int) -> None:
        """Take a sample of what goes to the cells of a group."""
        self.tuples[group, stream] += len(codes)
        step = max(-(-len(codes) // SAMPLED), 1)
        found, counts = np.unique(codes[::step], return_counts=True)
        frequent = np.flatnonzero(counts * 2 * cells >= counts.sum())
        for at in frequent.tolist():
            self.values[group, stream, int(found[at])] += int(counts[at]) * step

    def add(self, other: Load) -> None:
        self.tuples.update(other.tuples)
        self.values.update(other.values)


class Skew:
    """The driver's part: decides what is spread, and when.

    Args:
        least: tuples that must have come to a group before a value of it can be heavy.
    """

    def __init__(self, least: int = _LEAST_TUPLES) -> None:
        self.least = least
        self._seen = Load()
        self._spread: dict[tuple[int, int], Spread] = {}  # by group and code
        self._since: dict[tuple[int, int], int] = {}  # the first micro-batch with copies

    def remember(self, spread: Spread, batch: int) -> None:
        """A step was taken, now or before a restart."""
        key = (spread.group, spread.code)
        if not spread.stream:
            self._spread.pop(key, None)
            return
        self._spread[key] = spread
        if not spread.dealt:
            self._since[key] = batch

    def note(self, load: Load) -> None:
        self._seen.add(load)

    def starting(
        self, groups: Iterable[Group], queries: Mapping[str, QueryNode]
    ) -> Iterable[Spread]:
        """Values that have become heavy: copies of them are made from the next micro-batch on."""
        for group in groups:
            total = sum(self._seen.tuples[group.number, stream] for stream in group.streams)
            if total < self.least or not is_hashed(group):
                continue
            already = sum(number == group.number for number, _ in self._spread)
            heavy = self._heavy(group, total)[: _MOST_SPREAD - already]
            able = dealable(queries[name] for name in group.queries if heavy)
            for code in heavy:
                stream = self._heaviest(group, code)
                if stream in able:
                    yield Spread(group.number, stream, code, dealt=False)
            self._forget(group)

    def ready(self, group: int, cell: int, cells: int, oldest: int | None) -> Iterable[Spread]:
        """Values that can be dealt out, since the cell where they were holds nothing older than micro-batch `oldest`."""
        for (number, code), spread in self._spread.items():
            if number != group or spread.dealt:
                continue
            if int(places(np.array([code]), cells)[0]) != cell:
                continue
            if oldest is None or oldest >= self._since[number, code]:
                yield replace(spread, dealt=True)

    def _heavy(self, group: Group, total: int) -> list[int]:
        """The codes of values with more tuples than a cell's share, most first."""
        counts: Counter[int] = Counter()
        for (number, _, code), count in self._seen.values.items():
            if number == group.number and (number, code) not in self._spread:
                counts[code] += count
        return [code for code, count in counts.most_common() if count * group.cells > total]

    def _heaviest(self, group: Group, code: int) -> str:
        seen = self._seen.values
        return max(sorted(group.streams), key=lambda stream: seen[group.number, stream, code])

    def _forget(self, group: Group) -> None:
        """Begin to count anew: what was frequent long ago need not be now."""
        for counter in (self._seen.tuples, self._seen.values):
            for key in [each for each in counter if each[0] == group.number]:
                del counter[key]


def is_hashed(group: Group) -> bool:
    """Whether every tuple of a group goes to the one cell of its value."""
    return (
        group.cells > 1
        and len(group.axes) == 1
        and len(group.axes[0].columns) == len(group.streams)
        and not group.whole
    )


def dealable(queries: Iterable[QueryNode]) -> frozenset[str]:
    """The streams that every one of some joins has exactly once; none when one of them keeps tuples for ever."""
    able: frozenset[str] | None = None
    for node in queries:
        if node.pull is not None or node.decided is not None or node.patterns:
            return frozenset()  # the rows of a key belong together
        times = Counter(fold(each.name) for each in node.body.relations if each.is_stream)
        once = frozenset(stream for stream, count in times.items() if count == 1)
        able = once if able is None else able & once
    return able or frozenset()


def places(codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The place of each code on an axis."""
    mixed = codes.view(np.uint64).copy()
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed >>= np.uint64(32)
    return (mixed % np.uint64(size)).astype(np.int64)
