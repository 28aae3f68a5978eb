"""Rank lineage: which of many slots an interval of numbers allows, by one binary search.

Slots have limits on the same number, for windows the distance d = ts_j - ts_i of two tuples. Sort the limits of all slots:
between two neighbours the set of allowed slots does not change, so it is made once, as a bitmap, and the rank of d among
the limits finds it. However many slots there are, a pair costs one binary search and one AND.

    slot 0: -5 <= d <= 3      cuts  -5   0    4    8
    slot 1:  0 <= d <= 7      sets {} {0} {0,1} {1} {}        d = 5 has rank 3: {1}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

if TYPE_CHECKING:
    Numbers = Sequence[int] | NDArray[np.int64]

FAR_US = (
    1 << 63
) - 2  # stands for "no limit": no two event times differ by so much; add to it by `shifted` only
BEFORE_ALL_US = -(1 << 63)
WORD_BITS = 64
_ROWS_AT_ONCE = 4096


def word_count(slots: int) -> int:
    """How many 64-bit words hold one bit for each slot; at least one."""
    return max(1, -(-slots // WORD_BITS))


def bitmap(slots: Sequence[int], words: int) -> NDArray[np.uint64]:
    """A bitmap with the bits of the slots set."""
    result = np.zeros(words, np.uint64)
    set_bits(result[None, :], np.zeros(len(slots), np.int64), slots)
    return result


def set_bits(rows: NDArray[np.uint64], at: NDArray[np.int64], slots: Sequence[int]) -> None:
    """Set the bit of slots[k] in rows[at[k]]."""
    numbers = np.asarray(slots, np.int64)
    bits = np.uint64(1) << (numbers % WORD_BITS).astype(np.uint64)
    np.bitwise_or.at(rows, (at, numbers // WORD_BITS), bits)


def toggle_bits(rows: NDArray[np.uint64], at: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    """Flip the bit of slots[k] in rows[at[k]]."""
    bits = np.uint64(1) << (slots % WORD_BITS).astype(np.uint64)
    np.bitwise_xor.at(rows, (at, slots // WORD_BITS), bits)


def move_bits(
    source: NDArray[np.uint64],
    before: NDArray[np.int64],
    target: NDArray[np.uint64],
    now: NDArray[np.int64],
) -> None:
    """Set the bit of now[k] in the rows of the target that have before[k] in the source."""
    bits = target.shape[1] * WORD_BITS
    for begin in range(0, len(source), _ROWS_AT_ONCE):
        rows = np.ascontiguousarray(source[begin : begin + _ROWS_AT_ONCE])
        moved = np.zeros((len(rows), bits), np.uint8)
        moved[:, now] = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, before]
        packed = np.packbits(moved, axis=1, bitorder="little").view(np.uint64)
        target[begin : begin + len(rows)] |= packed


@record
class RankSets:
    """`sets[k]` holds for numbers of rank k, that is with exactly k cuts at or below them."""

    cuts: NDArray[np.int64]
    sets: NDArray[np.uint64]  # one row more than there are cuts


def interval_sets(slots: Sequence[int], low: Numbers, high: Numbers, words: int) -> RankSets:
    """The sets for slots that allow low[k] <= d <= high[k] (FAR_US and beyond is no limit); low > high allows none."""
    possible = np.asarray(low, np.int64) <= np.asarray(high, np.int64)
    numbers = np.asarray(slots, np.int64)[possible]
    begins = np.maximum(np.asarray(low, np.int64)[possible], -FAR_US)
    ends = np.minimum(np.asarray(high, np.int64)[possible], FAR_US) + 1
    cuts = np.unique(np.concatenate([begins[begins > -FAR_US], ends[ends <= FAR_US]]))
    rows = np.zeros((len(cuts) + 1, words), np.uint64)
    toggle_bits(rows, np.where(begins > -FAR_US, np.searchsorted(cuts, begins) + 1, 0), numbers)
    bounded = ends <= FAR_US
    toggle_bits(rows, np.searchsorted(cuts, ends[bounded]) + 1, numbers[bounded])
    return RankSets(cuts, np.bitwise_xor.accumulate(rows, axis=0))
