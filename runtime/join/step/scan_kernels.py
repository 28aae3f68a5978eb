"""The scanning kernel of the n-ary join: extend rows by the tuples of a stretch of time.

A scan looks at every tuple of the stretch, so it works in two steps. Before it, the values that no condition of a list can
accept are worked out, from the list's two ends. The first step takes the list's slots away from all tuples with such values;
it runs over contiguous arrays without branches. Where every slot has a list, and each list accepts what is low or what is
high, one look at the value is enough for all of them. The second ranks what is left: few, where conditions are selective, and
only where rounding could decide.

    T.fluct < k * B.pressure, k from 0.25 to 0.9; row with B.pressure 100: only fluct <= 90 is worth a rank

Many rows share a tuple: (B, T) pairs with the same T, all looking for an H that T is compared with. So one bound item, the
*hub*, is chosen for a level, rows are grouped by its tuple, the scan is done once for the group, and what it found is
combined with each of its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.join.step.conditions import (
    intersect,
    rank_of,
    shifted,
    theta_allows,
    touches,
)
from cqc.runtime.join.step.probe_kernels import GAVE_UP
from cqc.runtime.join.step.step_arguments import Hub, RowBlock, Thetas, TimeTarget, Windows
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit
from cqc.runtime.lineage.rank_lineage import WORD_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(cache=True, nogil=True, inline="always")
def accepted(code, probing, parameters, at):  # type: ignore[no-untyped-def]
    """`accepted_for` with the parameters at a place."""
    return accepted_for(
        code, probing, parameters[at, 0], parameters[at, 1], parameters[at, 2], parameters[at, 3]
    )


@njit(cache=True, nogil=True)
def accepted_for(code, probing, a, b, c, d):  # type: ignore[no-untyped-def]
    """(low, high, sure_low, sure_high, sign) of the values that meet the condition; sign is that of its coefficient.

    One outside low..high does not meet it, one in the sure range does; between the two rounding decides.
    """
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
    inverse = 1.0 / slope if slope != 0.0 else np.inf
    edge = goal * inverse
    slack = ((abs(rest) + abs(moved)) * 1e-9 + 1e-300) * abs(inverse)
    op = code & 7
    if not abs(edge) + slack < np.inf or op == 5:
        return -np.inf, np.inf, np.inf, -np.inf, 0.0
    below = op <= 1
    if not forward:
        below = op == 2 or op == 3
    sign = 1.0
    if slope < 0.0:
        below = not below
        sign = -1.0
    if op == 4:
        return edge - slack, edge + slack, np.inf, -np.inf, sign
    if below:
        return -np.inf, edge + slack, -np.inf, edge - slack, sign
    return edge - slack, np.inf, edge + slack, np.inf, sign


@njit(cache=True, nogil=True)
def accepted_by_list(code, probing, parameters, start, stop):  # type: ignore[no-untyped-def]
    """(low, high): a value outside meets no condition of the list."""
    low, high, _, _ = ranges_of_list(code, probing, parameters, start, stop)
    return low, high


@njit(cache=True, nogil=True)
def ranges_of_list(code, probing, parameters, start, stop):  # type: ignore[no-untyped-def]
    """(low, high, sure_low, sure_high): a value outside low..high meets no condition of the list, one in the sure range all."""
    low, high, sure_low, sure_high, sign = accepted(code, probing, parameters, start)
    last = stop - 1
    if last > start:
        other_low, other_high, other_sure_low, other_sure_high, other_sign = accepted(
            code, probing, parameters, last
        )
        if other_sign != sign:
            return -np.inf, np.inf, np.inf, -np.inf
        low, high = min(low, other_low), max(high, other_high)
        sure_low, sure_high = max(sure_low, other_sure_low), min(sure_high, other_sure_high)
    return low, high, sure_low, sure_high


_PAIRS = 2048  # results that are noted before they are written, so that writing goes item by item
_PER_PAIR = 8  # a pair that is looked at by itself takes as long as so many tuples that are sifted
MOST_SIFTED = 1 << 23  # that one call looks at, as `MOST_STEPS` of the kernel by key
_BLOCK = 512  # tuples at a time, so that what is alive stays in the fastest cache


@njit(cache=True, nogil=True)
def sift(  # type: ignore[no-untyped-def]
    alive, wanted, lineage, values, begin, count, members, value_rows, lows, highs, picks, width
):
    """alive[word, i] = the slots that may want tuple begin + i; picks = the tuples with any; how many.

    Plain loops over contiguous arrays, without branches, which the compiler turns into vector instructions. It does so only
    for views that are indexed from 0: with an offset it cannot rule out that an index counts from the end.
    """
    words = len(width)
    full = ~np.uint64(0)
    for word in range(words):
        own, left, given = wanted[word], alive[word], lineage[word, begin : begin + count]
        for i in range(len(given)):
            left[i] = own & given[i]
    for number in range(len(lows)):
        low, high = lows[number], highs[number]
        if low == -np.inf and high == np.inf:
            continue
        column = values[value_rows[number], begin : begin + count]
        for word in range(words):
            if not members[number, word] & wanted[word]:
                continue
            others, left = ~members[number, word], alive[word]
            if low == -np.inf:
                for i in range(len(column)):
                    left[i] &= others if column[i] > high else full
            elif high == np.inf:
                for i in range(len(column)):
                    left[i] &= others if column[i] < low else full
            else:
                for i in range(len(column)):
                    left[i] &= others if (column[i] < low) | (column[i] > high) else full
    found = 0
    for i in range(count):
        any_left = alive[0, i]
        for word in range(1, words):
            any_left |= alive[word, i]
        picks[found] = i
        found += any_left != 0
    return found


@njit(cache=True, nogil=True)
def sift_ends(  # type: ignore[no-untyped-def]
    alive, wanted, lineage, column, begin, count, below, above, picks, width
):
    """The same where a value that is worth anything is at most `below` or at least `above`: for many lists by one look."""
    words = len(width)
    values = column[begin : begin + count]
    for word in range(words):
        own, left, given = wanted[word], alive[word], lineage[word, begin : begin + count]
        for i in range(len(given)):
            outside = (values[i] > below) & (values[i] < above)
            left[i] = np.uint64(0) if outside else own & given[i]
    found = 0
    for i in range(count):
        any_left = alive[0, i]
        for word in range(1, words):
            any_left |= alive[word, i]
        picks[found] = i
        found += any_left != 0
    return found


@njit(cache=True, nogil=True)
def group_rows(positions, count):  # type: ignore[no-untyped-def]
    """The rows in an order in which those of equal position are together."""
    order = np.arange(count)
    least, most, increasing = positions[0], positions[0], True
    for row in range(1, count):
        if positions[row] <= positions[row - 1]:
            increasing = False
        least = min(least, positions[row])
        most = max(most, positions[row])
    if increasing:
        return order
    if most - least > 8 * count + 1024:
        return np.argsort(positions[:count])
    ends = np.zeros(most - least + 2, np.int64)
    for row in range(count):
        ends[positions[row] - least + 1] += 1
    for at in range(1, len(ends)):
        ends[at] += ends[at - 1]
    for row in range(count):
        place = positions[row] - least
        order[ends[place]] = row
        ends[place] += 1
    return order


class _Scratch(NamedTuple):
    """Room that is used again for every group of rows: for a block of tuples, for each list, and for what is found."""

    alive: NDArray[np.uint64]
    picks: NDArray[np.int64]
    lows: NDArray[np.float64]  # of the values that each list accepts
    highs: NDArray[np.float64]
    sure: NDArray[np.float64]
    used: NDArray[np.int64]  # the lists that are asked
    one: NDArray[np.uint64]
    entries: NDArray[np.uint32]
    entry_ts: NDArray[np.int64]
    entry_lineage: NDArray[np.uint64]


@njit(cache=True, nogil=True, inline="always")
def prepare_lists(row, hub, group, thetas, scratch, width):  # type: ignore[no-untyped-def]
    """Work out which values each list of the hub accepts: (lists that are asked, by_ends, below, above).

    `by_ends`: all slots have a list, and all lists are of one column and open on one side. Then a value that some list accepts is at
    most `below` or at least `above`.
    """
    lows, highs, sure, used = scratch.lows, scratch.highs, scratch.sure, scratch.used
    codes, columns, starts, parameters, _, members, probing = thetas
    one, lists = scratch.one, hub.lists
    asked = 0
    below, above, by_ends = -np.inf, np.inf, True
    for word in range(len(width)):
        one[word] = group[word]
    for number in range(lists):
        lows[number], highs[number] = -np.inf, np.inf
        if touches(group, members, number, width):
            lows[number], highs[number], sure[0, number], sure[1, number] = ranges_of_list(
                codes[number], probing[number, row], parameters, starts[number], starts[number + 1]
            )
            used[asked] = number
            asked += 1
            for word in range(len(width)):
                one[word] &= ~members[number, word]
            if lows[number] == -np.inf:
                below = max(below, highs[number])
            elif highs[number] == np.inf:
                above = min(above, lows[number])
            else:
                by_ends = False
            by_ends &= columns[number] == columns[used[0]]
    for word in range(len(width)):
        by_ends &= one[word] == 0
    return asked, by_ends, below, above


@njit(cache=True, nogil=True, inline="always")
def partners(  # type: ignore[no-untyped-def]
    row, hub, group, begin, end, hub_ts, target, windows, thetas, scratch, width
):
    """The tuples from begin to end that the row's hub may join, with the slots that want both; (how many, candidates seen)."""
    words = len(width)
    order_ts, order_positions, values = target.ts, target.positions, target.values
    lineage, first, limit, hub_item = target.lineage, target.first, target.limit, hub.item
    codes, columns, starts, parameters, theta_sets, members, probing = thetas
    cuts, window_sets, one, used = windows.cuts, windows.sets, scratch.one, scratch.used
    entries, entry_ts, entry_lineage = scratch.entries, scratch.entry_ts, scratch.entry_lineage
    lows, highs, sure, alive, picks = (
        scratch.lows, scratch.highs, scratch.sure, scratch.alive, scratch.picks,
    )  # fmt: skip
    block = target.start + rank_of(order_ts, target.start, target.end, begin - 1)
    stretch_end = block + rank_of(order_ts, block, target.end, end)
    if block == stretch_end:
        return 0, 0
    candidates = stretch_end - block
    cut_start = windows.starts[hub.item]
    cut_count = windows.starts[hub.item + 1] - cut_start
    place = rank_of(cuts, cut_start, cut_start + cut_count, order_ts[block] - hub_ts)
    asked, by_ends, below, above = prepare_lists(row, hub, group, thetas, scratch, width)
    kept = 0
    while block < stretch_end:
        size = min(_BLOCK, stretch_end - block)
        if by_ends:
            column = values[columns[used[0]]]
            found = sift_ends(
                alive, group, lineage, column, block, size, below, above, picks, width
            )
        else:
            found = sift(
                alive, group, lineage, values, block, size,
                members, columns, lows, highs, picks, width,
            )  # fmt: skip
        for pick in range(found):
            at = block + picks[pick]
            if order_positions[at] >= limit or order_positions[at] < first:
                continue
            for word in range(words):
                one[word] = alive[word, picks[pick]]
            if cut_count > 0:
                distance = order_ts[at] - hub_ts
                while place < cut_count and cuts[cut_start + place] <= distance:
                    place += 1
                if not intersect(one, window_sets, cut_start + hub_item + place, width):
                    continue
            ok = True
            for turn in range(asked):
                number = used[turn]
                if touches(one, members, number, width):
                    value = values[columns[number], at]
                    if sure[0, number] <= value <= sure[1, number]:
                        continue
                    if value < lows[number] or value > highs[number]:
                        left = np.uint64(0)
                        for word in range(words):
                            one[word] &= ~members[number, word]
                            left |= one[word]
                        if not left:
                            ok = False
                            break
                        continue
                    if not theta_allows(
                        one, codes[number], starts, parameters, theta_sets, number, probing[number, row], value, width
                    ):  # fmt: skip
                        ok = False
                        break
            if ok:
                entries[kept] = at
                entry_ts[kept] = order_ts[at]
                for word in range(words):
                    entry_lineage[kept, word] = one[word]
                kept += 1
        block += size
    return kept, candidates


