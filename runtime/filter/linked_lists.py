"""Many short lists of numbers in one array of links, so that kernels can walk them and Python can change them.

heads  2 -1 1        links (number, next)  (7, -1) (9, -1) (8, 0)      list 0: 8 7   list 1: empty   list 2: 9
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from cqc.runtime.columns.growing_array import Growing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_END = -1


class AtomLists:
    """Lists of numbers, newest first."""

    def __init__(self) -> None:
        self._heads = Growing(np.int32)
        self._lengths = Growing(np.int32)
        self._links = Growing(np.int32, 2)  # number, next
        self._free: list[int] = []
        self.lists_in_use = 0

    def __len__(self) -> int:
        return len(self._heads)

    @property
    def nbytes(self) -> int:
        return self._heads.nbytes + self._lengths.nbytes + self._links.nbytes

    @property
    def heads(self) -> NDArray[np.int32]:
        """For each list its first link, or -1."""
        return self._heads.view()

    @property
    def links(self) -> NDArray[np.int32]:
        """Number and next link."""
        return self._links.view()

    def new_list(self) -> int:
        """Start a list; returns which it is."""
        self._lengths.append(0)
        return self._heads.append(_END)

    def reserve(self, count: int) -> None:
        """Have at least so many lists."""
        missing = count - len(self._heads)
        if missing > 0:
            self._lengths.extend(np.zeros(missing, np.int32))
            self._heads.extend(np.full(missing, _END, np.int32))

    def add(self, at: int, number: int) -> None:
        """Put a number into a list."""
        link = (number, self._heads.view()[at])
        if self._free:
            place = self._free.pop()
            self._links.view()[place] = link
        else:
            place = self._links.append(link)
        self._heads.view()[at] = place
        lengths = self._lengths.view()
        self.lists_in_use += not lengths[at]
        lengths[at] += 1

    def remove(self, at: int, number: int) -> None:
        """Take a number out of a list that has it."""
        self._free.append(unlink(self._heads.view(), self._links.view(), at, number))
        lengths = self._lengths.view()
        lengths[at] -= 1
        self.lists_in_use -= not lengths[at]

    def members(self, at: int) -> list[int]:
        """The numbers of a list."""
        links, link, found = self._links.view(), int(self._heads.view()[at]), []
        while link >= 0:
            found.append(int(links[link, 0]))
            link = int(links[link, 1])
        return found

    def spread(
        self, tuples: NDArray[np.int32], lists: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For tuples that each hit a list: the tuples and numbers of all members."""
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
