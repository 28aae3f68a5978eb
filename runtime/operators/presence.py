"""Which composite values a state has: a summary that tells, before a partial combination is made, that nobody awaits it.

A table of hashes with the newest event time seen for each. Two values with one hash make a partial combination that was not
needed, never a lost result. Entries too old to matter go when the table is made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit, uint64

from cqc.runtime.operators.probe import shifted
from cqc.runtime.operators.rank_lineage import BEFORE_ALL_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_ROOM = 1024
SEED = np.uint64(0x9E3779B97F4A7C15)


class Presence:
    """The values that tuples of one item have in some key columns (`forms` of its state's chains)."""

    def __init__(self, forms: NDArray[np.int64]) -> None:
        self.forms = forms
        self._noted = 0
        self._allocate(_LEAST_ROOM)

    @property
    def nbytes(self) -> int:
        return int(self.hashes.nbytes + self.newest.nbytes)

    def note(
        self,
        links: NDArray[np.int64],
        ts: NDArray[np.int64],
        lineage: NDArray[np.uint64],
        begin: int,
        end: int,
        dead_us: int,
    ) -> None:
        """Note the tuples at the indexes begin..end-1 of a state; what is older than `dead_us` may be forgotten."""
        if 2 * (self._noted + end - begin) > len(self.hashes):
            self._renew(end - begin, dead_us)
        self._noted += note_keys(
            links,
            self.forms,
            ts,
            lineage,
            begin,
            end,
            dead_us,
            self.hashes,
            self.newest,
            self.shift,
        )

    def _renew(self, more: int, dead_us: int) -> None:
        hashes, newest = self.hashes, self.newest
        kept = np.flatnonzero((hashes != 0) & (newest >= dead_us))
        room = _LEAST_ROOM
        while room < 4 * (len(kept) + more):
            room *= 2
        self._allocate(room)
        move_entries(hashes[kept], newest[kept], self.hashes, self.newest, self.shift)
        self._noted = len(kept)

    def _allocate(self, room: int) -> None:
        self.hashes = np.zeros(room, np.uint64)
        self.newest = np.full(room, BEFORE_ALL_US, np.int64)
        self.shift = 64 - (room.bit_length() - 1)


@njit(cache=True, nogil=True, inline="always")
def mix(code, key):  # type: ignore[no-untyped-def]
    """A hash of one more value."""
    code = (code ^ uint64(key)) * uint64(0xBF58476D1CE4E5B9)
    return code ^ (code >> uint64(29))


@njit(cache=True, nogil=True, inline="always")
def slot_of(hashes, code, shift):  # type: ignore[no-untyped-def]
    """Where the hash is, or the free place where it would be."""
    at = np.int64((code * uint64(0x94D049BB133111EB)) >> uint64(shift))
    while hashes[at] != code and hashes[at] != 0:
        at = (at + 1) & (len(hashes) - 1)
    return at


@njit(cache=True, nogil=True)
def note_keys(links, forms, ts, lineage, begin, end, dead_us, hashes, newest, shift):  # type: ignore[no-untyped-def]
    """Enter the keys of the tuples at begin..end-1 that some slot wants; how many are new.

    A tuple that comes late may be dead for the future and still meets what is there: it counts as just alive.
    """
    new = 0
    for index in range(begin, end):
        wanted = np.uint64(0)
        for word in range(lineage.shape[1]):
            wanted |= lineage[index, word]
        if not wanted:
            continue
        code = SEED
        for form in range(len(forms)):
            code = mix(code, links[index, forms[form], 1])
        code |= uint64(1)  # 0 is a free place
        at = slot_of(hashes, code, shift)
        if hashes[at] == 0:
            hashes[at] = code
            new += 1
        newest[at] = max(newest[at], ts[index], dead_us)
    return new


@njit(cache=True, nogil=True)
def move_entries(old_hashes, old_newest, hashes, newest, shift):  # type: ignore[no-untyped-def]
    """Enter entries of another table."""
    for number in range(len(old_hashes)):
        at = slot_of(hashes, old_hashes[number], shift)
        hashes[at] = old_hashes[number]
        newest[at] = old_newest[number]


@njit(cache=True, nogil=True)
def keep_awaited(  # type: ignore[no-untyped-def]
    count, positions, ts, lineage, links_0, base_0, links_1, base_1, places, forms, hashes, newest, shift, reach_us
):  # fmt: skip
    """Of rows of two bound items keep those whose composite value is there and not too old; how many.

    `places[k]` says which of the two has key column `forms[k]`; a partner may be `reach_us` older than a row's first tuple.
    """
    kept = 0
    for row in range(count):
        code = SEED
        for number in range(len(forms)):
            if places[number] == 0:
                key = links_0[positions[0, row] - base_0, forms[number], 1]
            else:
                key = links_1[positions[1, row] - base_1, forms[number], 1]
            code = mix(code, key)
        code |= uint64(1)
        at = slot_of(hashes, code, shift)
        if hashes[at] == code and newest[at] >= shifted(ts[0, row], -reach_us):
            for place in range(2):
                positions[place, kept] = positions[place, row]
                ts[place, kept] = ts[place, row]
            for word in range(lineage.shape[1]):
                lineage[kept, word] = lineage[row, word]
            kept += 1
    return kept
