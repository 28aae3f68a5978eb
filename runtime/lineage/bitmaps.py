"""Lineage: which queries want which tuples of a packet (CACQ).

The outcome of a filter over n tuples and m slots is n x m bits. A dense one must never be turned into (tuple, slot) pairs, a
sparse one never into rows of bits; and most consumers want only a part. So a lineage does not hold the outcome but where
it comes from (a `Source`), and works out what is asked for: counts without rows, positions of the slots that have
any, and so on. What was worked out is kept.

    slots over four tuples    0: 1010   1: 0000   2: 0011
    counts 2 0 2      pairs (0,0) (2,0) (2,2) (3,2)      by_tuple 001 000 101 100      any_tuple 1011
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Positions worked out at once for `tuples_of`, which is usually asked for one slot after another.
_POSITIONS_AT_ONCE = 1 << 22
_SLOTS_AT_ONCE = 1 << 14


class Source(Protocol):
    """Where the bits come from: an index over a packet, or arrays that hold them."""

    def counts(self) -> NDArray[np.int64]:
        """For each slot the number of its tuples."""

    def union(self) -> NDArray[np.uint64]:
        """The tuples of any slot, as a row of bits."""

    def rows(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        """[slots, words]: the rows of some slots."""

    def positions(self, slots: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tuples of some slots, one slot after the other, each in order; `counts` says how many there are."""


