"""The kernels of the n-ary join: extend a block of partial combinations by one more item.

A partial combination is a row: the position and event time of the tuple of each item bound so far, and its lineage, the
slots that are still alive. Extending goes through the candidates of every row, here by hash chain (by stretch of time in
`scan.py`), and for each candidate ANDs

- the lineage of the row and that of the candidate (what the filters said of each),
- the slots whose window allows the distance to each bound item (`rank_lineage`),
- the slots whose theta conditions hold (`theta_lists`).

Only what some slot still wants is written. One call extends the whole block, level by level (M-Join).

The output arrays may prove too small: the kernels then go on counting without writing, and the caller makes room and calls
again. Nor does a call take long: after so many candidates (`most`) it gives up, with -1 for the rows it found, and the caller takes
fewer rows at a time; in between somebody may have asked to stop. Arguments are plain arrays, because a call costs about a tenth of a microsecond for each. The words of a lineage are
counted by `len(width)`: a tuple of one where there is one word, for which the kernels are compiled without loops over
words, else an array (scanning with one word takes half the time that it takes with a loop).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cqc.runtime.join.step.theta_lists import rank
from cqc.runtime.lineage.bit_rows import lowest_bit
from cqc.runtime.state.hash_chains import bucket_of

_LAST_US = (1 << 63) - 2

# Tuples that one call looks at, at most: less than a tenth of a second. Two rows are never too many for a call.
MOST_STEPS = 1 << 20
NO_LIMIT = (1 << 63) - 1
GAVE_UP = -1


@njit(cache=True, nogil=True, inline="always")
def intersect(alive, sets, row, width):  # type: ignore[no-untyped-def]
    """AND a set into the words of `alive`; whether anything is left."""
    left = np.uint64(0)
    for word in range(len(width)):
        alive[word] &= sets[row, word]
        left |= alive[word]
    return left != 0


@njit(cache=True, nogil=True, inline="always")
def touches(alive, sets, row, width):  # type: ignore[no-untyped-def]
    """Whether a set has a slot that is alive."""
    left = np.uint64(0)
    for word in range(len(width)):
        left |= alive[word] & sets[row, word]
    return left != 0


@njit(cache=True, nogil=True, inline="always")
def rank_of(cuts, start, stop, value):  # type: ignore[no-untyped-def]
    """How many of cuts[start:stop] are at or below the value."""
    low = start
    count = stop - start
    while count > 0:
        half = count >> 1
        if cuts[low + half] <= value:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return low - start


@njit(cache=True, nogil=True)
def thetas_hold(  # type: ignore[no-untyped-def]
    alive, row, index, codes, columns, starts, parameters, sets, members, probing, values, width
):
    """AND in the slots whose theta conditions hold for a row and a candidate; whether any is left."""
    for number in range(len(codes)):
        if not touches(alive, members, number, width):
            continue
        start, stop = starts[number], starts[number + 1]
        target = values[index, columns[number]]
        place = rank(codes[number], probing[number, row], target, parameters, start, stop)
        if not intersect(alive, sets, 2 * (start + number) + place, width):
            return False
    return True


@njit(cache=True, nogil=True, inline="always")
def write_row(  # type: ignore[no-untyped-def]
    written,
    row,
    position,
    ts,
    alive,
    positions_in,
    ts_in,
    positions_out,
    ts_out,
    lineage_out,
    width,
):
    """Write the extended row, where there is room; how many rows there are now.

    Where the output has room for one event time only, the row is complete and the latest one is its result time.
    """
    if written < positions_out.shape[1]:
        bound = len(positions_in)
        for item in range(bound):
            positions_out[item, written] = positions_in[item, row]
        positions_out[bound, written] = position
        if len(ts_out) == 1:
            latest = ts
            for item in range(bound):
                latest = max(latest, ts_in[item, row])
            ts_out[0, written] = latest
        else:
            for item in range(bound):
                ts_out[item, written] = ts_in[item, row]
            ts_out[bound, written] = ts
        for word in range(len(width)):
            lineage_out[written, word] = alive[word]
    return written + 1


@njit(cache=True, nogil=True, inline="always")
def shifted(ts_us, by_us):  # type: ignore[no-untyped-def]
    """An instant so much later (earlier when negative), or the last (first) one there is; one may still be added or taken."""
    if by_us >= 0:
        return ts_us + by_us if ts_us < _LAST_US - by_us else _LAST_US
    return ts_us + by_us if ts_us > -_LAST_US - by_us else -_LAST_US


@njit(cache=True, nogil=True)
def extend_by_key(  # type: ignore[no-untyped-def]
    count, positions_in, ts_in, lineage_in,  # the rows
    keys, form, check_keys, check_forms,  # their keys: of the chains to walk, of further equalities
    heads, links, shift, base, first, limit, newest, least_us, ts_target, lineage_target,  # the state to join with
    cut_starts, cuts, window_sets,  # windows to each bound item
    codes, columns, starts, parameters, theta_sets, theta_members, probing, values,  # theta lists
    positions_out, ts_out, lineage_out, width, most,
):  # fmt: skip
    """Extend rows by the tuples of equal key at positions first..limit-1; (rows found, candidates seen).

    When more than `most` tuples would be looked at nothing is found: GAVE_UP. `least_us` is the least distance to a row's first item that any slot allows, `newest` the running maximum of event
    time: it tells up to which position all tuples are too old for every row.
    """
    words = len(width)
    alive = np.empty(words, np.uint64)
    bound = len(positions_in)
    checks = len(check_forms)
    oldest_us = ts_in[0, 0]
    for row in range(1, count):
        oldest_us = min(oldest_us, ts_in[0, row])
    low = first + rank_of(newest, first - base, limit - base, shifted(oldest_us, least_us) - 1)
    active = np.empty(count, np.int64)
    cursors = np.empty(count, np.int64)
    left_over = 0
    for row in range(count):
        position = heads[form, bucket_of(keys[row], shift)]
        if position >= low:
            active[left_over] = row
            cursors[left_over] = position
            left_over += 1
    written = 0
    candidates = 0
    # Step by step for all rows, not row by row: the steps of different rows do not wait for each other's memory.
    while left_over > 0:
        left_over, most = find_equal_keys(
            active, cursors, left_over, keys, form, links, base, low, limit, most
        )
        if most < 0:
            return GAVE_UP, candidates
        candidates += left_over
        for at in range(left_over):
            row, position = active[at], cursors[at]
            index = position - base
            cursors[at] = links[form, index, 0]
            left = np.uint64(0)
            for word in range(words):
                alive[word] = lineage_in[row, word] & lineage_target[index, word]
                left |= alive[word]
            ok = left != 0
            for check in range(checks):
                if links[check_forms[check], index, 1] != check_keys[check, row]:
                    ok = False
            ts = ts_target[index]
            item = 0
            while ok and item < bound:
                start, stop = cut_starts[item], cut_starts[item + 1]
                if stop > start:
                    place = rank_of(cuts, start, stop, ts - ts_in[item, row])
                    ok = intersect(alive, window_sets, start + item + place, width)
                item += 1
            if ok and len(codes):
                ok = thetas_hold(
                    alive, row, index, codes, columns, starts, parameters, theta_sets, theta_members, probing, values,
                    width,
                )  # fmt: skip
            if ok:
                written = write_row(
                    written, row, position, ts, alive, positions_in, ts_in, positions_out, ts_out, lineage_out, width
                )  # fmt: skip
    return written, candidates


@njit(cache=True, nogil=True)
def find_equal_keys(active, cursors, count, keys, form, links, base, low, limit, most):  # type: ignore[no-untyped-def]
    """Move each cursor along its chain to the next tuple of equal key; those that found one come first.

    How many there are, and how many of `most` steps are left; fewer than none when they did not suffice.
    """
    found = 0
    most -= count
    for at in range(count):
        row, position = active[at], cursors[at]
        key = keys[row]
        while position >= low and (links[form, position - base, 1] != key or position >= limit):
            position = links[form, position - base, 0]
            most -= 1
        if most < 0:
            break
        if position >= low:
            active[found] = row
            cursors[found] = position
            found += 1
    return found, most


@njit(cache=True, nogil=True)
def start_rows(lineage, ts_us, first, positions_out, ts_out, lineage_out):  # type: ignore[no-untyped-def]
    """The tuples of a packet that some slot wants, as rows of one bound item; how many."""
    words = min(lineage.shape[1], lineage_out.shape[1])
    written = 0
    for row in range(len(ts_us)):
        left = np.uint64(0)
        for word in range(words):
            left |= lineage[row, word]
        if left:
            positions_out[0, written] = first + row
            ts_out[0, written] = ts_us[row]
            lineage_out[written] = 0
            for word in range(words):
                lineage_out[written, word] = lineage[row, word]
            written += 1
    return written


@njit(cache=True, nogil=True)
def pick_rows(count, positions, ts, lineage, mask, positions_out, ts_out, lineage_out):  # type: ignore[no-untyped-def]
    """The rows that have a slot of the mask, with those slots only; how many."""
    words = len(mask)
    written = 0
    for row in range(count):
        left = np.uint64(0)
        for word in range(words):
            lineage_out[written, word] = lineage[row, word] & mask[word]
            left |= lineage_out[written, word]
        if left:
            for item in range(len(positions)):
                positions_out[item, written] = positions[item, row]
                ts_out[item, written] = ts[item, row]
            written += 1
    return written


@njit(cache=True, nogil=True)
def finish_rows(count, positions, ts, lineage, mask, places, stream_places):  # type: ignore[no-untyped-def]
    """Copies of the rows with a slot of the mask: positions by item, the latest event time of streams, lineage."""
    words = len(mask)
    kept = np.empty(count, np.int64)
    found = 0
    for row in range(count):
        left = np.uint64(0)
        for word in range(words):
            left |= lineage[row, word] & mask[word]
        kept[found] = row
        found += left != 0
    by_item = np.empty((len(places), found), np.int64)
    for item in range(len(places)):
        for at in range(found):
            by_item[item, at] = positions[places[item], kept[at]]
    latest = np.empty(found, np.int64)
    for at in range(found):
        latest[at] = ts[stream_places[0], kept[at]]
    for number in range(1, len(stream_places)):
        for at in range(found):
            latest[at] = max(latest[at], ts[stream_places[number], kept[at]])
    slots = np.empty((found, words), np.uint64)
    for at in range(found):
        for word in range(words):
            slots[at, word] = lineage[kept[at], word] & mask[word]
    return by_item, latest, slots


@njit(cache=True, nogil=True)
def finish_whole(count, positions, ts, lineage, places, slots):  # type: ignore[no-untyped-def]
    """Copies of complete rows of one host, and how many of them each of so many slots has."""
    by_item = np.empty((len(places), count), np.int64)
    for item in range(len(places)):
        for row in range(count):
            by_item[item, row] = positions[places[item], row]
    latest = ts[0, :count].copy()
    copied = lineage[:count].copy()
    counts = np.empty(64 * lineage.shape[1], np.int64)
    count_slots(lineage, count, counts)
    return by_item, latest, copied, counts[:slots]


@njit(cache=True, nogil=True)
def mark_wanted(lineage, wanted):  # type: ignore[no-untyped-def]
    """Mark the rows that some slot wants."""
    for row in range(len(lineage)):
        for word in range(lineage.shape[1]):
            if lineage[row, word]:
                wanted[row] = True


@njit(cache=True, nogil=True)
def count_slots(lineage, count, counts):  # type: ignore[no-untyped-def]
    """counts[slot] = how many of the first `count` rows have the slot's bit."""
    counts[:] = 0
    for row in range(count):
        for word in range(lineage.shape[1]):
            left = lineage[row, word]
            while left:
                counts[word * 64 + lowest_bit(left)] += 1
                left &= left - np.uint64(1)


@njit(cache=True, nogil=True)
def count_slots_of(lineage, count, mask, counts):  # type: ignore[no-untyped-def]
    """The same for the slots of a mask; how many rows have one of them."""
    counts[:] = 0
    found = 0
    for row in range(count):
        any_left = np.uint64(0)
        for word in range(len(mask)):
            left = lineage[row, word] & mask[word]
            any_left |= left
            while left:
                counts[word * 64 + lowest_bit(left)] += 1
                left &= left - np.uint64(1)
        found += any_left != 0
    return found


@njit(cache=True, nogil=True)
def keep_rows(lineage):  # type: ignore[no-untyped-def]
    """The rows that some slot still wants."""
    kept = np.empty(len(lineage), np.int64)
    count = 0
    for row in range(len(lineage)):
        for word in range(lineage.shape[1]):
            if lineage[row, word]:
                kept[count] = row
                count += 1
                break
    return kept[:count]