@njit(cache=True, nogil=True)
def settle_windows(row, hub_item, begin, end, ts_in, windows, own, walks, width):  # type: ignore[no-untyped-def]
    """AND in the slots of all windows that allow the same ones from begin to end; items whose windows do not, how many."""
    varying = 0
    starts, cuts, sets = windows
    for item in range(len(ts_in)):
        start, stop = starts[item], starts[item + 1]
        if item == hub_item or stop == start:
            continue
        place = rank_of(cuts, start, stop, begin - ts_in[item, row])
        if start + place < stop and cuts[start + place] <= end - ts_in[item, row]:
            walks[0, varying], walks[1, varying] = item, place
            varying += 1
        elif not intersect(own, sets, start + item + place, width):
            return -1
    return varying


@njit(cache=True, nogil=True, inline="always")
def count_bits(slots, tally, width):  # type: ignore[no-untyped-def]
    """Add one to the tally of each slot that is set."""
    for word in range(len(width)):
        left = slots[word]
        while left:
            tally[word * WORD_BITS + lowest_bit(left)] += 1
            left &= left - np.uint64(1)


@njit(cache=True, nogil=True)
def write_pairs(  # type: ignore[no-untyped-def]
    begin, count, pair_rows, pair_entries, target, rows, out
):
    """Write the rows extended by the entries beside them from `begin` on, item by item.

    Where the output has room for one event time only, the row is complete and the latest one is its result time.
    """
    positions_in, ts_in, positions_out, ts_out = rows.positions, rows.ts, out.positions, out.ts
    order_ts, order_positions = target.ts, target.positions
    bound, end = len(positions_in), begin + count
    for item in range(bound):
        given, made = positions_in[item], positions_out[item, begin:end]
        for pair in range(len(made)):
            made[pair] = given[pair_rows[pair]]
    made, times = positions_out[bound, begin:end], ts_out[-1, begin:end]
    for pair in range(len(made)):
        made[pair] = order_positions[pair_entries[pair]]
        times[pair] = order_ts[pair_entries[pair]]
    for item in range(bound):
        given = ts_in[item]
        if len(ts_out) == 1:
            for pair in range(len(times)):
                times[pair] = max(times[pair], given[pair_rows[pair]])
        else:
            made = ts_out[item, begin:end]
            for pair in range(len(made)):
                made[pair] = given[pair_rows[pair]]


