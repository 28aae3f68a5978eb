"""A step of the n-ary join taken apart into phases, in any order (Juggler's attribute, join and window phases).

The fused kernels (`probe_kernels`, `scan_kernels`) check everything about a candidate at once, in one order, which is hard to beat
when that order is right. Here the candidates of many rows are listed first, by the structure that the first of the join and
window phases exploits: chains of equal keys, tuples by value, or tuples by time. Then each phase goes over the list: it takes
away from every candidate the slots whose conditions do not hold, and from the list the candidates that no slot wants any
more, so the next phase has fewer of both. Conditions that a phase has answered are not looked at again.

    AJW with equal keys    list by key    A: what the filters said of the tuple    J: further equalities, theta lists    W
    WJA                    list by time   W: the distances to all bound tuples     J                                     A
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.conditions import intersect, rank_of, thetas_allow
from cqc.runtime.join.step.probe_kernels import write_row
from cqc.runtime.join.step.scan_kernels import accepted_by_list
from cqc.runtime.join.step.step_arguments import ChainTarget
from cqc.runtime.kernel import njit
from cqc.runtime.state.hash_chains import bucket_of


@njit(cache=True, nogil=True)
def list_by_key(begin, end, lineage, keys, form, target, low, candidates, most):  # type: ignore[no-untyped-def]
    """Candidates of rows begin..end-1: tuples of equal key from position `low` on; how many there are.

    More than `most` when more tuples than that would have to be looked at: then what was listed is not all.
    """
    target = ChainTarget(*target)
    rows, positions, alive = candidates
    room = len(rows)
    links, heads, shift = target.links, target.heads, target.shift
    base, limit = target.base, target.limit
    found = looked = 0
    for row in range(begin, end):
        if looked > most:
            return looked
        key = keys[row]
        position = heads[form, bucket_of(key, shift)]
        while position >= low:
            if links[form, position - base, 1] == key and position < limit:
                if found < room:
                    rows[found] = row
                    positions[found] = position
                    alive[found] = lineage[row]
                found += 1
            position = links[form, position - base, 0]
            looked += 1
    return found


@njit(cache=True, nogil=True)
def list_in_run(begin, end, lineage, ranges, run, span, found, candidates, most):  # type: ignore[no-untyped-def]
    """The same for tuples of a sorted run between a low and a high key of each row, NaN always; goes on after `found`.

    `ranges`: (lows, highs) by row; `run`: (keys, positions); `span`: (the first position that counts, the one behind the last).
    """
    rows, positions, alive = candidates
    room = len(rows)
    lows, highs = ranges
    run_keys, run_positions = run
    first, limit = span
    numbers = len(run_keys)
    while numbers > 0 and run_keys[numbers - 1] != run_keys[numbers - 1]:
        numbers -= 1
    looked = found
    for row in range(begin, end):
        if looked > most:
            return looked
        at = lower_bound(run_keys, numbers, lows[row])
        while at < len(run_keys):
            if at < numbers and run_keys[at] > highs[row]:
                at = numbers
                continue
            position = run_positions[at]
            if first <= position < limit:
                if found < room:
                    rows[found] = row
                    positions[found] = position
                    alive[found] = lineage[row]
                found += 1
            at += 1
            looked += 1
    return found


@njit(cache=True, nogil=True)
def lower_bound(keys, count, value):  # type: ignore[no-untyped-def]
    """How many of the first `count` keys are below the value."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def count_by_key(sample, keys, form, target, low, most):  # type: ignore[no-untyped-def]
    """How many candidates some rows have by key from position `low` on; stops at `most`."""
    target = ChainTarget(*target)
    links, heads, shift = target.links, target.heads, target.shift
    base, limit = target.base, target.limit
    found = 0
    for row in sample:
        position = heads[form, bucket_of(keys[row], shift)]
        while position >= low and found < most:
            found += links[form, position - base, 1] == keys[row] and position < limit
            position = links[form, position - base, 0]
    return found


