"""Rows of whole numbers in an array, found by hashing: kernels over `stored` [entry, part of the key] and a `table` of entries.

Slots of the table hold entries, -1 where there is none; the next slot is tried where another key sits. There are always more slots than
entries, and their number is a power of two.

    keys (0, 7) (0, 9) (0, 7)      entries 0 1 0      stored (0, 7) (0, 9)
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit


@njit(cache=True, nogil=True)
def _spread(key):  # type: ignore[no-untyped-def]
    """Where to look for a key. Eight positions that follow one another lie side by side: tuples mostly come so."""
    value, last = np.uint64(0x9E3779B97F4A7C15), len(key) - 1
    for at in range(last):
        value = (value ^ np.uint64(key[at])) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    position = np.uint64(key[last])
    value = (value ^ (position >> np.uint64(3))) * np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return (value << np.uint64(3)) | (position & np.uint64(7))


@njit(cache=True, nogil=True)
def locate(keys, stored, table, used, adding):  # type: ignore[no-untyped-def]
    """The entry of each key (-1: none), made where `adding`; and how many entries there are then."""
    found = np.empty(len(keys), np.int64)
    mask = np.uint64(len(table) - 1)
    for row in range(len(keys)):
        slot = _spread(keys[row]) & mask
        while True:
            entry = table[slot]
            if entry < 0:
                if adding:
                    entry = used
                    stored[entry] = keys[row]
                    table[slot] = entry
                    used += 1
                break
            same = True
            for at in range(keys.shape[1]):
                if stored[entry, at] != keys[row, at]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        found[row] = entry
    return found, used


@njit(cache=True, nogil=True)
def enter(stored, table, used):  # type: ignore[no-untyped-def]
    """Put entries that differ into an empty table."""
    mask = np.uint64(len(table) - 1)
    for entry in range(used):
        slot = _spread(stored[entry]) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = entry


def warm() -> None:
    """Compile this module's kernels."""
    keys, table = np.zeros((1, 2), np.int64), np.full(4, -1, np.int64)
    locate(keys, np.zeros((1, 2), np.int64), table, 0, True)
    enter(keys, np.full(4, -1, np.int64), 1)