@njit(cache=True, nogil=True)
def extend_by_time(  # type: ignore[no-untyped-def]
    count, rows, hub, target, windows, thetas, out, tally, width, most
):
    """Extend rows by the tuples within their stretch of time; (rows found, candidates seen).

    When more than `most` tuples and pairs would be looked at nothing is found: GAVE_UP. With a tally nothing is written:
    tally[slot] is set to how many of the rows found have the slot.
    """
    rows, hub, target, out = RowBlock(*rows), Hub(*hub), TimeTarget(*target), RowBlock(*out)
    windows, thetas = Windows(*windows), Thetas(*thetas)
    positions_in, ts_in, lineage_in = rows.positions, rows.ts, rows.lineage
    hub_item, hub_lists, loosest = hub.item, hub.lists, hub.loosest
    cut_starts, cuts, window_sets = windows.starts, windows.cuts, windows.sets
    codes, columns, starts, parameters, theta_sets, members, probing = thetas
    values, lineage_out = target.values, out.lineage
    bound, lists, words = len(positions_in), len(thetas.codes), len(width)
    lows, highs = np.empty(hub.lists, np.float64), np.empty(hub.lists, np.float64)
    sure, used = np.empty((2, hub.lists), np.float64), np.empty(hub.lists, np.int64)
    alive = np.empty((words, _BLOCK), np.uint64)
    picks = np.empty(_BLOCK + 1, np.int64)
    one, group, own = (
        np.empty(words, np.uint64),
        np.empty(words, np.uint64),
        np.empty(words, np.uint64),
    )
    entries = np.empty(target.end - target.start, np.uint32)
    entry_ts = np.empty(target.end - target.start, np.int64)
    # The bound items whose windows differ along a row's entries, and for each the rank of the distance to it there.
    walks = np.empty((2, bound), np.int64)
    entry_lineage = np.empty((target.end - target.start, words), np.uint64)
    scratch = _Scratch(alive, picks, lows, highs, sure, used, one, entries, entry_ts, entry_lineage)
    pair_rows, pair_entries = np.empty(_PAIRS, np.uint32), np.empty(_PAIRS, np.uint32)
    pairs = 0
    tallies = len(tally) > 0
    tally[:] = 0
    room = 0 if tallies else out.positions.shape[1]
    written = 0
    candidates = 0
    order = group_rows(positions_in[hub_item], count)
    group_start = 0
    while group_start < count:
        leader = order[group_start]
        group_end = group_start + 1
        for word in range(words):
            group[word] = lineage_in[leader, word]
        while (
            group_end < count
            and positions_in[hub_item, order[group_end]] == positions_in[hub_item, leader]
        ):
            for word in range(words):
                group[word] |= lineage_in[order[group_end], word]
            group_end += 1
        begin = shifted(ts_in[hub_item, leader], loosest[hub_item, 0])
        end = shifted(ts_in[hub_item, leader], loosest[hub_item, 1])
        if group_end - group_start == 1:
            for item in range(bound):
                begin = max(begin, shifted(ts_in[item, leader], loosest[item, 0]))
                end = min(end, shifted(ts_in[item, leader], loosest[item, 1]))
        kept, seen = partners(
            leader, hub, group, begin, end, ts_in[hub_item, leader], target, windows, thetas, scratch, width
        )  # fmt: skip
        candidates += seen
        most -= seen
        if most < 0:
            return GAVE_UP, candidates
        if kept == 0:
            group_start = group_end
            continue
        for turn in range(group_start, group_end):
            row = order[turn]
            begin, end = entry_ts[0], entry_ts[kept - 1]
            for item in range(bound):
                begin = max(begin, shifted(ts_in[item, row], loosest[item, 0]))
                end = min(end, shifted(ts_in[item, row], loosest[item, 1]))
            if begin > end:
                continue
            for word in range(words):
                own[word] = lineage_in[row, word]
            varying = settle_windows(row, hub_item, begin, end, ts_in, windows, own, walks, width)
            if varying < 0:
                continue
            entry = rank_of(entry_ts, 0, kept, begin - 1) if begin > entry_ts[0] else 0
            most += _PER_PAIR * entry
            while entry < kept and entry_ts[entry] <= end:
                left = np.uint64(0)
                for word in range(words):
                    one[word] = entry_lineage[entry, word] & own[word]
                    left |= one[word]
                ok = left != 0
                turned = 0
                while ok and turned < varying:
                    item, place = walks[0, turned], walks[1, turned]
                    start, stop = cut_starts[item], cut_starts[item + 1]
                    distance = entry_ts[entry] - ts_in[item, row]
                    while start + place < stop and cuts[start + place] <= distance:
                        place += 1
                    walks[1, turned] = place
                    ok = intersect(one, window_sets, start + item + place, width)
                    turned += 1
                number = hub_lists
                while ok and number < lists:
                    if touches(one, members, number, width):
                        value = values[columns[number], entries[entry]]
                        ok = theta_allows(
                            one, codes[number], starts, parameters, theta_sets, number, probing[number, row], value, width
                        )  # fmt: skip
                    number += 1
                if ok:
                    if tallies:
                        count_bits(one, tally, width)
                    elif written < room:
                        pair_rows[pairs], pair_entries[pairs] = row, entries[entry]
                        for word in range(words):
                            lineage_out[written, word] = one[word]
                        pairs += 1
                        if pairs == _PAIRS:
                            write_pairs(
                                written + 1 - pairs,
                                pairs,
                                pair_rows,
                                pair_entries,
                                target,
                                rows,
                                out,
                            )
                            pairs = 0
                    written += 1
                entry += 1
            most -= _PER_PAIR * entry
            if most < 0:
                return GAVE_UP, candidates
        group_start = group_end
    write_pairs(min(written, room) - pairs, pairs, pair_rows, pair_entries, target, rows, out)
    return written, candidates
