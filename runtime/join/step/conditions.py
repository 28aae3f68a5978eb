"""The conditions of a step, one small function each, which become part of the kernels that ask.

A candidate for extending a row has the slots that want both, without those whose window does not allow the distance in time to a
bound item, and without those whose theta condition does not hold. Each function here takes such slots away from `alive`, the words
of a lineage, and says whether any is left.

Kernels take the arrays out of their groups of arguments before their loops: Numba counts a reference up and down whenever a loop reaches
into a NamedTuple, which made scans 1.25 times as slow; small inlined functions that write into several arrays made steps in phases three
times as slow, so these are written out there.

The words are counted by `len(width)`: a tuple of one where there is one word, for which kernels are compiled without loops over
words, else an array (scanning with one word takes half the time that it takes with a loop).
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.theta_lists import rank
from cqc.runtime.kernel import njit

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
def place_among(cuts, value):  # type: ignore[no-untyped-def]
    """The same of all cuts; values that are below or above all of them, as most are of selective queries, are not searched for."""
    count = len(cuts)
    if count == 0 or value < cuts[0]:
        return 0
    if value >= cuts[count - 1]:
        return count
    return rank_of(cuts, 0, count, value)


@njit(cache=True, nogil=True, inline="always")
def window_allows(alive, starts, cuts, sets, item, distance, width):  # type: ignore[no-untyped-def]
    """AND in the slots whose window to a bound item (the fields of Windows) allows a distance in time."""
    start, stop = starts[item], starts[item + 1]
    place = rank_of(cuts, start, stop, distance)
    return intersect(alive, sets, start + item + place, width)


@njit(cache=True, nogil=True, inline="always")
def windows_allow(alive, starts, cuts, sets, ts_in, row, ts, width):  # type: ignore[no-untyped-def]
    """AND in the slots whose windows allow the distances from all bound tuples of a row to a time."""
    ok = True
    item = 0
    while ok and item < len(ts_in):
        if starts[item + 1] > starts[item]:
            ok = window_allows(alive, starts, cuts, sets, item, ts - ts_in[item, row], width)
        item += 1
    return ok


@njit(cache=True, nogil=True, inline="always")
def theta_allows(  # type: ignore[no-untyped-def]
    alive, code, starts, parameters, sets, number, probing, target, width
):
    """AND in the slots for which a theta list (fields of Thetas) holds between the value of a row and one of the target."""
    start, stop = starts[number], starts[number + 1]
    place = rank(code, probing, target, parameters, start, stop)
    return intersect(alive, sets, 2 * (start + number) + place, width)


@njit(cache=True, nogil=True)
def thetas_allow(alive, thetas, row, values, index, width):  # type: ignore[no-untyped-def]
    """AND in the slots whose theta conditions all hold between a row and the tuple at an index of its state."""
    codes, columns, starts, parameters, sets, members, probing = thetas
    for number in range(len(codes)):
        if touches(alive, members, number, width):
            target, own = values[index, columns[number]], probing[number, row]
            if not theta_allows(
                alive, codes[number], starts, parameters, sets, number, own, target, width
            ):
                return False
    return True


@njit(cache=True, nogil=True, inline="always")
def shifted(ts_us, by_us):  # type: ignore[no-untyped-def]
    """An instant so much later (earlier when negative), or the last (first) one there is; one may still be added or taken."""
    if by_us >= 0:
        return ts_us + by_us if ts_us < _LAST_US - by_us else _LAST_US
    return ts_us + by_us if ts_us > -_LAST_US - by_us else -_LAST_US