@njit(cache=True, nogil=True)
def stretches(count, ts, loosest, lows, highs):  # type: ignore[no-untyped-def]
    """For each row the times between which a tuple can be, of all windows to bound items."""
    for row in range(count):
        low, high = -np.inf, np.inf
        for item in range(len(loosest)):
            low = max(low, np.float64(ts[item, row]) + np.float64(loosest[item, 0]))
            high = min(high, np.float64(ts[item, row]) + np.float64(loosest[item, 1]))
        # Doubles hold microseconds up to 2^53; beyond that the next ones are let in as well.
        lows[row], highs[row] = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


@njit(cache=True, nogil=True)
def value_ranges(count, lineage, number, thetas, lows, highs):  # type: ignore[no-untyped-def]
    """For each row the values that some condition of a list accepts; everything where other slots want the row too."""
    codes, _, starts, parameters, _, members, probing = thetas
    for row in range(count):
        lows[row], highs[row] = -np.inf, np.inf
        alone = True
        for word in range(lineage.shape[1]):
            if lineage[row, word] & ~members[number, word]:
                alone = False
        if alone:
            lows[row], highs[row] = accepted_by_list(
                codes[number], probing[number, row], parameters, starts[number], starts[number + 1]
            )  # fmt: skip


@njit(cache=True, nogil=True)
def attribute_phase(count, candidates, target):  # type: ignore[no-untyped-def]
    """Keep the slots whose filters want the candidate's tuple; how many candidates are left."""
    target = ChainTarget(*target)
    rows, positions, alive = candidates
    lineage, base = target.lineage, target.base
    kept = 0
    for at in range(count):
        if intersect(alive[at], lineage, positions[at] - base, alive[at]):
            rows[kept], positions[kept] = rows[at], positions[at]
            alive[kept] = alive[at]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def window_phase(count, candidates, target, ts_in, windows):  # type: ignore[no-untyped-def]
    """Keep the slots whose windows allow the distances to all bound tuples."""
    target = ChainTarget(*target)
    rows, positions, alive = candidates
    starts, cuts, sets = windows
    times, base = target.ts, target.base
    kept = 0
    for at in range(count):
        ts, ok = times[positions[at] - base], True
        for item in range(len(ts_in)):
            start, stop = starts[item], starts[item + 1]
            if stop > start:
                place = rank_of(cuts, start, stop, ts - ts_in[item, rows[at]])
                if not intersect(alive[at], sets, start + item + place, alive[at]):
                    ok = False
                    break
        if ok:
            rows[kept], positions[kept] = rows[at], positions[at]
            alive[kept] = alive[at]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def join_phase(count, candidates, target, keys, forms, thetas):  # type: ignore[no-untyped-def]
    """Keep the candidates whose keys are equal, and the slots whose theta conditions hold."""
    target = ChainTarget(*target)
    rows, positions, alive = candidates
    links, base, values, lists = target.links, target.base, target.values, len(thetas[0])
    kept = 0
    for at in range(count):
        index, row, ok = positions[at] - base, rows[at], True
        for number in range(len(forms)):
            if links[forms[number], index, 1] != keys[number, row]:
                ok = False
                break
        if ok and lists:
            ok = thetas_allow(alive[at], thetas, row, values, index, alive[at])
        if ok:
            rows[kept], positions[kept] = rows[at], positions[at]
            alive[kept] = alive[at]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def write_candidates(count, candidates, target, rows, written, out):  # type: ignore[no-untyped-def]
    """The rows extended by their candidates, written after the first `written`; how many there are now."""
    target = ChainTarget(*target)
    own_rows, positions, alive = candidates
    positions_in, ts_in, _ = rows
    positions_out, ts_out, lineage_out = out
    times, base = target.ts, target.base
    for at in range(count):
        written = write_row(
            written, own_rows[at], positions[at], times[positions[at] - base], alive[at],
            positions_in, ts_in, positions_out, ts_out, lineage_out, alive[at],
        )  # fmt: skip
    return written
