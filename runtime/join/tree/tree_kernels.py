"""The kernels of a join tree: chains of rows by composite key, the join of two states, and who waits for whom.

A state of the tree holds rows by number: `positions[place, row]`, `ts[place, row]`, `lineage[row]`, and in `keys[row]` the
join values of all its tuples that something above still compares. An index over some of the key columns is a set of chains,
newest row first: `heads[bucket]` is a row, `following[row, index]` the next older one of its bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy import uint64

from cqc.runtime.join.step.conditions import meet, window_allows
from cqc.runtime.join.step.presence import SEED, mix
from cqc.runtime.kernel import njit

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
    positions, ts, lineage, keys, _, _, _ = leaf
    first, stop = span
    row = begin
    for index in range(first - base, stop - base):
        wanted = np.uint64(0)
        for word in range(base_lineage.shape[1]):
            wanted |= base_lineage[index, word]
        if wanted:
            positions[0, row] = index + base
            ts[0, row] = base_ts[index]
            for word in range(base_lineage.shape[1]):
                lineage[row, word] = base_lineage[index, word]
            for column in range(len(forms)):
                keys[row, column] = links[forms[column], index, 1]
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
def windows_between(  # type: ignore[no-untyped-def]
    alive, here, there, starts, cuts, sets, ts, row, ts_there, other
):
    """AND in the slots whose windows (the fields of PairWindows) allow the distances between two rows; whether any is left."""
    ok = True
    pair = 0
    while ok and pair < len(here):
        distance = ts_there[there[pair], other] - ts[here[pair], row]
        ok = window_allows(alive, starts, cuts, sets, pair, distance, alive)
        pair += 1
    return ok


@njit(cache=True, nogil=True, inline="always")
def write_side(written, positions, ts, row, places, positions_out, ts_out):  # type: ignore[no-untyped-def]
    """Write the tuples of one side of a joined row."""
    for place in range(len(places)):
        positions_out[places[place], written] = positions[place, row]
        ts_out[places[place], written] = ts[place, row]


@njit(cache=True, nogil=True, inline="always")
def write_keys(written, keys, row, keys_there, other, key_source, keys_out):  # type: ignore[no-untyped-def]
    """Write the join values of a joined row."""
    for column in range(len(key_source)):
        source = key_source[column]
        if source >= 0:
            keys_out[written, column] = keys[row, source]
        else:
            keys_out[written, column] = keys_there[other, -1 - source]


@njit(cache=True, nogil=True, inline="always")
def pair_code(keys, row, keys_there, other, sources, gate, width):  # type: ignore[no-untyped-def]
    """The composite value of two rows that a gate wants."""
    code = SEED
    for at in range(width):
        source = sources[gate, at]
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
    own, there, asked, out = TreeRows(*own), TreeRows(*there), AskedPairs(*asked), Joined(*out)
    heads, following, number, shift = index
    here, beside, starts, cuts, sets = windows
    sources, widths, codes, newest, code_shift, dead_us, is_on = asked
    columns_here, columns_there = columns
    positions, ts, lineage, keys = own.positions, own.ts, own.lineage, own.keys
    positions_there, ts_there, lineage_there, keys_there = (
        there.positions, there.ts, there.lineage, there.keys,
    )  # fmt: skip
    where_there, dead = there.where, there.dead
    positions_out, ts_out, lineage_out, keys_out = out.positions, out.ts, out.lineage, out.keys
    places, places_there, key_source = out.places, out.places_there, out.key_source
    alive = np.empty(lineage.shape[1], np.uint64)
    begin = written = out.begin
    candidates = 0
    by_scan = scan_from >= 0
    held[:] = 0
    for at in range(len(rows)):
        if most < 0:
            return written - begin, candidates, at
        row = rows[at]
        other = scan_from if by_scan else heads[bucket(keys, row, columns_here, shift)]
        while other >= 0:
            if equal_keys(keys, row, columns_here, keys_there, other, columns_there) and (
                not by_scan or where_there[other] == ACTIVE
            ):
                candidates += 1
                ok = meet(alive, lineage, row, lineage_there, other, alive)
                ok = ok and not is_dead(positions_there, ts_there, other, dead)
                if ok:
                    ok = windows_between(
                        alive, here, beside, starts, cuts, sets, ts, row, ts_there, other
                    )
                gate = 0
                while ok and gate < len(widths):
                    if is_on[gate]:
                        code = pair_code(keys, row, keys_there, other, sources, gate, widths[gate])
                        place = gate_slot(codes, gate, code, code_shift)
                        if codes[gate, place] == 0 or newest[gate, place] < dead_us[gate]:
                            held[gate] += 1
                            ok = False
                    gate += 1
                if ok:
                    if written < positions_out.shape[1]:
                        write_side(written, positions, ts, row, places, positions_out, ts_out)
                        write_side(
                            written, positions_there, ts_there, other, places_there, positions_out, ts_out
                        )  # fmt: skip
                        write_keys(written, keys, row, keys_there, other, key_source, keys_out)
                        for word in range(len(alive)):
                            lineage_out[written, word] = alive[word]
                    written += 1
            other = other - 1 if by_scan else following[other, number]
            most -= 1
    return written - begin, candidates, len(rows)


@njit(cache=True, nogil=True)
def find_absent(rows, keys, columns, there, columns_there, index, absent):  # type: ignore[no-untyped-def]
    """absent[k] = whether no living row of the state has the key of rows[k]; how many."""
    positions_there, ts_there, _, keys_there, _, _, dead = there
    heads, following, number, shift = index
    count = 0
    for at in range(len(rows)):
        row = rows[at]
        other = heads[bucket(keys, row, columns, shift)]
        while other >= 0 and (
            not equal_keys(keys, row, columns, keys_there, other, columns_there)
            or is_dead(positions_there, ts_there, other, dead)
        ):
            other = following[other, number]
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
