"""The conditions of a step, one small function each, which become part of the kernels that ask.

A candidate for extending a row has the slots that want both, without those whose window does not allow the distance in time to a
bound item, and without those whose theta condition does not hold. Each function here takes such slots away from `alive`, the words
of a lineage, and says whether any is left.

The words are counted by `len(width)`: a tuple of one where there is one word, for which kernels are compiled without loops over
words, else an array (scanning with one word takes half the time that it takes with a loop).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cqc.runtime.join.step.theta_lists import rank

_LAST_US = (1 << 63) - 2


@njit(cache=True, nogil=True, inline="always")
def meet(alive, lineage, row, lineage_target, index, width):  # type: ignore[no-untyped-def]
    """Alive = the slots that want both a row and a tuple; whether there is any."""
    left = np.uint64(0)
    for word in range(len(width)):
        alive[word] = lineage[row, word] & lineage_target[index, word]
        left |= alive[word]
    return left != 0


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


@njit(cache=True, nogil=True, inline="always")
def window_allows(alive, windows, item, distance, width):  # type: ignore[no-untyped-def]
    """AND in the slots whose window to a bound item allows a distance in time."""
    start, stop = windows.starts[item], windows.starts[item + 1]
    place = rank_of(windows.cuts, start, stop, distance)
    return intersect(alive, windows.sets, start + item + place, width)


@njit(cache=True, nogil=True, inline="always")
def windows_allow(alive, windows, ts_in, row, ts, width):  # type: ignore[no-untyped-def]
    """AND in the slots whose windows allow the distances from all bound tuples of a row to a time."""
    ok = True
    item = 0
    while ok and item < len(ts_in):
        if windows.starts[item + 1] > windows.starts[item]:
            ok = window_allows(alive, windows, item, ts - ts_in[item, row], width)
        item += 1
    return ok


@njit(cache=True, nogil=True, inline="always")
def theta_allows(alive, thetas, number, row, target, width):  # type: ignore[no-untyped-def]
    """AND in the slots for which a theta list holds between a row and a value of the target."""
    start, stop = thetas.starts[number], thetas.starts[number + 1]
    place = rank(
        thetas.codes[number], thetas.probing[number, row], target, thetas.parameters, start, stop
    )
    return intersect(alive, thetas.sets, 2 * (start + number) + place, width)


@njit(cache=True, nogil=True)
def thetas_allow(alive, thetas, row, values, index, width):  # type: ignore[no-untyped-def]
    """AND in the slots whose theta conditions all hold between a row and the tuple at an index of its state."""
    for number in range(len(thetas.codes)):
        if touches(alive, thetas.members, number, width):
            target = values[index, thetas.columns[number]]
            if not theta_allows(alive, thetas, number, row, target, width):
                return False
    return True


@njit(cache=True, nogil=True, inline="always")
def shifted(ts_us, by_us):  # type: ignore[no-untyped-def]
    """An instant so much later (earlier when negative), or the last (first) one there is; one may still be added or taken."""
    if by_us >= 0:
        return ts_us + by_us if ts_us < _LAST_US - by_us else _LAST_US
    return ts_us + by_us if ts_us > -_LAST_US - by_us else -_LAST_US
