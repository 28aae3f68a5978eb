"""Which queries want a row, as a number: sets of queries, each written down once.

Rows that wait for many queries at once carry the number of their set (their audience) instead of a copy for each query.

    rows for queries {0, 2}, {1}, {0, 2}     audiences 0, 1, 0      0: 0 2      1: 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.state.key_table import locate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_PAIRS_AT_ONCE = 1 << 21
_FEW = 1_024


class Audiences:
    """Sets of members. Numbers go from 0 on, and stay until `keep`."""

    def __init__(self) -> None:
        self._begins = np.zeros(1, np.int64)  # where the members of each begin, and the end of all
        self._members = np.zeros(0, np.int64)
        self._worth = _FEW  # with so many it is worth to see which are still used

    def __len__(self) -> int:
        return len(self._begins) - 1

    @property
    def nbytes(self) -> int:
        """Memory of the sets."""
        return int(self._begins.nbytes + self._members.nbytes)

    @property
    def are_many(self) -> bool:
        """Whether it is time to call `keep`."""
        return len(self) > self._worth

    def add(self, lengths: Numbers, members: Numbers) -> Numbers:
        """The numbers of new sets, whose members stand one set after the other, ascending in each."""
        first = len(self)
        ends = int(self._begins[-1]) + np.cumsum(lengths)
        self._begins = np.concatenate((self._begins, ends))
        self._members = np.concatenate((self._members, members))
        return np.arange(first, first + len(lengths))

    def keep(self, used: Numbers) -> Numbers:
        """Forget all other sets (`used` has each number once, ascending); the new number of each old one."""
        renamed = np.full(len(self), -1, np.int64)
        renamed[used] = np.arange(len(used))
        lengths = self.lengths()[used]
        at, _ = self._spread(used)
        self._members = self._members[at]
        self._begins = np.concatenate(([0], np.cumsum(lengths)))
        self._worth = max(_FEW, 4 * len(used))
        return renamed

    def forget(self, member: int) -> None:
        """Take a member out of all sets."""
        stays = self._members != member
        lost = np.concatenate(([0], np.cumsum(~stays)))
        self._begins = self._begins - lost[self._begins]
        self._members = self._members[stays]

    def having(self, member: int) -> NDArray[np.bool_]:
        """For each set whether the member is in it."""
        found = np.zeros(len(self), np.bool_)
        found[np.repeat(np.arange(len(self)), self.lengths())[self._members == member]] = True
        return found

    def pairs(self, audiences: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """(row, member) for rows with these audiences: by member, rows ascending; some members at a time where there are many."""
        wanted = np.bincount(audiences, minlength=len(self))
        owners = np.repeat(np.arange(len(self)), self.lengths())
        counts = np.bincount(self._members, weights=wanted[owners]).astype(np.int64)
        begin = 0
        while begin < len(counts):
            sums = np.cumsum(counts[begin:])
            end = begin + max(int(np.searchsorted(sums, _PAIRS_AT_ONCE, "right")), 1)
            some = counts[begin:end]
            if some.any():
                rows = np.empty(int(some.sum()), np.int64)
                pairs_of(
                    audiences, self._begins, self._members, begin, np.cumsum(some) - some, rows
                )
                yield rows, np.repeat(np.arange(begin, end), some)
            begin = end

    def top(
        self,
        audiences: Numbers,
        first: Numbers,
        peer_first: Numbers,
        counted: int,
        most: int,
    ) -> tuple[Numbers, Numbers]:
        """(place, member) for the rows that are among the first of their partition to the member; places are in the order of OVER.

        `counted` says what goes before a row: 0 rows (ROW_NUMBER), 1 rows before its peers (RANK), 2 groups of peers (DENSE_RANK);
        a row is taken while that is less than `most`.
        """
        size = int(self._members.max()) + 1 if len(self._members) else 0
        state = np.empty((size, 5), np.int64)
        found = np.empty((2, 4 * size + _FEW), np.int64)
        while True:
            state[:, :] = -1
            sets = (audiences, self._begins, self._members)
            count = top_of(sets, first, peer_first, counted, most, state, found)
            if count <= found.shape[1]:
                break
            found = np.empty((2, count), np.int64)
        found = found[:, :count]
        order = np.argsort(found[1], kind="stable")
        return found[0][order], found[1][order]

    def lengths(self) -> Numbers:
        """How many members each set has."""
        return np.diff(self._begins)

    def _spread(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Where the members of some sets are, one set after the other, and how many each has."""
        lengths = self.lengths()[numbers]
        offsets = np.repeat(self._begins[numbers] - (np.cumsum(lengths) - lengths), lengths)
        return offsets + np.arange(len(offsets)), lengths


