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
from numba import njit

from cqc.runtime.join.step.conditions import intersect, thetas_allow, windows_allow
from cqc.runtime.join.step.probe_kernels import write_row
from cqc.runtime.join.step.scan_kernels import accepted_by_list
from cqc.runtime.join.step.step_arguments import Candidates, ChainTarget, RowBlock, Thetas, Windows
from cqc.runtime.state.hash_chains import bucket_of


@njit(cache=True, nogil=True, inline="always")
def note(candidates, found, row, position, lineage):  # type: ignore[no-untyped-def]
    """List one candidate more, where there is room; how many there are now."""
    if found < len(candidates.rows):
        candidates.rows[found] = row
        candidates.positions[found] = position
        candidates.alive[found] = lineage[row]
    return found + 1


@njit(cache=True, nogil=True, inline="always")
def keep(candidates, kept, at):  # type: ignore[no-untyped-def]
    """Move a candidate that stays to the others that do; how many there are now."""
    candidates.rows[kept], candidates.positions[kept] = (
        candidates.rows[at],
        candidates.positions[at],
    )
    candidates.alive[kept] = candidates.alive[at]
    return kept + 1


@njit(cache=True, nogil=True)
def list_by_key(begin, end, lineage, keys, form, target, low, candidates, most):  # type: ignore[no-untyped-def]
    """Candidates of rows begin..end-1: tuples of equal key from position `low` on; how many there are.

    More than `most` when more tuples than that would have to be looked at: then what was listed is not all.
    """
    target, candidates = ChainTarget(*target), Candidates(*candidates)
    links, base, limit = target.links, target.base, target.limit
    found = looked = 0
    for row in range(begin, end):
        if looked > most:
            return looked
        key = keys[row]
        position = target.heads[form, bucket_of(key, target.shift)]
        while position >= low:
            if links[form, position - base, 1] == key and position < limit:
                found = note(candidates, found, row, position, lineage)
            position = links[form, position - base, 0]
            looked += 1
    return found


@njit(cache=True, nogil=True)
def list_in_run(begin, end, lineage, ranges, run, span, found, candidates, most):  # type: ignore[no-untyped-def]
    """The same for tuples of a sorted run between a low and a high key of each row, NaN always; goes on after `found`.

    `ranges`: (lows, highs) by row; `run`: (keys, positions); `span`: (the first position that counts, the one behind the last).
    """
    candidates = Candidates(*candidates)
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
                found = note(candidates, found, row, position, lineage)
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
    links, base = target.links, target.base
    found = 0
    for row in sample:
        position = target.heads[form, bucket_of(keys[row], target.shift)]
        while position >= low and found < most:
            found += links[form, position - base, 1] == keys[row] and position < target.limit
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
    thetas = Thetas(*thetas)
    for row in range(count):
        lows[row], highs[row] = -np.inf, np.inf
        alone = True
        for word in range(lineage.shape[1]):
            if lineage[row, word] & ~thetas.members[number, word]:
                alone = False
        if alone:
            lows[row], highs[row] = accepted_by_list(
                thetas.codes[number], thetas.probing[number, row], thetas.parameters,
                thetas.starts[number], thetas.starts[number + 1],
            )  # fmt: skip


@njit(cache=True, nogil=True)
def attribute_phase(count, candidates, target):  # type: ignore[no-untyped-def]
    """Keep the slots whose filters want the candidate's tuple; how many candidates are left."""
    candidates, target = Candidates(*candidates), ChainTarget(*target)
    kept = 0
    for at in range(count):
        alive = candidates.alive[at]
        if intersect(alive, target.lineage, candidates.positions[at] - target.base, alive):
            kept = keep(candidates, kept, at)
    return kept


@njit(cache=True, nogil=True)
def window_phase(count, candidates, target, ts_in, windows):  # type: ignore[no-untyped-def]
    """Keep the slots whose windows allow the distances to all bound tuples."""
    candidates, target, windows = Candidates(*candidates), ChainTarget(*target), Windows(*windows)
    kept = 0
    for at in range(count):
        ts, alive = target.ts[candidates.positions[at] - target.base], candidates.alive[at]
        if windows_allow(alive, windows, ts_in, candidates.rows[at], ts, alive):
            kept = keep(candidates, kept, at)
    return kept


@njit(cache=True, nogil=True)
def join_phase(count, candidates, target, keys, forms, thetas):  # type: ignore[no-untyped-def]
    """Keep the candidates whose keys are equal, and the slots whose theta conditions hold."""
    candidates, target, thetas = Candidates(*candidates), ChainTarget(*target), Thetas(*thetas)
    kept = 0
    for at in range(count):
        index, row, ok = candidates.positions[at] - target.base, candidates.rows[at], True
        for number in range(len(forms)):
            if target.links[forms[number], index, 1] != keys[number, row]:
                ok = False
                break
        if ok and len(thetas.codes):
            alive = candidates.alive[at]
            ok = thetas_allow(alive, thetas, row, target.values, index, alive)
        if ok:
            kept = keep(candidates, kept, at)
    return kept


@njit(cache=True, nogil=True)
def write_candidates(count, candidates, target, rows, written, out):  # type: ignore[no-untyped-def]
    """The rows extended by their candidates, written after the first `written`; how many there are now."""
    candidates, target = Candidates(*candidates), ChainTarget(*target)
    rows, out = RowBlock(*rows), RowBlock(*out)
    for at in range(count):
        position, alive = candidates.positions[at], candidates.alive[at]
        ts = target.ts[position - target.base]
        written = write_row(written, candidates.rows[at], position, ts, alive, rows, out, alive)
    return written
