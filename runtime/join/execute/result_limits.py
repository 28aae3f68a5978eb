"""What a join finds while each slot may find so much: a list that says when one of them has had enough.

Results are added train by train, each with its number of rows a slot. The slot that goes too far is known then, long before its
results fill the memory, and the join can begin again without it. Families are left alone: their members have one slot, and
one that finds too much must not silence the others.

    most 1,000    trains of 400 for slot 3 and 10 for slot 5: at the third one slot 3 has 1,200
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.slots import Member


TOO_MANY = "it had too many results in one micro-batch"


class Flood(Exception):  # noqa: N818 - the join that set the bound goes on
    """Some slots have found more than they may, or taken more time, or nobody wants them any more."""

    def __init__(self, slots: list[int], why: str, members: Sequence[Member] = ()) -> None:
        super().__init__()
        self.slots = slots
        self.members = members  # that have to leave whatever else is in their slots
        self.why = why  # in the words of whoever is told that a query was stopped


class FoundWithin(list["JoinResults"]):
    """The findings of one packet.

    Args:
        most: rows that a slot may have.
        slots: how many slots there are.
        families: the slots that are not looked at.
    """

    def __init__(self, most: int, slots: int, families: NDArray[np.int64]) -> None:
        super().__init__()
        self._most = np.full(slots, most, np.int64)
        self._most[families] = np.iinfo(np.int64).max
        self._counts = np.zeros(slots, np.int64)

    def __iadd__(self, more: Iterable[JoinResults]) -> Self:  # type: ignore[override, misc]  # takes results only
        """Add findings.

        Raises:
            Flood: when a slot has too many.
        """
        for each in more:
            self.append(each)
            self._counts += each.counts
        over = np.flatnonzero(self._counts > self._most)
        if len(over):
            raise Flood(over.tolist(), TOO_MANY)
        return self

    def take_back(self) -> None:
        """Nothing of it was found."""
        for each in self:
            each.uncount()
        self.clear()