class KnownSets:
    """Sets of places that rows were wanted at, as rows of bits, and the audience of each.

    Args:
        audiences: where the members of a set of places are written down.
        words: of a row of bits.
        counts: how many members are at each place.
        begins: where they begin among the members.
    """

    def __init__(
        self, audiences: Audiences, words: int, counts: Numbers, begins: Numbers, members: Numbers
    ) -> None:
        self._audiences = audiences
        self._counts, self._begins, self._members = counts, begins, members
        self._bits = np.zeros((256, words), np.int64)
        self._table = np.full(512, -1, np.int64)
        self._used = 0
        self._of_bits = np.zeros(0, np.int64)

    def of(self, bits: Numbers) -> Numbers:
        """The audience of each row of bits; none may be empty."""
        self._reserve(len(bits))
        known = self._used
        numbers, self._used = locate(bits, self._bits, self._table, self._used, True)
        if self._used > known:
            fresh = np.ascontiguousarray(self._bits[known : self._used]).view(np.uint64)
            lengths, places = bits_as_sets(fresh, len(self._counts))
            sizes, members = self.members_at(places)
            ends = np.cumsum(np.concatenate(([0], sizes)))
            cuts = np.cumsum(np.concatenate(([0], lengths)))
            added = self._audiences.add(np.diff(ends[cuts]), members)
            self._of_bits = np.concatenate((self._of_bits, added))
        found: Numbers = self._of_bits[numbers]
        return found

    def members_at(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """How many members are at each of some places, and who, one place after the other."""
        sizes = self._counts[places]
        offsets = np.repeat(self._begins[places] - (np.cumsum(sizes) - sizes), sizes)
        return sizes, self._members[offsets + np.arange(len(offsets))]

    def _reserve(self, count: int) -> None:
        needed = self._used + count
        if needed <= len(self._bits):
            return
        capacity = 1 << int(2 * needed - 1).bit_length()
        known = self._bits[: self._used]
        self._bits = np.zeros((capacity, known.shape[1]), np.int64)
        self._table = np.full(2 * capacity, -1, np.int64)
        locate(known, self._bits, self._table, 0, True)


def bits_as_sets(bits: NDArray[np.uint64], count: int) -> tuple[Numbers, Numbers]:
    """Rows of bits as sets: how many each has, and which, one row after the other."""
    spread = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :count]
    rows, members = np.nonzero(spread)
    return np.bincount(rows, minlength=len(bits)), members.astype(np.int64)


@njit(cache=True, nogil=True)
def pairs_of(audiences, begins, members, least, places, rows):  # type: ignore[no-untyped-def]
    """Write each row at the place of each of its members from `least` on, as far as there are places."""
    for row in range(len(audiences)):
        audience = audiences[row]
        for at in range(begins[audience], begins[audience + 1]):
            member = members[at] - least
            if 0 <= member < len(places):
                rows[places[member]] = row
                places[member] += 1


@njit(cache=True, nogil=True)
def top_of(sets, first, peer_first, counted, most, state, found):  # type: ignore[no-untyped-def]
    """Write what `Audiences.top` finds as far as there is room, and say how much that is."""
    audiences, begins, members = sets
    written = 0
    for place in range(len(audiences)):
        audience = audiences[place]
        for at in range(begins[audience], begins[audience + 1]):
            # Of a member: its partition, its peers, rows before the peers, groups of peers before, rows before.
            own = state[members[at]]
            if own[0] != first[place]:
                own[0], own[1], own[3], own[4] = first[place], -1, -1, 0
            if own[1] != peer_first[place]:
                own[1], own[2] = peer_first[place], own[4]
                own[3] += 1
            before = own[4]
            if counted == 1:
                before = own[2]
            elif counted == 2:
                before = own[3]
            if before < most:
                if written < found.shape[1]:
                    found[0, written], found[1, written] = place, members[at]
                written += 1
            own[4] += 1
    return written


def warm() -> None:
    """Compile this module's kernels."""
    audiences = Audiences()
    numbers: Any = audiences.add(np.ones(1, np.int64), np.zeros(1, np.int64))
    list(audiences.pairs(numbers))
    audiences.top(numbers, numbers, numbers, 1, 1)
