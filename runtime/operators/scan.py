"""The scanning kernel of the n-ary join: extend rows by the tuples of a stretch of time.

A scan looks at every tuple of the stretch, so it works in two steps. Before it, the values that no condition of a list can
accept are worked out, from the list's two ends. The first step takes the list's slots away from all tuples with such values;
it runs over contiguous arrays without branches. The second ranks what is left: few, where conditions are selective.

    T.fluct < k * B.pressure, k from 0.25 to 0.9; row with B.pressure 100: only fluct <= 90 is worth a rank
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cqc.runtime.operators.probe import intersect, rank_of, touches, write_row
from cqc.runtime.operators.theta_lists import rank


@njit(cache=True, nogil=True)
def accepted(code, probing, a, b, c, d):  # type: ignore[no-untyped-def]
    """(low, high, sign): a value outside [low, high] does not meet the condition; sign is that of its coefficient."""
    if code & 8:  # a*left + c*right op d
        if code & 32:
            slope, rest, moved = a, d, c * probing
        else:
            slope, rest, moved = c, d, a * probing
        goal = rest - moved
        forward = True
    elif code & 32:  # the value is the left side
        slope, rest, moved = a, c * probing + d, b
        goal = rest - moved
        forward = True
    else:
        slope, rest, moved = c, a * probing + b, d
        goal = rest - moved
        forward = False
    edge = goal / slope if slope != 0.0 else np.inf
    slack = (abs(rest) + abs(moved)) * 1e-9 + 1e-300
    slack = slack / abs(slope) if slope != 0.0 else np.inf
    op = code & 7
    if not abs(edge) + slack < np.inf or op == 5:
        return -np.inf, np.inf, 0.0
    below = op <= 1
    if not forward:
        below = op == 2 or op == 3
    sign = 1.0
    if slope < 0.0:
        below = not below
        sign = -1.0
    if op == 4:
        return edge - slack, edge + slack, sign
    if below:
        return -np.inf, edge + slack, sign
    return edge - slack, np.inf, sign


@njit(cache=True, nogil=True)
def accepted_by_list(code, probing, parameters, start, stop):  # type: ignore[no-untyped-def]
    """(low, high): a value outside meets no condition of the list."""
    low, high, sign = accepted(
        code, probing, parameters[start, 0], parameters[start, 1], parameters[start, 2], parameters[start, 3]
    )
    last = stop - 1
    if last > start:
        other_low, other_high, other_sign = accepted(
            code, probing, parameters[last, 0], parameters[last, 1], parameters[last, 2], parameters[last, 3]
        )
        if other_sign != sign:
            return -np.inf, np.inf
        low, high = min(low, other_low), max(high, other_high)
    return low, high


_BLOCK = 512  # tuples at a time, so that what is alive stays in the fastest cache


@njit(cache=True, nogil=True)
def sift(  # type: ignore[no-untyped-def]
    alive, wanted, lineage, values, begin, count, members, value_rows, lows, highs, picks
):
    """alive[word, i] = the slots that may want tuple begin + i; picks = the tuples with any; how many.

    Plain loops over contiguous arrays, without branches, which the compiler turns into vector instructions.
    """
    words = len(lineage)
    full = ~np.uint64(0)
    for word in range(words):
        own = wanted[word]
        for i in range(count):
            alive[word, i] = own & lineage[word, begin + i]
    for number in range(len(lows)):
        low, high, row = lows[number], highs[number], value_rows[number]
        if low == -np.inf and high == np.inf:
            continue
        for word in range(words):
            if not members[number, word] & wanted[word]:
                continue
            others = ~members[number, word]
            for i in range(count):
                value = values[row, begin + i]
                outside = (value < low) | (value > high)
                alive[word, i] &= others if outside else full
    found = 0
    for i in range(count):
        left = alive[0, i]
        for word in range(1, words):
            left |= alive[word, i]
        picks[found] = i
        found += left != 0
    return found


@njit(cache=True, nogil=True)
def extend_by_time(  # type: ignore[no-untyped-def]
    count, positions_in, ts_in, lineage_in,  # the rows
    loosest,  # per bound item the least and the largest distance that any slot allows
    order_ts, order_positions, lineage, values, order_start, order_end,  # the tuples to join with, in time order
    first, limit,  # the positions among them that count
    cut_starts, cuts, window_sets,
    codes, value_rows, starts, parameters, theta_sets, theta_members, probing,
    positions_out, ts_out, lineage_out,
):  # fmt: skip
    """Extend rows by the tuples within their stretch of time; (rows found, candidates seen)."""
    bound, lists, words = len(positions_in), len(codes), lineage_in.shape[1]
    places = np.empty(bound, np.int64)
    lows, highs = np.empty(lists, np.float64), np.empty(lists, np.float64)
    alive = np.empty((words, _BLOCK), np.uint64)
    picks = np.empty(_BLOCK + 1, np.int64)
    one = np.empty(words, np.uint64)
    written = 0
    candidates = 0
    for row in range(count):
        begin = ts_in[0, row] + loosest[0, 0]
        end = ts_in[0, row] + loosest[0, 1]
        for item in range(1, bound):
            begin = max(begin, ts_in[item, row] + loosest[item, 0])
            end = min(end, ts_in[item, row] + loosest[item, 1])
        if begin > end:
            continue
        block = order_start + rank_of(order_ts, order_start, order_end, begin - 1)
        stretch_end = block + rank_of(order_ts, block, order_end, end)
        if block == stretch_end:
            continue
        candidates += stretch_end - block
        for item in range(bound):
            start, stop = cut_starts[item], cut_starts[item + 1]
            places[item] = rank_of(cuts, start, stop, order_ts[block] - ts_in[item, row])
        for number in range(lists):
            lows[number], highs[number] = -np.inf, np.inf
            for word in range(words):
                if lineage_in[row, word] & theta_members[number, word]:
                    lows[number], highs[number] = accepted_by_list(
                        codes[number], probing[number, row], parameters, starts[number], starts[number + 1]
                    )
                    break
        while block < stretch_end:
            size = min(_BLOCK, stretch_end - block)
            found = sift(
                alive, lineage_in[row], lineage, values, block, size, theta_members, value_rows, lows, highs, picks
            )  # fmt: skip
            for pick in range(found):
                at = block + picks[pick]
                position = order_positions[at]
                if position >= limit or position < first:
                    continue
                ts = order_ts[at]
                for word in range(words):
                    one[word] = alive[word, picks[pick]]
                ok = True
                item = 0
                while ok and item < bound:
                    start = cut_starts[item]
                    cut_count = cut_starts[item + 1] - start
                    if cut_count > 0:
                        distance = ts - ts_in[item, row]
                        place = places[item]
                        while place < cut_count and cuts[start + place] <= distance:
                            place += 1
                        places[item] = place
                        ok = intersect(one, window_sets, start + item + place)
                    item += 1
                number = 0
                while ok and number < lists:
                    if touches(one, theta_members, number):
                        start, stop = starts[number], starts[number + 1]
                        target = values[value_rows[number], at]
                        place = rank(codes[number], probing[number, row], target, parameters, start, stop)
                        ok = intersect(one, theta_sets, 2 * (start + number) + place)
                    number += 1
                if ok:
                    written = write_row(
                        written, row, position, ts, one, positions_in, ts_in, positions_out, ts_out, lineage_out
                    )  # fmt: skip
            block += size
    return written, candidates
