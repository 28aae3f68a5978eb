"""The step by key: extend a block of partial combinations by the tuples of one more item that have equal keys.

A partial combination is a row: the position and event time of the tuple of each item bound so far, and its lineage, the
slots that are still alive. Extending goes through the candidates of every row, here by hash chain (by stretch of time in
`scan_kernels`), and takes from the lineage what the conditions do not allow (`conditions`). Only what some slot still wants is
written. One call extends the whole block, level by level (M-Join).

The output arrays may prove too small: the kernels then go on counting without writing, and the caller makes room and calls
again. Nor does a call take long: after so many candidates (`most`) it gives up, with -1 for the rows it found, and the caller takes
fewer rows at a time; in between somebody may have asked to stop.

All rows take a step along their chains before any takes the next: the steps of different rows do not wait for each other's memory.
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.conditions import meet, rank_of, shifted, thetas_allow, windows_allow
from cqc.runtime.join.step.step_arguments import (
    ChainTarget,
    RowBlock,
)
from cqc.runtime.kernel import njit
from cqc.runtime.state.hash_chains import bucket_of

# Tuples that one call looks at, at most: less than a tenth of a second. Two rows are never too many for a call.
MOST_STEPS = 1 << 20
NO_LIMIT = (1 << 63) - 1
GAVE_UP = -1


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


@njit(cache=True, nogil=True)
def first_young_enough(count, ts, target, least_us):  # type: ignore[no-untyped-def]
    """The position of the target's first tuple that is not too old for all rows; `least_us` as for `extend_by_key`."""
    oldest_us = ts[0, 0]
    for row in range(1, count):
        oldest_us = min(oldest_us, ts[0, row])
    begin, end = target.first - target.base, target.limit - target.base
    return target.first + rank_of(target.newest, begin, end, shifted(oldest_us, least_us) - 1)


@njit(cache=True, nogil=True)
def enter_chains(count, keys, form, target, low, active, cursors):  # type: ignore[no-untyped-def]
    """Put a cursor at the head of each row's chain; the rows with one come first, how many they are."""
    found = 0
    heads, shift = target.heads, target.shift
    for row in range(count):
        position = heads[form, bucket_of(keys[row], shift)]
        if position >= low:
            active[found] = row
            cursors[found] = position
            found += 1
    return found


@njit(cache=True, nogil=True)
def extend_by_key(  # type: ignore[no-untyped-def]
    count, rows, equalities, target, least_us, windows, thetas, out, width, most
):
    """Extend rows by the tuples of equal keys; (rows found, candidates seen).

    When more than `most` tuples would be looked at nothing is found: GAVE_UP. `least_us` is the least distance to a row's first
    item that any slot allows.
    """
    target, out = ChainTarget(*target), RowBlock(*out)
    positions_in, ts_in, lineage_in = rows
    all_keys, forms = equalities
    cut_starts, cuts, window_sets = windows
    links, base, limit, values = target.links, target.base, target.limit, target.values
    ts_target, lineage_target = target.ts, target.lineage
    positions_out, ts_out, lineage_out = out.positions, out.ts, out.lineage
    alive = np.empty(len(width), np.uint64)
    keys, form, checks, lists = all_keys[0], forms[0], len(forms), len(thetas[0])
    low = first_young_enough(count, ts_in, target, least_us)
    active, cursors = np.empty(count, np.int64), np.empty(count, np.int64)
    left_over = enter_chains(count, keys, form, target, low, active, cursors)
    written = 0
    candidates = 0
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
            ok = meet(alive, lineage_in, row, lineage_target, index, width)
            for check in range(1, checks):
                if links[forms[check], index, 1] != all_keys[check, row]:
                    ok = False
            ts = ts_target[index]
            if ok:
                ok = windows_allow(alive, cut_starts, cuts, window_sets, ts_in, row, ts, width)
            if ok and lists:
                ok = thetas_allow(alive, thetas, row, values, index, width)
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
