"""Which new tuples have company: for a slot, some tuple of every other item near enough in time, whatever its keys.

The times of the tuples that each slot wants are listed by item, in order; whether one of them is within a window is one search.
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.conditions import rank_of, shifted
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit


@njit(cache=True, nogil=True)
def times_by_slot(lineage, ts_us, order, mask):  # type: ignore[no-untyped-def]
    """For each slot of the mask the times of the tuples that it wants: where each list begins, and the times.

    `order`: the tuples in the order of time; empty where they are in it as they are.
    """
    words = min(lineage.shape[1], len(mask))
    starts = np.zeros(64 * len(mask) + 1, np.int64)
    for row in range(len(lineage)):
        for word in range(words):
            left = lineage[row, word] & mask[word]
            while left:
                starts[64 * word + lowest_bit(left) + 1] += 1
                left &= left - np.uint64(1)
    for slot in range(64 * len(mask)):
        starts[slot + 1] += starts[slot]
    times = np.empty(starts[-1], np.int64)
    places = starts.copy()
    is_ordered = len(order) == 0
    for at in range(len(lineage)):
        row = at if is_ordered else order[at]
        for word in range(words):
            left = lineage[row, word] & mask[word]
            while left:
                slot = 64 * word + lowest_bit(left)
                times[places[slot]] = ts_us[row]
                places[slot] += 1
                left &= left - np.uint64(1)
    return starts, times


@njit(cache=True, nogil=True)
def slots_in_company(lineage, ts_us, possible, needs, spans_us, times):  # type: ignore[no-untyped-def]
    """The lineage without the slots that cannot be whole, and how many pairs of tuple and slot were asked and are left.

    Args:
        lineage: of the tuples that start.
        ts_us: their event times.
        possible: the slots for which every item has tuples at all.
        needs: [slot]: where its needs begin, and the end; then for each need where its list begins and ends.
        spans_us: (lows, highs): for each need, how much later (earlier when negative) its tuples may be.
        times: the lists of times, each in order.
    """
    of_slot, begins, ends = needs
    lows, highs = spans_us
    words = min(lineage.shape[1], len(possible))
    kept = np.zeros_like(lineage)
    cursors = begins.copy()  # where the last search ended: tuples are nearly in the order of time
    asked = 0
    passed = 0
    for row in range(len(lineage)):
        for word in range(words):
            left = lineage[row, word]
            found = np.uint64(0)
            while left:
                bit = left & (~left + np.uint64(1))
                left ^= bit
                asked += 1
                if not possible[word] & bit:
                    continue
                slot = 64 * word + lowest_bit(bit)
                is_there = True
                need = of_slot[slot]
                while is_there and need < of_slot[slot + 1]:
                    low, high = shifted(ts_us[row], lows[need]), shifted(ts_us[row], highs[need])
                    at = cursors[need]
                    if at < ends[need] and times[at] < low:
                        at += 1 + rank_of(times, at + 1, ends[need], low - 1)
                    elif at > begins[need] and times[at - 1] >= low:
                        at = begins[need] + rank_of(times, begins[need], at, low - 1)
                    cursors[need] = at
                    is_there = at < ends[need] and times[at] <= high
                    need += 1
                if is_there:
                    found |= bit
                    passed += 1
            kept[row, word] = found
    return kept, asked, passed