class Lineage:
    """The outcome of a filter for one packet."""

    def __init__(self, tuples: int, slots: int, source: Source) -> None:
        self.tuples = tuples
        self.slots = slots
        self.source = source
        self._counts: NDArray[np.int64] | None = None
        self._matching: NDArray[np.int64] | None = None
        self._ends: NDArray[np.int64] | None = None
        self._window: tuple[int, int, NDArray[np.int64]] = (0, 0, np.empty(0, np.int64))

    @classmethod
    def of_rows(cls, tuples: int, rows: NDArray[np.uint64]) -> Lineage:
        """A lineage that is given as rows of bits, [slots, words]."""
        return cls(tuples, len(rows), HeldRows(rows))

    @classmethod
    def of_pairs(
        cls, tuples: int, slots: int, pair_tuples: NDArray[np.int64], pair_slots: NDArray[np.int64]
    ) -> Lineage:
        """A lineage that is given as pairs, each once, in any order."""
        return cls(tuples, slots, HeldPairs(tuples, slots, pair_tuples, pair_slots))

    @property
    def words(self) -> int:
        """Words in a row of bits over the tuples."""
        return words_for(self.tuples)

    def counts(self) -> NDArray[np.int64]:
        """For each slot the number of tuples it wants."""
        if self._counts is None:
            self._counts = self.source.counts()
        return self._counts

    def matching(self) -> NDArray[np.int64]:
        """The slots that want some tuple, ascending."""
        if self._matching is None:
            self._matching = np.flatnonzero(self.counts())
        return self._matching

    def tuples_of(self, slot: int) -> NDArray[np.int64]:
        """The positions of the tuples that a slot wants, ascending."""
        if not self.counts()[slot]:
            return np.empty(0, np.int64)
        matching, ends = self.matching(), self._slot_ends()
        at = int(np.searchsorted(matching, slot))
        first, last, positions = self._window
        if not first <= at < last:
            first, last = at, self._window_end(at, ends)
            chosen = matching[first:last]
            positions = self.source.positions(chosen, self.counts()[chosen])
            self._window = (first, last, positions)
        begin = int(ends[first - 1]) if first else 0
        start = int(ends[at - 1]) if at else 0
        return positions[start - begin : int(ends[at]) - begin]

    def for_slots(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        """[slots, words]: rows of bits over the tuples, for the slots given and in their order."""
        return self.source.rows(np.asarray(slots, np.int64))

    def rows(self) -> NDArray[np.uint64]:
        """[slots, words]: rows of bits over the tuples, for every slot."""
        return self.for_slots(np.arange(self.slots, dtype=np.int64))

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(tuple positions, slots), sorted by slot and then by tuple."""
        matching = self.matching()
        counts = self.counts()[matching]
        return self.source.positions(matching, counts), np.repeat(matching, counts)

    def by_slot(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(slots that want some tuple, their tuples one slot after the other, where those of each slot end)."""
        matching = self.matching()
        return matching, self.source.positions(matching, self.counts()[matching]), self._slot_ends()

    def by_tuple(self) -> NDArray[np.uint64]:
        """[tuples, words]: for each tuple the slots that want it, as bits."""
        turned = np.zeros((self.tuples, words_for(self.slots)), np.uint64)
        matching = self.matching()
        for begin in range(0, self.slots, _SLOTS_AT_ONCE):
            first, last = np.searchsorted(matching, (begin, begin + _SLOTS_AT_ONCE))
            if first < last:
                chosen = matching[first:last]
                transpose_into(self.for_slots(chosen), chosen, turned)
        return turned

    def any_tuple(self) -> NDArray[np.bool_]:
        """Which tuples some slot wants."""
        bits = np.unpackbits(self.source.union().view(np.uint8), bitorder="little")
        return bits[: self.tuples].astype(np.bool_)

    def settle(self) -> None:
        """Hold the outcome itself from now on: what it comes from is about to change."""
        if isinstance(self.source, HeldRows | HeldPairs):
            return
        counts = self.counts().copy()
        positions, slots = self.pairs()
        self.source = HeldPairs(self.tuples, self.slots, positions, slots)
        self._counts = counts

    def _slot_ends(self) -> NDArray[np.int64]:
        if self._ends is None:
            self._ends = np.cumsum(self.counts()[self.matching()])
        return self._ends

    def _window_end(self, at: int, ends: NDArray[np.int64]) -> int:
        begin = int(ends[at - 1]) if at else 0
        reach = int(np.searchsorted(ends, begin + _POSITIONS_AT_ONCE, side="right"))
        return max(reach, at + 1)


class HeldRows:
    """Rows of bits, [slots, words]."""

    def __init__(self, rows: NDArray[np.uint64]) -> None:
        self._rows = rows

    def counts(self) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.bitwise_count(self._rows).sum(axis=1, dtype=np.int64)
        return counts

    def union(self) -> NDArray[np.uint64]:
        united: NDArray[np.uint64] = np.bitwise_or.reduce(self._rows, axis=0)
        return united

    def rows(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._rows[slots]

    def positions(self, slots: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        positions = np.empty(int(counts.sum()), np.int64)
        positions_of_rows(self._rows, slots, positions)
        return positions


class HeldPairs:
    """(tuple, slot) pairs."""

    def __init__(
        self, tuples: int, slots: int, pair_tuples: NDArray[np.int64], pair_slots: NDArray[np.int64]
    ) -> None:
        order = np.lexsort((pair_tuples, pair_slots))
        self._tuples = tuples
        self._positions = np.asarray(pair_tuples, np.int64)[order]
        self._counts = np.bincount(pair_slots, minlength=slots).astype(np.int64)
        self._ends = np.cumsum(self._counts)

    def counts(self) -> NDArray[np.int64]:
        return self._counts

    def union(self) -> NDArray[np.uint64]:
        return bits_of(self._tuples, self._positions)

    def rows(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        rows = np.zeros((len(slots), words_for(self._tuples)), np.uint64)
        rows_of_positions(self._positions, slots, self._ends, rows)
        return rows

    def positions(self, slots: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = self._ends[slots] - counts
        before = np.cumsum(counts) - counts
        return self._positions[np.repeat(starts - before, counts) + np.arange(int(counts.sum()))]


def words_for(bits: int) -> int:
    """Words needed for so many bits."""
    return (bits + 63) // 64


def bits_of(tuples: int, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A row with the bits at the positions set."""
    mask = np.zeros(words_for(tuples) * 64, np.uint8)
    mask[positions] = 1
    return np.packbits(mask, bitorder="little").view(np.uint64)


@njit(cache=True, nogil=True)
def positions_of_rows(rows, slots, out):  # type: ignore[no-untyped-def]
    """The set bits of some rows, one row after the other."""
    written = 0
    for slot in slots:
        for word in range(rows.shape[1]):
            left = rows[slot, word]
            base = word * 64
            while left:
                out[written] = base + lowest_bit(left)
                written += 1
                left &= left - np.uint64(1)


@njit(cache=True, nogil=True)
def rows_of_positions(positions, slots, ends, rows):  # type: ignore[no-untyped-def]
    """Rows of bits of some slots, whose positions end at `ends[slot]`."""
    for at in range(len(slots)):
        slot = slots[at]
        for place in range(ends[slot - 1] if slot else 0, ends[slot]):
            position = positions[place]
            rows[at, position >> 6] |= np.uint64(1) << np.uint64(position & 63)


@njit(cache=True, nogil=True)
def transpose_into(rows, slots, turned):  # type: ignore[no-untyped-def]
    """Set in `turned`, a row for each tuple, the bits of the slots whose rows these are."""
    square = np.empty(64, np.uint64)
    tuples = turned.shape[0]
    at = 0
    while at < len(slots):
        group, end = slots[at] >> 6, at
        while end < len(slots) and slots[end] >> 6 == group:
            end += 1
        for word in range(rows.shape[1]):
            square[:] = 0
            for row in range(at, end):
                square[slots[row] & 63] = rows[row, word]
            _transpose_square(square)
            for bit in range(min(64, tuples - word * 64)):
                turned[word * 64 + bit, group] = square[bit]
        at = end


@njit(cache=True, nogil=True)
def _transpose_square(square):  # type: ignore[no-untyped-def]
    """Transpose 64 x 64 bits in place, bit c of word r to bit r of word c, halving the squares that are exchanged."""
    width, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while width:
        row = 0
        while row < 64:
            shift = np.uint64(width)
            moved = ((square[row] >> shift) ^ square[row + width]) & mask
            square[row + width] ^= moved
            square[row] ^= moved << shift
            row = (row + width + 1) & ~width
        width >>= 1
        mask ^= mask << np.uint64(width)


def warm() -> None:
    """Compile this module's kernels."""
    for lineage in (
        Lineage.of_rows(1, np.ones((1, 1), np.uint64)),
        Lineage.of_pairs(1, 1, np.zeros(1, np.int64), np.zeros(1, np.int64)),
    ):
        lineage.pairs()
        lineage.by_tuple()
