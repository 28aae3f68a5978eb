"""Queries that are held together: a family, and the place of each query in it, which stands where others have a holder of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.windows.decided_plan import DecidedPlan
    from cqc.runtime.windows.holder import Decisions
    from cqc.runtime.windows.waiting_rows import Rows

    Numbers = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Member:
    """One query of a family."""

    family: Family
    number: int
    seat: Seat
    plan: DecidedPlan

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL: the family counts them."""
        return 0

    def take(self, rows: Rows) -> None:
        """Rows come to the family."""
        raise NotImplementedError

    def decide(self, watermark_us: int) -> list[Decisions]:
        """The family decides for all of its members."""
        del watermark_us
        return []

    @property
    def nbytes(self) -> int:
        """Its part of what the family holds."""
        return self.family.nbytes // max(len(self.family), 1)

    def save(self) -> dict[str, Any]:
        """As a holder of its own would be saved."""
        return self.family.save(self)

    def load(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        self.family.load(self, state)


@dataclass(slots=True, eq=False)
class Reached:
    """Rows of some queries with the same outputs, such as rules that have reached their thresholds: those of a query end at `ends`."""

    rules: Sequence[Member]
    ends: NDArray[np.int64]
    times_us: NDArray[np.int64]
    columns: tuple[Column, ...]


class Family(Protocol):
    """Holds rows for all of its members."""

    def __len__(self) -> int:
        """How many members there are."""

    def remove(self, member: Any) -> None:
        """Forget a query."""

    def receive(self, found: Found) -> None:
        """Take what an operator found for the members."""

    def decide(self, watermark_us: int) -> Iterator[Reached]:
        """What is decided now."""

    def save(self, member: Any) -> dict[str, Any]:
        """What a holder for this query alone would save."""

    def load(self, member: Any, state: dict[str, Any]) -> None:
        """Take over what a query had saved."""

    @property
    def nbytes(self) -> int:
        """What is held."""

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""


class SeatedMembers:
    """Which members sit where: the keys of their seats, ascending, with the member at each."""

    def __init__(self, members: Mapping[int, Member]) -> None:
        keys = np.array([member.seat.key for member in members.values()], np.int64)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._numbers = np.array(list(members), np.int64)[order]
        self._distinct = np.unique(keys)

    def pairs(self, found: Found) -> tuple[Numbers, Numbers]:
        """The rows that members want: a member, and the row, by member and in the order of the rows."""
        matches = found.matches(self._distinct)
        if not len(matches.rows):
            return matches.rows, matches.rows
        begins = np.searchsorted(self._keys, matches.keys)
        times = np.searchsorted(self._keys, matches.keys, "right") - begins
        if (times == 1).all():
            return np.repeat(self._numbers[begins], matches.counts), matches.rows
        # Members that share a seat have its rows each.
        firsts = np.repeat(np.cumsum(matches.counts) - matches.counts, times)
        counts = np.repeat(matches.counts, times)
        at = np.repeat(begins, times) + _places(times)
        return np.repeat(self._numbers[at], counts), matches.rows[
            np.repeat(firsts, counts) + _places(counts)
        ]


def _places(counts: Numbers) -> Numbers:
    """0, 1, 2 and so on for each of some counts, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
