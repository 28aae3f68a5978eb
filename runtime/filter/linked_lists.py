"""Many short lists of numbers in one array of links, so that kernels can walk them and Python can change them.

heads  2 -1 1        links (number, next)  (7, -1) (9, -1) (8, 0)      list 0: 8 7   list 1: empty   list 2: 9
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.growing_array import Growing
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_END = -1
_FEW = 16  # numbers that are linked one by one


class AtomLists:
    """Lists of numbers, newest first.

    Thousands of queries that come together add a hundred thousand numbers, so these wait and are linked all at once, when
    somebody asks for the lists.
    """

    def __init__(self) -> None:
        self._heads = Growing(np.int32)
        self._lengths = Growing(np.int32)
        self._links = Growing(np.int32, 2)  # number, next
        self._free: list[int] = []
        self._count = 0
        self._waiting: list[int] = []  # list, number, list, number, ..
        self._lists_in_use = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._heads.nbytes + self._lengths.nbytes + self._links.nbytes

    @property
    def heads(self) -> NDArray[np.int32]:
        """For each list its first link, or -1."""
        self._settle()
        return self._heads.view()

    @property
    def links(self) -> NDArray[np.int32]:
        """Number and next link."""
        self._settle()
        return self._links.view()

    @property
    def lists_in_use(self) -> int:
        """How many lists are not empty."""
        self._settle()
        return self._lists_in_use

    def new_list(self) -> int:
        """Start a list; returns which it is."""
        self._count += 1
        return self._count - 1

    def reserve(self, count: int) -> None:
        """Have at least so many lists."""
        self._count = max(self._count, count)

    def add(self, at: int, number: int) -> None:
        """Put a number into a list."""
        self._waiting += (at, number)

    def remove(self, at: int, number: int) -> None:
        """Take a number out of a list that has it."""
        self._settle()
        self._free.append(unlink(self._heads.view(), self._links.view(), at, number))
        lengths = self._lengths.view()
        lengths[at] -= 1
        self._lists_in_use -= not lengths[at]

    def _settle(self) -> None:
        """Link what waits."""
        missing = self._count - len(self._heads)
        if missing > 0:
            self._lengths.extend(np.zeros(missing, np.int32))
            self._heads.extend(np.full(missing, _END, np.int32))
        if not self._waiting:
            return
        waiting, self._waiting = np.array(self._waiting, np.int32).reshape(-1, 2), []
        if len(waiting) <= _FEW:
            for at, number in waiting.tolist():
                self._link(at, number)
        else:
            self._link_all(waiting[:, 0], waiting[:, 1])

    def _link(self, at: int, number: int) -> None:
        heads, lengths = self._heads.view(), self._lengths.view()
        heads[at] = self._place((number, heads[at]))
        self._lists_in_use += not lengths[at]
        lengths[at] += 1

    def _place(self, link: tuple[int, int]) -> int:
        if not self._free:
            return self._links.append(link)
        place = self._free.pop()
        self._links.view()[place] = link
        return place

    def _take_places(self, count: int) -> NDArray[np.int32]:
        """Places for so many links, free ones first."""
        kept = max(len(self._free) - count, 0)
        free, self._free = self._free[kept:], self._free[:kept]
        first, more = len(self._links), count - len(free)
        self._links.extend(np.empty((more, 2), np.int32))
        return np.concatenate(
            (np.array(free, np.int32), np.arange(first, first + more, dtype=np.int32))
        )

    def _link_all(self, lists: NDArray[np.int32], numbers: NDArray[np.int32]) -> None:
        heads, lengths = self._heads.view(), self._lengths.view()
        order = np.argsort(lists, kind="stable")
        lists, places = lists[order], self._take_places(len(lists))
        self._links.view()[places, 0] = numbers[order]
        is_first = np.ones(len(lists), np.bool_)
        is_first[1:] = lists[1:] != lists[:-1]
        # Each link leads to the one of its list that came before it, the first to what the list had.
        before = np.where(is_first, heads[lists], np.roll(places, 1))
        self._links.view()[places, 1] = before
        starts = np.flatnonzero(is_first)
        heads[lists[starts]] = places[np.append(starts[1:], len(lists)) - 1]
        self._lists_in_use += int(np.count_nonzero(lengths[lists[starts]] == 0))
        lengths[lists[starts]] += np.diff(np.append(starts, len(lists))).astype(np.int32)

    def members(self, at: int) -> list[int]:
        """The numbers of a list."""
        self._settle()
        links, link, found = self._links.view(), int(self._heads.view()[at]), []
        while link >= 0:
            found.append(int(links[link, 0]))
            link = int(links[link, 1])
        return found

    def spread(
        self, tuples: NDArray[np.int32], lists: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For tuples that each hit a list: the tuples and numbers of all members."""
        self._settle()
        total = int(self._lengths.view()[lists].sum())
        out_tuples, out_numbers = np.empty(total, np.int32), np.empty(total, np.int32)
        if total:
            spread_lists(tuples, lists, self.heads, self.links, out_tuples, out_numbers)
        return out_tuples, out_numbers


@njit(cache=True, nogil=True)
def unlink(heads, links, at, number):  # type: ignore[no-untyped-def]
    """Take a number out of a list; returns its link, free now."""
    before, link = -1, heads[at]
    while links[link, 0] != number:
        before, link = link, links[link, 1]
    if before < 0:
        heads[at] = links[link, 1]
    else:
        links[before, 1] = links[link, 1]
    return link


@njit(cache=True, nogil=True)
def spread_lists(tuples, lists, heads, links, out_tuples, out_numbers):  # type: ignore[no-untyped-def]
    """Walk each tuple's list."""
    written = 0
    for at in range(len(tuples)):
        link = heads[lists[at]]
        while link >= 0:
            out_tuples[written] = tuples[at]
            out_numbers[written] = links[link, 0]
            written += 1
            link = links[link, 1]
