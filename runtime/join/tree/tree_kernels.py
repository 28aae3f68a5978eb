"""The kernels of a join tree: chains of rows by composite key, the join of two states, and who waits for whom.

A state of the tree holds rows by number: `positions[place, row]`, `ts[place, row]`, `lineage[row]`, and in `keys[row]` the
join values of all its tuples that something above still compares. An index over some of the key columns is a set of chains,
newest row first: `heads[bucket]` is a row, `following[row, index]` the next older one of its bucket.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from cqc.runtime.join.step.presence import SEED, mix

ACTIVE = -1  # where a row is: in the indexes; else the number of the gate at which it waits


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
def take_tuples(  # type: ignore[no-untyped-def]
    base_lineage, base_ts, links, forms, first, stop, base, positions, ts, lineage, keys, begin
):  # fmt: skip
    """Append the tuples at positions first..stop-1 that some slot wants to a leaf; how many. There is room."""
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
def windows_allow(  # type: ignore[no-untyped-def]
    alive, ts, row, ts_there, other, pair_here, pair_there, cut_starts, cuts, window_sets
):  # fmt: skip
    """AND in the slots whose windows allow the distances between two rows; whether any is left."""
    ok = True
    pair = 0
    while ok and pair < len(pair_here):
        distance = ts_there[pair_there[pair], other] - ts[pair_here[pair], row]
        cut = cut_starts[pair]
        while cut < cut_starts[pair + 1] and cuts[cut] <= distance:
            cut += 1
        left = np.uint64(0)
        for word in range(len(alive)):
            alive[word] &= window_sets[cut + pair, word]
            left |= alive[word]
        ok = left != 0
        pair += 1
    return ok


@njit(cache=True, nogil=True, inline="always")
def write_joined(  # type: ignore[no-untyped-def]
    written, alive, row, positions, ts, keys, other, positions_there, ts_there, keys_there,
    out_positions, out_ts, out_lineage, out_keys, places, places_there, key_source,
):  # fmt: skip
    """Write a joined row where there is room; how many there are now."""
    if written < out_positions.shape[1]:
        for place in range(len(places)):
            out_positions[places[place], written] = positions[place, row]
            out_ts[places[place], written] = ts[place, row]
        for place in range(len(places_there)):
            out_positions[places_there[place], written] = positions_there[place, other]
            out_ts[places_there[place], written] = ts_there[place, other]
        for word in range(len(alive)):
            out_lineage[written, word] = alive[word]
        for column in range(len(key_source)):
            source = key_source[column]
            if source >= 0:
                out_keys[written, column] = keys[row, source]
            else:
                out_keys[written, column] = keys_there[other, -1 - source]
    return written + 1


@njit(cache=True, nogil=True, inline="always")
def pair_code(keys, row, keys_there, other, sources, gate, width):  # type: ignore[no-untyped-def]
    """The composite value of two rows: a source is a key column of the first, or -1 - one of the second."""
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
    rows, positions, ts, lineage, keys, columns,  # the rows that probe
    positions_there, ts_there, lineage_there, keys_there, columns_there,  # the state they meet
    heads, following, index, shift, dead, where_there, scan_from,
    pair_here, pair_there, cut_starts, cuts, window_sets,  # windows between pairs of places
    sources, widths, codes, newest, code_shift, gate_dead, gate_on, held,  # who asks for the pair
    out_positions, out_ts, out_lineage, out_keys, begin, places, places_there, key_source, most,
):  # fmt: skip
    """Append the joined rows to the output from row `begin` on; (rows found, candidates seen, how many of `rows` were joined).

    Not all of `rows` are when that means to look at more than `most`: the caller goes on with the rest.

    Candidates come from the chains; with `scan_from` >= 0 all active rows up to it are compared (a nested loop). A pair whose
    composite value (`sources`) nobody of a gate has is not made: `held[gate]` counts it. `places` and `places_there` say where each side's
    tuples are in the output, `key_source[column]` is the key column of the probing side, or -1 - the column of the other
    side. Without room the rows are counted and not written.
    """
    words = lineage.shape[1]
    alive = np.empty(words, np.uint64)
    written = begin
    candidates = 0
    by_scan = scan_from >= 0
    held[:] = 0
    for at in range(len(rows)):
        if most < 0:
            return written - begin, candidates, at
        row = rows[at]
        other = scan_from if by_scan else heads[bucket(keys, row, columns, shift)]
        while other >= 0:
            if equal_keys(keys, row, columns, keys_there, other, columns_there) and (
                not by_scan or where_there[other] == ACTIVE
            ):
                candidates += 1
                left = np.uint64(0)
                for word in range(words):
                    alive[word] = lineage[row, word] & lineage_there[other, word]
                    left |= alive[word]
                ok = left != 0 and not is_dead(positions_there, ts_there, other, dead)
                ok = ok and windows_allow(
                    alive, ts, row, ts_there, other, pair_here, pair_there, cut_starts, cuts, window_sets
                )  # fmt: skip
                gate = 0
                while ok and gate < len(widths):
                    if gate_on[gate]:
                        code = pair_code(keys, row, keys_there, other, sources, gate, widths[gate])
                        place = gate_slot(codes, gate, code, code_shift)
                        if codes[gate, place] == 0 or newest[gate, place] < gate_dead[gate]:
                            held[gate] += 1
                            ok = False
                    gate += 1
                if ok:
                    written = write_joined(
                        written, alive, row, positions, ts, keys, other, positions_there, ts_there, keys_there,
                        out_positions, out_ts, out_lineage, out_keys, places, places_there, key_source,
                    )  # fmt: skip
            other = other - 1 if by_scan else following[other, index]
            most -= 1
    return written - begin, candidates, len(rows)


@njit(cache=True, nogil=True)
def find_absent(  # type: ignore[no-untyped-def]
    rows, keys, columns, positions_there, ts_there, keys_there, columns_there, heads, following, index, shift, dead, absent
):  # fmt: skip
    """absent[k] = whether no living row of the state has the key of rows[k]; how many."""
    count = 0
    for at in range(len(rows)):
        row = rows[at]
        other = heads[bucket(keys, row, columns, shift)]
        while other >= 0 and (
            not equal_keys(keys, row, columns, keys_there, other, columns_there)
            or is_dead(positions_there, ts_there, other, dead)
        ):
            other = following[other, index]
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
