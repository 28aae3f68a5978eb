"""The scanning kernel for joins of at most 64 slots: extend rows by the tuples of a stretch of time.

The same as `probe.extend_by_time`, with the lineage in a register instead of an array. Scans look at every tuple of a stretch,
so this loop is where theta joins spend their time: 3-4 ns a candidate here, 11 ns there (`cqc bench theta`).

Before a row's scan the values that no condition of a list can accept are worked out once, from the list's two ends; inside
the loop a candidate with such a value loses the list's slots by two comparisons. Only the others are ranked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cqc.runtime.operators.probe import rank_of
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


@njit(cache=True, nogil=True)
def scan_stretches(  # type: ignore[no-untyped-def]
    count, positions_in, ts_in, lineage_in,  # the rows
    loosest,  # per bound item the least and the largest distance that any slot allows
    order_ts, order_positions, order_start, order_end,  # the state to join with, in time order
    base, limit, lineage_target,
    cut_starts, cuts, window_sets,
    codes, columns, starts, parameters, theta_sets, theta_members, probing, values,
    positions_out, ts_out, lineage_out,
):  # fmt: skip
    """As `probe.extend_by_time`, for lineage of one word."""
    bound = len(positions_in)
    lists = len(codes)
    room = positions_out.shape[1]
    places = np.empty(bound, np.int64)
    lows = np.empty(lists, np.float64)
    highs = np.empty(lists, np.float64)
    written = 0
    candidates = 0
    for row in range(count):
        wanted = lineage_in[row, 0]
        begin = ts_in[0, row] + loosest[0, 0]
        end = ts_in[0, row] + loosest[0, 1]
        for item in range(1, bound):
            begin = max(begin, ts_in[item, row] + loosest[item, 0])
            end = min(end, ts_in[item, row] + loosest[item, 1])
        at = order_start + rank_of(order_ts, order_start, order_end, begin - 1)
        if at >= order_end or order_ts[at] > end:
            continue
        for item in range(bound):
            start, stop = cut_starts[item], cut_starts[item + 1]
            places[item] = rank_of(cuts, start, stop, order_ts[at] - ts_in[item, row])
        for number in range(lists):
            lows[number], highs[number] = accepted_by_list(
                codes[number], probing[number, row], parameters, starts[number], starts[number + 1]
            )
        while at < order_end and order_ts[at] <= end:
            ts = order_ts[at]
            position = order_positions[at]
            at += 1
            index = position - base
            alive = wanted & lineage_target[index, 0]
            if position >= limit:
                continue
            candidates += 1
            for number in range(lists):
                value = values[index, columns[number]]
                if value < lows[number] or value > highs[number]:
                    alive &= ~theta_members[number, 0]
            if alive == 0:
                continue
            for item in range(bound):
                start = cut_starts[item]
                size = cut_starts[item + 1] - start
                if size > 0:
                    distance = ts - ts_in[item, row]
                    place = places[item]
                    while place < size and cuts[start + place] <= distance:
                        place += 1
                    places[item] = place
                    alive &= window_sets[start + item + place, 0]
            for number in range(lists):
                if alive & theta_members[number, 0]:
                    start, stop = starts[number], starts[number + 1]
                    target = values[index, columns[number]]
                    place = rank(codes[number], probing[number, row], target, parameters, start, stop)
                    alive &= theta_sets[2 * (start + number) + place, 0]
            if alive:
                if written < room:
                    for item in range(bound):
                        positions_out[item, written] = positions_in[item, row]
                        ts_out[item, written] = ts_in[item, row]
                    positions_out[bound, written] = position
                    ts_out[bound, written] = ts
                    lineage_out[written, 0] = alive
                written += 1
    return written, candidates
