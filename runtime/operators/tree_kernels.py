"""The kernels of a join tree: chains of rows by composite key, the join of two states, and who waits for whom.

A state of the tree holds rows by number: `positions[place, row]`, `ts[place, row]`, `lineage[row]`, and in `keys[row]` the
join values of all its tuples that something above still compares. An index over some of the key columns is a set of chains,
newest row first: `heads[bucket]` is a row, `following[row, index]` the next older one of its bucket.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64


@njit(cache=True, nogil=True, inline="always")
def mixed(keys, row, columns):  # type: ignore[no-untyped-def]
    """A hash of the row's values in the key columns."""
    code = uint64(0x9E3779B97F4A7C15)
    for at in range(len(columns)):
        code = (code ^ uint64(keys[row, columns[at]])) * uint64(0xBF58476D1CE4E5B9)
        code ^= code >> uint64(29)
    return code


@njit(cache=True, nogil=True, inline="always")
def bucket(keys, row, columns, shift):  # type: ignore[no-untyped-def]
    """Where the row's chain begins; `shift` is 64 - log2(buckets)."""
    code = mixed(keys, row, columns)
    return np.int64((code * uint64(0x94D049BB133111EB)) >> uint64(shift))


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
def link_rows(rows, keys, columns, heads, following, index, shift):  # type: ignore[no-untyped-def]
    """Put the rows at the front of their chains."""
    for at in range(len(rows)):
        row = rows[at]
        place = bucket(keys, row, columns, shift)
        following[row, index] = heads[place]
        heads[place] = row


@njit(cache=True, nogil=True)
def join_states(  # type: ignore[no-untyped-def]
    rows, positions, ts, lineage, keys, columns,  # the rows that probe
    positions_there, ts_there, lineage_there, keys_there, columns_there,  # the state they meet
    heads, following, index, shift, dead,
    pair_here, pair_there, cut_starts, cuts, window_sets,  # windows between pairs of places
    out_positions, out_ts, out_lineage, out_keys, begin, places, places_there, key_source,
):  # fmt: skip
    """Append the joined rows to the output from row `begin` on; (rows found, candidates seen).

    `places` and `places_there` say where each side's tuples are in the output, `key_source[column]` is the key column of
    the probing side, or -1 - the column of the other side. Without room the rows are counted and not written.
    """
    words = lineage.shape[1]
    alive = np.empty(words, np.uint64)
    room = out_positions.shape[1]
    written = begin
    candidates = 0
    for at in range(len(rows)):
        row = rows[at]
        other = heads[bucket(keys, row, columns, shift)]
        while other >= 0:
            if equal_keys(keys, row, columns, keys_there, other, columns_there):
                candidates += 1
                left = np.uint64(0)
                for word in range(words):
                    alive[word] = lineage[row, word] & lineage_there[other, word]
                    left |= alive[word]
                ok = left != 0 and not is_dead(positions_there, ts_there, other, dead)
                pair = 0
                while ok and pair < len(pair_here):
                    distance = ts_there[pair_there[pair], other] - ts[pair_here[pair], row]
                    cut = cut_starts[pair]
                    while cut < cut_starts[pair + 1] and cuts[cut] <= distance:
                        cut += 1
                    left = np.uint64(0)
                    for word in range(words):
                        alive[word] &= window_sets[cut + pair, word]
                        left |= alive[word]
                    ok = left != 0
                    pair += 1
                if ok:
                    if written < room:
                        for place in range(len(places)):
                            out_positions[places[place], written] = positions[place, row]
                            out_ts[places[place], written] = ts[place, row]
                        for place in range(len(places_there)):
                            out_positions[places_there[place], written] = positions_there[
                                place, other
                            ]
                            out_ts[places_there[place], written] = ts_there[place, other]
                        for word in range(words):
                            out_lineage[written, word] = alive[word]
                        for column in range(len(key_source)):
                            source = key_source[column]
                            if source >= 0:
                                out_keys[written, column] = keys[row, source]
                            else:
                                out_keys[written, column] = keys_there[other, -1 - source]
                    written += 1
            other = following[other, index]
    return written - begin, candidates


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
        code = mixed(keys, rows[at], columns)
        word = bucket(keys, rows[at], columns, shift)
        bits[word] |= _three_bits(code)


@njit(cache=True, nogil=True)
def find_absent_by_bloom(rows, keys, columns, bits, shift, absent):  # type: ignore[no-untyped-def]
    """absent[k] = whether the filter is sure that nobody has the key of rows[k]; how many."""
    count = 0
    for at in range(len(rows)):
        wanted = _three_bits(mixed(keys, rows[at], columns))
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
