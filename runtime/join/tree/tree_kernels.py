"""The kernels of a join tree: chains of rows by composite key, the join of two states, and who waits for whom.

A state of the tree holds rows by number: `positions[place, row]`, `ts[place, row]`, `lineage[row]`, and in `keys[row]` the
join values of all its tuples that something above still compares. An index over some of the key columns is a set of chains,
newest row first: `heads[bucket]` is a row, `following[row, index]` the next older one of its bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit, uint64

from cqc.runtime.join.step.conditions import meet, window_allows
from cqc.runtime.join.step.presence import SEED, mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACTIVE = -1  # where a row is: in the indexes; else the number of the gate at which it waits


class TreeRows(NamedTuple):
    """The rows of a state, for kernels (handed over as `step_arguments` says); a place is that of an item in a row."""

    positions: NDArray[np.int64]  # [place, row]
    ts: NDArray[np.int64]
    lineage: NDArray[np.uint64]  # [row, word]
    keys: NDArray[np.int64]  # [row, key column]
    where: NDArray[np.int64]  # ACTIVE, or where else each is
    since: NDArray[np.int64]  # when each became active
    dead: NDArray[np.int64]  # [place, (event time, position)] before which a tuple meets nobody


class RowIndex(NamedTuple):
    """Chains of a state's rows by some key columns."""

    heads: NDArray[np.int64]  # [bucket]
    following: NDArray[np.int64]  # [row, index]
    number: int
    shift: int


class PairWindows(NamedTuple):
    """Windows between pairs of places, as rank sets."""

    here: NDArray[np.int64]
    there: NDArray[np.int64]
    starts: NDArray[np.int64]
    cuts: NDArray[np.int64]
    sets: NDArray[np.uint64]


class AskedPairs(NamedTuple):
    """Who asks for a pair: for each gate the composite value it wants, and the values that are there."""

    sources: NDArray[
        np.int64
    ]  # [gate, part]: a key column of the first row, or -1 - one of the second
    widths: NDArray[np.int64]
    codes: NDArray[np.uint64]
    newest: NDArray[np.int64]
    shift: int
    dead_us: NDArray[np.int64]
    is_on: NDArray[np.bool_]


class Joined(NamedTuple):
    """Where joined rows go: after row `begin`, the tuples of either side at `places`.

    `key_source[column]` is the key column of the probing side, or -1 - the column of the other side.
    """

    positions: NDArray[np.int64]
    ts: NDArray[np.int64]
    lineage: NDArray[np.uint64]
    keys: NDArray[np.int64]
    begin: int
    places: NDArray[np.int64]
    places_there: NDArray[np.int64]
    key_source: NDArray[np.int64]


@njit(cache=True, nogil=True, inline="always")
def mixed(code, keys, row, columns):  # type: ignore[no-untyped-def]
    """A hash of the row's values in the key columns, and of what `code` is already."""
    for at in range(len(columns)):
        code = mix(code, keys[row, columns[at]])
    return code


@njit(cache=True, nogil=True, inline="always")
def place_of(code, shift):  # type: ignore[no-untyped-def]
    """The chain of a hash; `shift` is 64 - log2(buckets)."""
    return np.int64((code * uint64(0x94D049BB133111EB)) >> uint64(shift))


@njit(cache=True, nogil=True, inline="always")
def bucket(keys, row, columns, shift):  # type: ignore[no-untyped-def]
    """Where the row's chain begins."""
    return place_of(mixed(SEED, keys, row, columns), shift)


@njit(cache=True, nogil=True, inline="always")
def equal_keys(keys, row, columns, other_keys, other, other_columns):  # type: ignore[no-untyped-def]
    """Whether two rows agree in their key columns."""
    for at in range(len(columns)):
        if keys[row, columns[at]] != other_keys[other, other_columns[at]]:
            return False
    return True


@njit(cache=True, nogil=True, inline="always")
def is_dead(positions, ts, row, dead):  # type: ignore[no-untyped-def]
    """Whether one of the row's tuples is both older and before the position that `dead[place]` says."""
    for place in range(len(dead)):
        if ts[place, row] < dead[place, 0] and positions[place, row] < dead[place, 1]:
            return True
    return False


@njit(cache=True, nogil=True)
def living(positions, ts, begin, end, dead):  # type: ignore[no-untyped-def]
    """Which of the rows begin..end-1 are not dead, numbered from `begin`."""
    kept = np.empty(end - begin, np.int64)
    count = 0
    for row in range(begin, end):
        if not is_dead(positions, ts, row, dead):
            kept[count] = row - begin
            count += 1
    return kept[:count]


