"""Which composite values the tuples of some items have: asked before a partial combination is made that nobody awaits.

One table of hashes for all that a join asks about, with the newest event time seen for each. A *presence* is an item and some of its key
columns; its number is part of the hash. Two values with one hash make a partial combination that was not needed, never a
lost result. Entries too old to matter go when the table is made anew.

Most of what is asked for is not there. So a bit for each hash, eight times as many as there are places in the table, is looked at
first: the bits stay near the processor when the table does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import uint64

from cqc.runtime.join.step.conditions import meet, shifted, window_allows
from cqc.runtime.join.step.probe_kernels import (
    GAVE_UP,
    enter_chains,
    find_equal_keys,
    first_young_enough,
)
from cqc.runtime.join.step.step_arguments import ChainTarget, RowBlock
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LEAST_ROOM = 1024


class Table(NamedTuple):
    """What is there, for kernels."""

    hashes: NDArray[np.uint64]  # 0: a free place
    newest: NDArray[np.int64]  # event time, of each
    bits: NDArray[np.uint64]
    shift: int


class Asked(NamedTuple):
    """What a pair must still find, for kernels: composite values, of which `places` says which tuple of the pair has each part."""

    numbers: NDArray[np.int64]  # of the presence that each demand asks for
    starts: NDArray[np.int64]  # where the parts of each begin, and the end
    places: NDArray[np.int64]
    forms: NDArray[np.int64]
    reach_us: NDArray[np.int64]  # how much older than the pair's first tuple a partner may be


class Starters(NamedTuple):
    """The state of the tuples that start, for kernels."""

    links: NDArray[np.int64]
    base: int
    forms: NDArray[np.int64]  # that must be equal to
    target_forms: NDArray[np.int64]


SEED = np.uint64(0x9E3779B97F4A7C15)


class Presences:
    """The values that tuples have in some key columns (forms of their state's chains), for several items."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._of_item: dict[int, tuple[NDArray[np.int64], ...]] = {}
        self._owners: list[int] = []  # the item of each presence
        self._noted = 0
        self._allocate(_LEAST_ROOM)

    @property
    def items(self) -> list[int]:
        """The items that are asked about."""
        return list(self._of_item)

    @property
    def nbytes(self) -> int:
        bits = self.bits.nbytes
        return int(self.hashes.nbytes + self.newest.nbytes + bits + self._presence.nbytes)

    def number(self, item: int, forms: tuple[int, ...]) -> int:
        """The number of a presence; a new one knows no tuple yet."""
        if (item, forms) not in self._numbers:
            self._numbers[item, forms] = len(self._owners)
            self._owners.append(item)
            self._arrange()
        return self._numbers[item, forms]

    def keep(self, numbers: set[int]) -> None:
        """Note tuples for these presences only from now on."""
        self._numbers = {key: n for key, n in self._numbers.items() if n in numbers}
        self._arrange()

    def note(
        self,
        item: int,
        links: NDArray[np.int64],
        ts: NDArray[np.int64],
        lineage: NDArray[np.uint64],
        begin: int,
        end: int,
        dead_us: NDArray[np.int64],
    ) -> None:
        """Note the tuples at the indexes begin..end-1 of an item; what is older than `dead_us[its item]` may be forgotten."""
        arranged = self._of_item.get(item)
        if arranged is None:
            return
        more = (end - begin) * len(arranged[0])
        if 2 * (self._noted + more) > len(self.hashes):
            self._renew(more, dead_us)
        self._noted += note_keys(
            links, arranged, ts, lineage, (begin, end), dead_us[item], self.table, self._presence
        )

    @property
    def table(self) -> tuple[Any, ...]:
        """A Table, for kernels."""
        return self.hashes, self.newest, self.bits, self.shift

    def _arrange(self) -> None:
        """By item: the numbers of its presences, where the forms of each begin, and the forms."""
        self._of_item = {}
        for item in {item for item, _ in self._numbers}:
            own = [(forms, n) for (of, forms), n in self._numbers.items() if of == item]
            starts = np.cumsum([0, *(len(forms) for forms, _ in own)])
            self._of_item[item] = (
                np.array([n for _, n in own], np.int64),
                starts.astype(np.int64),
                np.array([form for forms, _ in own for form in forms], np.int64),
            )

    def _renew(self, more: int, dead_us: NDArray[np.int64]) -> None:
        hashes, newest, presence = self.hashes, self.newest, self._presence
        used = {n for _, n in self._numbers.items()}
        least = np.array(
            [dead_us[item] if n in used else np.iinfo(np.int64).max for n, item in enumerate(self._owners)],
            np.int64,
        )  # fmt: skip
        kept = np.flatnonzero(hashes != 0)
        kept = kept[newest[kept] >= least[presence[kept]]]
        room = _LEAST_ROOM
        while room < 4 * (len(kept) + more):
            room *= 2
        self._allocate(room)
        places = np.empty(len(kept), np.int64)
        move_entries(hashes[kept], newest[kept], self.hashes, self.newest, self.shift, places)
        set_bits(hashes[kept], self.bits, self.shift)
        self._presence[places] = presence[kept]
        self._noted = len(kept)

    def _allocate(self, room: int) -> None:
        self.hashes = np.zeros(room, np.uint64)
        self.newest = np.full(room, BEFORE_ALL_US, np.int64)
        self.bits = np.zeros(room >> 3, np.uint64)
        self._presence = np.zeros(room, np.int32)
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


@njit(cache=True, nogil=True, inline="always")
def bit_of(code, shift):  # type: ignore[no-untyped-def]
    """The number of the bit that stands for a hash."""
    return np.int64((code * uint64(0x94D049BB133111EB)) >> uint64(shift - 3))


@njit(cache=True, nogil=True, inline="always")
def set_bit(bits, code, shift):  # type: ignore[no-untyped-def]
    """Note that a hash is in the table."""
    bit = bit_of(code, shift)
    bits[bit >> 6] |= uint64(1) << uint64(bit & 63)


@njit(cache=True, nogil=True, inline="always")
def has_bit(bits, code, shift):  # type: ignore[no-untyped-def]
    """Whether a hash may be in the table."""
    bit = bit_of(code, shift)
    return (bits[bit >> 6] >> uint64(bit & 63)) & uint64(1) != 0


@njit(cache=True, nogil=True)
def note_keys(links, arranged, ts, lineage, span, dead_us, table, presence):  # type: ignore[no-untyped-def]
    """Enter the keys of the tuples of a span that some slot wants; how many are new.

    A tuple that comes late may be dead for the future and still meets what is there: it counts as just alive.
    """
    numbers, starts, forms = arranged
    table = Table(*table)
    hashes, newest, bits, shift = table.hashes, table.newest, table.bits, table.shift
    begin, end = span
    new = 0
    for index in range(begin, end):
        wanted = np.uint64(0)
        for word in range(lineage.shape[1]):
            wanted |= lineage[index, word]
        if not wanted:
            continue
        for number in range(len(numbers)):
            code = mix(SEED, numbers[number])
            for form in range(starts[number], starts[number + 1]):
                code = mix(code, links[forms[form], index, 1])
            code |= uint64(1)  # 0 is a free place
            at = slot_of(hashes, code, shift)
            if hashes[at] == 0:
                hashes[at] = code
                presence[at] = numbers[number]
                set_bit(bits, code, shift)
                new += 1
            newest[at] = max(newest[at], ts[index], dead_us)
    return new


@njit(cache=True, nogil=True)
def move_entries(old_hashes, old_newest, hashes, newest, shift, places):  # type: ignore[no-untyped-def]
    """Enter entries of another table; `places` are where they are now."""
    for number in range(len(old_hashes)):
        at = slot_of(hashes, old_hashes[number], shift)
        hashes[at] = old_hashes[number]
        newest[at] = old_newest[number]
        places[number] = at


@njit(cache=True, nogil=True)
def set_bits(hashes, bits, shift):  # type: ignore[no-untyped-def]
    """Note that hashes are in the table."""
    for number in range(len(hashes)):
        set_bit(bits, hashes[number], shift)


@njit(cache=True, nogil=True, inline="always")
def pair_code(links_0, index_0, links_1, index_1, demand, asked):  # type: ignore[no-untyped-def]
    """The hash of the composite value that a demand wants for a pair of tuples."""
    code = mix(SEED, asked.numbers[demand])
    for at in range(asked.starts[demand], asked.starts[demand + 1]):
        if asked.places[at] == 0:
            code = mix(code, links_0[asked.forms[at], index_0, 1])
        else:
            code = mix(code, links_1[asked.forms[at], index_1, 1])
    return code | uint64(1)


@njit(cache=True, nogil=True)
def keep_awaited(count, rows, starters, target, asked, table, dropped):  # type: ignore[no-untyped-def]
    """Of rows of two bound items keep those whose composite values are all there and not too old; how many.

    `dropped[demand]` counts what each demand dropped.
    """
    rows, starters, target = RowBlock(*rows), Starters(*starters), ChainTarget(*target)
    asked, table = Asked(*asked), Table(*table)
    positions, ts, lineage = rows.positions, rows.ts, rows.lineage
    kept = 0
    for row in range(count):
        failed = -1
        demand = 0
        while failed < 0 and demand < len(asked.numbers):
            one, two = positions[0, row] - starters.base, positions[1, row] - target.base
            code = pair_code(starters.links, one, target.links, two, demand, asked)
            may_be = has_bit(table.bits, code, table.shift)
            if not may_be or not is_there(code, ts[0, row], demand, asked, table):
                failed = demand
            demand += 1
        if failed >= 0:
            dropped[failed] += 1
            continue
        for place in range(2):
            positions[place, kept] = positions[place, row]
            ts[place, kept] = ts[place, row]
        for word in range(lineage.shape[1]):
            lineage[kept, word] = lineage[row, word]
        kept += 1
    return kept


@njit(cache=True, nogil=True, inline="always")
def is_there(code, ts, demand, asked, table):  # type: ignore[no-untyped-def]
    """Whether a composite value is in the table, and young enough for a pair that starts at a time."""
    slot = slot_of(table.hashes, code, table.shift)
    is_young = table.newest[slot] >= shifted(ts, -asked.reach_us[demand])
    return table.hashes[slot] != 0 and is_young


@njit(cache=True, nogil=True)
def make_awaited(  # type: ignore[no-untyped-def]
    count, rows, starters, target, least_us, windows, asked, table, dropped, out, width, most
):
    """Make the pairs of equal keys whose further composite values are all there; (how many, asked about, candidates seen).

    GAVE_UP pairs when more than `most` tuples would be looked at. In one pass: a pair that nobody awaits is never written.
    Without room pairs are counted and not written, and the caller makes room and calls again: `dropped` is counted up only when all
    was written. All rows take a step along their chains before any takes the next, and so on with all that is looked up: memory is
    waited for once for many.
    """
    rows, starters, target = RowBlock(*rows), Starters(*starters), ChainTarget(*target)
    asked, table = Asked(*asked), Table(*table)
    cut_starts, cuts, window_sets = windows
    positions_out, ts_out, lineage_out = out
    positions_in, ts_in, base_0, base_1 = rows.positions, rows.ts, starters.base, target.base
    lineage_in, lineage_target, ts_target = rows.lineage, target.lineage, target.ts
    own_forms, target_forms, limit = starters.forms, starters.target_forms, target.limit
    bits, shift, demands = table.bits, table.shift, len(asked.numbers)
    links_0, links_1, form = starters.links, target.links, starters.target_forms[0]
    failures = np.zeros(len(asked.numbers) + 1, np.int64)
    alive = np.empty(len(width), np.uint64)
    written = candidates = 0
    low = first_young_enough(count, ts_in, target, least_us)
    keys = np.empty(count, np.int64)
    active, cursors = np.empty(count, np.int64), np.empty(count, np.int64)
    own_rows, indexes = np.empty(count, np.int64), np.empty(count, np.int64)
    codes = np.empty(count, np.uint64)
    for row in range(count):
        keys[row] = links_0[starters.forms[0], positions_in[0, row] - base_0, 1]
    left_over = enter_chains(count, keys, form, target, low, active, cursors)
    while left_over > 0:
        left_over, most = find_equal_keys(
            active, cursors, left_over, keys, form, links_1, base_1, low, limit, most
        )
        if most < 0:
            return GAVE_UP, 0, 0
        candidates += left_over
        met = 0
        for at in range(left_over):
            row, index = active[at], cursors[at] - base_1
            cursors[at] = links_1[form, index, 0]
            own = positions_in[0, row] - base_0
            ok = meet(alive, lineage_in, row, lineage_target, index, width)
            ok = ok and window_allows(
                alive, cut_starts, cuts, window_sets, 0, ts_target[index] - ts_in[0, row], width
            )
            for check in range(1, len(own_forms)):
                here, there = own_forms[check], target_forms[check]
                ok = ok and links_0[here, own, 1] == links_1[there, index, 1]
            own_rows[met] = row
            indexes[met] = index
            met += ok
        for demand in range(demands):
            came, met = met, 0
            for at in range(came):
                row, index = own_rows[at], indexes[at]
                own = positions_in[0, row] - base_0
                code = pair_code(links_0, own, links_1, index, demand, asked)
                own_rows[met] = row
                indexes[met] = index
                codes[met] = code
                met += has_bit(bits, code, shift)
            maybe, met = met, 0
            for at in range(maybe):
                row = own_rows[at]
                own_rows[met] = row
                indexes[met] = indexes[at]
                met += is_there(codes[at], ts_in[0, row], demand, asked, table)
            failures[demand] += came - met
        failures[demands] += met
        for at in range(met):
            if written < positions_out.shape[1]:
                row, index = own_rows[at], indexes[at]
                meet(alive, lineage_in, row, lineage_target, index, width)
                window_allows(
                    alive, cut_starts, cuts, window_sets, 0, ts_target[index] - ts_in[0, row], width
                )
                positions_out[0, written] = positions_in[0, row]
                positions_out[1, written] = base_1 + index
                ts_out[0, written] = ts_in[0, row]
                ts_out[1, written] = ts_target[index]
                for word in range(len(width)):
                    lineage_out[written, word] = alive[word]
            written += 1
    if written <= positions_out.shape[1]:
        dropped += failures[: len(dropped)]
    return written, failures.sum(), candidates


def as_arrays(parts: Sequence[Sequence[tuple[int, int]]]) -> tuple[NDArray[np.int64], ...]:
    """Lists of (place, form) one after the other: where each begins, the places, the forms."""
    starts = np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
    flat = np.array([each for part in parts for each in part], np.int64).reshape(-1, 2)
    return starts, flat[:, 0].copy(), flat[:, 1].copy()
