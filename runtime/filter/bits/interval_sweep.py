"""Queries that are one interval of one column, answered without a bit row each.

Sorted by where their values lie among the cuts, the tuples of an interval stand side by side: how many there are is a difference of two
numbers, however long the packet is. A block of the sweep costs each query something; this costs it two looks.

    values 5 9 1 7, cuts 4 and 8     below 4: 1, below 8: 3     4 <= x < 8: 2 tuples, the second and third smallest
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.filter.bits.bit_sweep import Outcome


class SortedTuples:
    """The tuples of a packet by one column."""

    def __init__(self, buckets: NDArray[np.int32], cuts: int) -> None:
        """`buckets` say how many of the cuts are not above each value; those of NULL are beyond the last."""
        self._buckets = buckets
        self._ends = np.zeros(cuts + 2, np.int64)
        np.cumsum(np.bincount(buckets, minlength=cuts + 1)[: cuts + 1], out=self._ends[1:])
        self._tuples: NDArray[np.int64] | None = None

    def answer(self, places: NDArray[np.int32], slots: NDArray[np.int32], outcome: Outcome) -> None:
        """Count, unite or write down the tuples between two cuts, for each of some queries; cut -1 is below everything."""
        if len(outcome.counts):
            count_intervals(places, slots, self._ends, outcome.counts)
        if not (len(outcome.union) or len(outcome.cursors)):
            return
        if self._tuples is None:
            self._tuples = np.argsort(self._buckets, kind="stable")
        write_intervals(
            places,
            slots,
            self._ends,
            self._tuples,
            outcome.union,
            outcome.cursors,
            outcome.positions,
        )


@njit(cache=True, nogil=True)
def count_intervals(places, slots, ends, counts):  # type: ignore[no-untyped-def]
    """Add to the count of each slot."""
    for query in range(len(slots)):
        counts[slots[query]] += abs(ends[places[query, 1] + 1] - ends[places[query, 0] + 1])


@njit(cache=True, nogil=True)
def write_intervals(places, slots, ends, tuples, union, cursors, positions):  # type: ignore[no-untyped-def]
    """Set bits of the union, and write positions where they are asked for, ascending."""
    for query in range(len(slots)):
        one, other = ends[places[query, 0] + 1], ends[places[query, 1] + 1]
        begin, end = min(one, other), max(one, other)
        if begin == end:
            continue
        if len(union):
            for at in range(begin, end):
                union[tuples[at] >> 6] |= np.uint64(1) << np.uint64(tuples[at] & 63)
        slot = slots[query]
        if len(cursors) and cursors[slot] >= 0:
            first = cursors[slot]
            cursors[slot] = first + end - begin
            positions[first : cursors[slot]] = tuples[begin:end]
            if end - begin > 1:
                positions[first : cursors[slot]].sort()


def warm() -> None:
    """Compile this module's kernels."""
    places, slots = np.zeros((1, 2), np.int32), np.zeros(1, np.int32)
    ends, tuples = np.zeros(3, np.int64), np.zeros(1, np.int64)
    count_intervals(places, slots, ends, np.zeros(1, np.int64))
    write_intervals(
        places, slots, ends, tuples, np.zeros(1, np.uint64), np.zeros(1, np.int64), tuples
    )