@njit(cache=True, nogil=True)
def take_tuples(base_lineage, base_ts, links, forms, base, span, leaf, begin):  # type: ignore[no-untyped-def]
    """Append the tuples at the positions of a span that some slot wants to a leaf, from row `begin` on; how many. There is room."""
    leaf = TreeRows(*leaf)
    first, stop = span
    row = begin
    for index in range(first - base, stop - base):
        wanted = np.uint64(0)
        for word in range(base_lineage.shape[1]):
            wanted |= base_lineage[index, word]
        if wanted:
            leaf.positions[0, row] = index + base
            leaf.ts[0, row] = base_ts[index]
            for word in range(base_lineage.shape[1]):
                leaf.lineage[row, word] = base_lineage[index, word]
            for column in range(len(forms)):
                leaf.keys[row, column] = links[forms[column], index, 1]
            row += 1
    return row - begin


@njit(cache=True, nogil=True)
def link_rows(rows, keys, indexes, index_columns, widths, heads, following, shift):  # type: ignore[no-untyped-def]
    """Put the rows at the front of their chains in the indexes."""
    for index in indexes:
        columns = index_columns[index, : widths[index]]
        for at in range(len(rows)):
            row = rows[at]
            place = bucket(keys, row, columns, shift)
            following[row, index] = heads[index, place]
            heads[index, place] = row


@njit(cache=True, nogil=True, inline="always")
def windows_between(alive, windows, own, row, there, other):  # type: ignore[no-untyped-def]
    """AND in the slots whose windows allow the distances between two rows; whether any is left."""
    ok = True
    pair = 0
    while ok and pair < len(windows.here):
        distance = there.ts[windows.there[pair], other] - own.ts[windows.here[pair], row]
        ok = window_allows(alive, windows, pair, distance, alive)
        pair += 1
    return ok


@njit(cache=True, nogil=True, inline="always")
def write_joined(written, alive, own, row, there, other, out):  # type: ignore[no-untyped-def]
    """Write a joined row where there is room; how many there are now."""
    if written < out.positions.shape[1]:
        for place in range(len(out.places)):
            out.positions[out.places[place], written] = own.positions[place, row]
            out.ts[out.places[place], written] = own.ts[place, row]
        for place in range(len(out.places_there)):
            out.positions[out.places_there[place], written] = there.positions[place, other]
            out.ts[out.places_there[place], written] = there.ts[place, other]
        for word in range(len(alive)):
            out.lineage[written, word] = alive[word]
        for column in range(len(out.key_source)):
            source = out.key_source[column]
            if source >= 0:
                out.keys[written, column] = own.keys[row, source]
            else:
                out.keys[written, column] = there.keys[other, -1 - source]
    return written + 1


@njit(cache=True, nogil=True, inline="always")
def pair_code(keys, row, keys_there, other, asked, gate):  # type: ignore[no-untyped-def]
    """The composite value of two rows that a gate wants."""
    code = SEED
    for at in range(asked.widths[gate]):
        source = asked.sources[gate, at]
        if source >= 0:
            code = mix(code, keys[row, source])
        else:
            code = mix(code, keys_there[other, -1 - source])
    return code | uint64(1)  # 0 is a free place


@njit(cache=True, nogil=True, inline="always")
def gate_slot(codes, gate, code, shift):  # type: ignore[no-untyped-def]
    """Where the hash is among those of the gate, or the free place where it would be."""
    at = place_of(code, shift)
    while codes[gate, at] != code and codes[gate, at] != 0:
        at = (at + 1) & (codes.shape[1] - 1)
    return at


