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
from numba import njit

from cqc.runtime.join.step.conditions import meet, rank_of, shifted, thetas_allow, windows_allow
from cqc.runtime.join.step.step_arguments import (
    ChainTarget,
    Equalities,
    RowBlock,
    Thetas,
    Windows,
)
from cqc.runtime.state.hash_chains import bucket_of

# Tuples that one call looks at, at most: less than a tenth of a second. Two rows are never too many for a call.
MOST_STEPS = 1 << 20
NO_LIMIT = (1 << 63) - 1
GAVE_UP = -1


@njit(cache=True, nogil=True, inline="always")
def write_row(written, row, position, ts, alive, rows, out, width):  # type: ignore[no-untyped-def]
    """Write the extended row, where there is room; how many rows there are now.

    Where the output has room for one event time only, the row is complete and the latest one is its result time.
    """
    if written < out.positions.shape[1]:
        bound = len(rows.positions)
        for item in range(bound):
            out.positions[item, written] = rows.positions[item, row]
        out.positions[bound, written] = position
        if len(out.ts) == 1:
            latest = ts
            for item in range(bound):
                latest = max(latest, rows.ts[item, row])
            out.ts[0, written] = latest
        else:
            for item in range(bound):
                out.ts[item, written] = rows.ts[item, row]
            out.ts[bound, written] = ts
        for word in range(len(width)):
            out.lineage[written, word] = alive[word]
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
    for row in range(count):
        position = target.heads[form, bucket_of(keys[row], target.shift)]
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
    rows, equalities, target = RowBlock(*rows), Equalities(*equalities), ChainTarget(*target)
    windows, thetas, out = Windows(*windows), Thetas(*thetas), RowBlock(*out)
    alive = np.empty(len(width), np.uint64)
    keys, form, links = equalities.keys[0], equalities.forms[0], target.links
    low = first_young_enough(count, rows.ts, target, least_us)
    active, cursors = np.empty(count, np.int64), np.empty(count, np.int64)
    left_over = enter_chains(count, keys, form, target, low, active, cursors)
    written = 0
    candidates = 0
    while left_over > 0:
        left_over, most = find_equal_keys(
            active, cursors, left_over, keys, form, links, target.base, low, target.limit, most
        )
        if most < 0:
            return GAVE_UP, candidates
        candidates += left_over
        for at in range(left_over):
            row, position = active[at], cursors[at]
            index = position - target.base
            cursors[at] = links[form, index, 0]
            ok = meet(alive, rows.lineage, row, target.lineage, index, width)
            for check in range(1, len(equalities.forms)):
                if links[equalities.forms[check], index, 1] != equalities.keys[check, row]:
                    ok = False
            ts = target.ts[index]
            ok = ok and windows_allow(alive, windows, rows.ts, row, ts, width)
            if ok and len(thetas.codes):
                ok = thetas_allow(alive, thetas, row, target.values, index, width)
            if ok:
                written = write_row(written, row, position, ts, alive, rows, out, width)
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