@njit(cache=True, nogil=True)
def join_states(  # type: ignore[no-untyped-def]
    rows, own, there, columns, index, scan_from, windows, asked, held, out, most
):
    """Append the joined rows to the output; (rows found, candidates seen, how many of `rows` were joined).

    Not all of `rows` are when that means to look at more than `most`: the caller goes on with the rest.

    `columns` of either side must be equal. Candidates come from the chains of the index; with `scan_from` >= 0 all active rows up to it
    are compared (a nested loop). A pair whose composite value nobody of a gate has is not made: `held[gate]` counts it. Without room
    the rows are counted and not written.
    """
    own, there, index = TreeRows(*own), TreeRows(*there), RowIndex(*index)
    windows, asked, out = PairWindows(*windows), AskedPairs(*asked), Joined(*out)
    columns_here, columns_there = columns
    alive = np.empty(own.lineage.shape[1], np.uint64)
    written = out.begin
    candidates = 0
    by_scan = scan_from >= 0
    held[:] = 0
    for at in range(len(rows)):
        if most < 0:
            return written - out.begin, candidates, at
        row = rows[at]
        other = scan_from
        if not by_scan:
            other = index.heads[bucket(own.keys, row, columns_here, index.shift)]
        while other >= 0:
            if equal_keys(own.keys, row, columns_here, there.keys, other, columns_there) and (
                not by_scan or there.where[other] == ACTIVE
            ):
                candidates += 1
                ok = meet(alive, own.lineage, row, there.lineage, other, alive)
                ok = ok and not is_dead(there.positions, there.ts, other, there.dead)
                ok = ok and windows_between(alive, windows, own, row, there, other)
                gate = 0
                while ok and gate < len(asked.widths):
                    if asked.is_on[gate]:
                        code = pair_code(own.keys, row, there.keys, other, asked, gate)
                        place = gate_slot(asked.codes, gate, code, asked.shift)
                        is_absent = asked.codes[gate, place] == 0
                        if is_absent or asked.newest[gate, place] < asked.dead_us[gate]:
                            held[gate] += 1
                            ok = False
                    gate += 1
                if ok:
                    written = write_joined(written, alive, own, row, there, other, out)
            other = other - 1 if by_scan else index.following[other, index.number]
            most -= 1
    return written - out.begin, candidates, len(rows)


@njit(cache=True, nogil=True)
def find_absent(rows, keys, columns, there, columns_there, index, absent):  # type: ignore[no-untyped-def]
    """absent[k] = whether no living row of the state has the key of rows[k]; how many."""
    there, index = TreeRows(*there), RowIndex(*index)
    count = 0
    for at in range(len(rows)):
        row = rows[at]
        other = index.heads[bucket(keys, row, columns, index.shift)]
        while other >= 0 and (
            not equal_keys(keys, row, columns, there.keys, other, columns_there)
            or is_dead(there.positions, there.ts, other, there.dead)
        ):
            other = index.following[other, index.number]
        absent[at] = other < 0
        count += other < 0
    return count


@njit(cache=True, nogil=True)
def wake_rows(  # type: ignore[no-untyped-def]
    rows, keys, columns, parked_keys, parked_columns, heads, following, shift, woken
):  # fmt: skip
    """Take out of the chains all parked rows that have the key of one of the rows; how many, also beyond the room."""
    count = 0
    for at in range(len(rows)):
        place = bucket(keys, rows[at], columns, shift)
        previous = np.int64(-1)
        other = heads[place]
        while other >= 0:
            after = following[other]
            if equal_keys(keys, rows[at], columns, parked_keys, other, parked_columns):
                woken[count] = other
                count += 1
                if previous < 0:
                    heads[place] = after
                else:
                    following[previous] = after
            else:
                previous = other
            other = after
    return count


@njit(cache=True, nogil=True)
def park_rows(rows, keys, columns, heads, following, shift):  # type: ignore[no-untyped-def]
    """Chain the rows that wait for their key."""
    for at in range(len(rows)):
        place = bucket(keys, rows[at], columns, shift)
        following[rows[at]] = heads[place]
        heads[place] = rows[at]


@njit(cache=True, nogil=True)
def set_bloom(rows, keys, columns, bits, shift):  # type: ignore[no-untyped-def]
    """Note the keys of the rows in a blocked Bloom filter: three bits of one word each."""
    for at in range(len(rows)):
        code = mixed(SEED, keys, rows[at], columns)
        word = bucket(keys, rows[at], columns, shift)
        bits[word] |= _three_bits(code)


@njit(cache=True, nogil=True)
def find_absent_by_bloom(rows, keys, columns, bits, shift, absent):  # type: ignore[no-untyped-def]
    """absent[k] = whether the filter is sure that nobody has the key of rows[k]; how many."""
    count = 0
    for at in range(len(rows)):
        wanted = _three_bits(mixed(SEED, keys, rows[at], columns))
        missing = bits[bucket(keys, rows[at], columns, shift)] & wanted != wanted
        absent[at] = missing
        count += missing
    return count


@njit(cache=True, nogil=True, inline="always")
def _three_bits(code):  # type: ignore[no-untyped-def]
    one = uint64(1)
    low = uint64(63)
    first = one << (code & low)
    second = one << ((code >> uint64(6)) & low)
    return first | second | (one << ((code >> uint64(12)) & low))
