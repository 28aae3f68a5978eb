"""The query side of the grouped filter: index the queries, look up the tuples.

A conjunction with an equality can only match tuples that have that value. Such queries lie in a list under their equality (the
access predicate; of several the one on the column with the most constants), and a tuple meets only the lists of its own
values, whatever the number of queries. What is left of the query is checked in one of three ways, by what is cheapest:

- tuple by tuple, each walking its lists: no preparation, best for few tuples;
- list by list, against the tuples that have the value, brought together by a sort: comparisons without branches;
- list by list with a word of bits: for up to 64 tuples with the value, one word a cut says which lie below it, and a query
  is a few XORs and ANDs of words, 64 tuples at once. It is the packet index again, inside one list.

    room = 7 AND light < 200     room = 7 AND light > 500     room = 9
    tuple (7, 120): the list of room 7 has two, light 120 leaves the first

The lists are rebuilt when an eighth of the queries is new. Until then new ones are answered by the packet index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.filter.bits.bit_sweep import EVERY_TUPLE, NO_TUPLE
from cqc.runtime.filter.bits.formula_bits import MOST_ACCESS_PAIRS
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import inside, lowest_bit, popcount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.filter.query_store import QueryStore

MOST_OTHERS = MOST_ACCESS_PAIRS - 1  # pairs beside the access predicate
_FEW_NEW = 256
# Estimated costs in machine cycles (of a list and the tuples that have its value).
_CYCLES_COMPARED = 30.0  # a query and up to 64 tuples
_CYCLES_CUT, _CYCLES_WORD = 2.0, 8.0


class Lists(NamedTuple):
    """Queries by the cut below their access value."""

    begin: NDArray[np.int32]  # by row id
    end: NDArray[np.int32]
    others: NDArray[
        np.int32
    ]  # [queries, 2 * MOST_OTHERS]: the other pairs, then (every tuple, no tuple)
    slots: NDArray[np.int32]


class Ranks(NamedTuple):
    """Where each cut is in the order of its column."""

    position: NDArray[np.int32]  # by row id
    column: NDArray[np.int32]  # by row id: which located column; -1 for the fixed rows
    ids: NDArray[np.int32]  # column after column, the cuts in order
    starts: NDArray[np.int64]
    listed: NDArray[np.int64]  # the columns with lists


class Wanted(NamedTuple):
    """What a pass is asked for; any of these may have length 0."""

    counts: NDArray[np.int64]
    union: NDArray[np.uint64]
    cursors: NDArray[np.int64]  # by slot, negative for slots not asked for
    positions: NDArray[np.int64]


@dataclass(slots=True)
class AccessIndex:
    """The lists, and the slots that are in them."""

    lists: Lists
    entry_of_slot: NDArray[np.int32]  # -1: not in the lists
    removed: int = 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.lists) + self.entry_of_slot.nbytes

    def __len__(self) -> int:
        return len(self.lists.slots)

    def remove(self, slot: int) -> None:
        """Make the entry of a slot match nothing."""
        if slot < len(self.entry_of_slot) and self.entry_of_slot[slot] >= 0:
            self.lists.others[self.entry_of_slot[slot]] = NO_TUPLE
            self.entry_of_slot[slot] = -1
            self.removed += 1

    def is_stale(self, new: int) -> bool:
        """Whether to rebuild the lists, given how many queries are not in them."""
        return new + self.removed > max(_FEW_NEW, len(self) // 8)


def build_lists(store: QueryStore, ids: int) -> AccessIndex:
    """Sort the queries that have an access predicate by it."""
    access, others, slots = [], [], []
    for group in range(MOST_OTHERS + 1):
        rows, group_slots = store.accessible(group)
        padded = np.empty((len(rows), 2 * MOST_OTHERS), np.int32)
        padded[:, 0::2], padded[:, 1::2] = EVERY_TUPLE, NO_TUPLE
        padded[:, : 2 * group] = rows[:, 2:]
        access.append(rows[:, 0])
        others.append(padded)
        slots.append(group_slots)
    keys = np.concatenate(access)
    order = np.argsort(keys, kind="stable")
    edges = np.searchsorted(keys[order], np.arange(ids + 1))
    entry_slots = np.concatenate(slots)[order]
    entry_of_slot = np.full(store.slot_count, -1, np.int32)
    entry_of_slot[entry_slots] = np.arange(len(order), dtype=np.int32)
    lists = Lists(
        edges[:-1].astype(np.int32),
        edges[1:].astype(np.int32),
        np.concatenate(others)[order],
        entry_slots,
    )
    return AccessIndex(lists, entry_of_slot)


def make_ranks(orders: list[NDArray[np.int32]], ids: int, lists: Lists) -> Ranks:
    """Number the cuts of each column in order."""
    position, column = np.full(ids, -1, np.int32), np.full(ids, -1, np.int32)
    starts = np.zeros(len(orders) + 1, np.int64)
    for at, order in enumerate(orders):
        position[order] = np.arange(len(order), dtype=np.int32)
        column[order] = at
        starts[at + 1] = starts[at] + len(order)
    flat = np.concatenate(orders) if orders else np.empty(0, np.int32)
    listed = np.unique(column[np.flatnonzero(lists.end > lists.begin)]).astype(np.int64)
    return Ranks(position, column, flat, starts, listed[listed >= 0])


@njit(cache=True, nogil=True)
def count_candidates(buckets, ranks, lists, step):  # type: ignore[no-untyped-def]
    """How many queries are in the lists of every `step`-th tuple, in all."""
    total = 0
    for column in ranks.listed:
        start = ranks.starts[column]
        for row in range(0, buckets.shape[1], step):
            bucket = buckets[column, row]
            if bucket > 0:
                cut = ranks.ids[start + bucket - 1]
                if cut < len(lists.begin):
                    total += lists.end[cut] - lists.begin[cut]
    return total


@njit(cache=True, nogil=True)
def access_sweep(buckets, ranks, lists, words, wanted):  # type: ignore[no-untyped-def]
    """Check every tuple against the lists of its values. `words` is room for one word an id, or empty."""
    # Arrays are taken out of the named tuples once and handed on as they are: a field or a slice counts references, which
    # for a thousand short lists costs more than the lists.
    begin, end, others, slots = lists.begin, lists.end, lists.others, lists.slots
    starts, ids, position, column_of = ranks.starts, ranks.ids, ranks.position, ranks.column
    counts, union, cursors, positions = (
        wanted.counts,
        wanted.union,
        wanted.cursors,
        wanted.positions,
    )
    tuples = buckets.shape[1]
    grouped, local = np.empty(tuples, np.int32), np.empty((buckets.shape[0], 64), np.int32)
    gathered, chunk = np.zeros(buckets.shape[0], np.int64), 0
    for column in ranks.listed:
        start, length = starts[column], starts[column + 1] - starts[column]
        if 4 * tuples < length:
            _walk_tuples(buckets, buckets[column], start, ranks, lists, wanted)
            continue
        ends = np.empty(length + 2, np.int32)
        _group(buckets[column], grouped, ends)
        for bucket in range(1, length):
            first, last = ends[bucket - 1], ends[bucket]
            cut = ids[start + bucket - 1]
            if first == last or cut >= len(begin) or begin[cut] == end[cut]:
                continue
            queries = end[cut] - begin[cut]
            by_word = len(words) > 0 and (
                len(words) * _CYCLES_CUT + queries * _CYCLES_WORD < queries * _CYCLES_COMPARED
            )
            for at in range(first, last, 64):
                stop = min(at + 64, last)
                if by_word:
                    _fill_words(buckets, starts, ids, grouped, at, stop, words)
                    _check_words(
                        begin[cut], end[cut], others, slots, grouped, at, words,
                        counts, union, cursors, positions,
                    )  # fmt: skip
                else:
                    chunk += 1
                    _check_list(
                        buckets, grouped, (at, stop), (begin[cut], end[cut]), others, slots,
                        position, column_of, local, gathered, chunk,
                        counts, union, cursors, positions,
                    )  # fmt: skip


@njit(cache=True, nogil=True)
def _walk_tuples(buckets, own, start, ranks, lists, wanted):  # type: ignore[no-untyped-def]
    others, slots, begin, end = lists.others, lists.slots, lists.begin, lists.end
    position, column, ids, counts = ranks.position, ranks.column, ranks.ids, wanted.counts
    union, cursors, positions = wanted.union, wanted.cursors, wanted.positions
    for row in range(len(own)):
        cut = ids[start + own[row] - 1] if own[row] > 0 else len(begin)
        if cut >= len(begin):
            continue
        for entry in range(begin[cut], end[cut]):
            held = True
            for pair in range(MOST_OTHERS):
                low, high = others[entry, 2 * pair], others[entry, 2 * pair + 1]
                if high == NO_TUPLE:
                    held = held and low == EVERY_TUPLE
                    break
                bucket = buckets[column[high], row]
                held = held and position[low] < bucket <= position[high]
            if held and len(counts):
                counts[slots[entry]] += 1
            elif held:
                _take(slots[entry], row, union, cursors, positions)


@njit(cache=True, nogil=True, inline="always")
def _take(slot, row, union, cursors, positions):  # type: ignore[no-untyped-def]
    if len(union):
        union[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    elif cursors[slot] >= 0:
        positions[cursors[slot]] = row
        cursors[slot] += 1


@njit(cache=True, nogil=True)
def _group(buckets, grouped, ends):  # type: ignore[no-untyped-def]
    """Sort tuples by bucket, and say where each bucket's tuples end."""
    # Unsigned indices: numba would otherwise test each for being negative, which takes as long as the rest.
    ends[:] = 0
    for row in range(len(buckets)):
        ends[np.uint32(buckets[row]) + np.uint32(1)] += np.int32(1)
    total = np.int32(0)
    for at in range(len(ends)):
        total += ends[at]
        ends[at] = total
    for row in range(len(buckets)):
        bucket = np.uint32(buckets[row])
        end = ends[bucket]
        grouped[np.uint32(end)] = row
        ends[bucket] = end + np.int32(1)


@njit(cache=True, nogil=True, inline="always")  # the call itself would cost as much as a short list
def _check_list(  # type: ignore[no-untyped-def]
    buckets, grouped, span, entries, others, slots, position, column,
    local, gathered, chunk, counts, union, cursors, positions,
):  # fmt: skip
    """Compare some tuples with each query; their buckets are brought side by side when a column is first asked for."""
    first, last = span
    begin, end = entries
    everyone = ~np.uint64(0) >> np.uint64(64 - (last - first))
    address = np.uintp(local.ctypes.data)
    for entry in range(begin, end):
        left = everyone if others[entry, 0] != NO_TUPLE or others[entry, 1] else np.uint64(0)
        for pair in range(MOST_OTHERS):
            low, high = others[entry, 2 * pair], others[entry, 2 * pair + 1]
            if high == NO_TUPLE:
                break
            where = column[np.uint32(high)]
            if gathered[where] != chunk:
                gathered[where] = chunk
                for at in range(last - first):
                    member = np.uint32(grouped[np.uint32(first + at)])
                    local[np.uint32(where), np.uint32(at)] = buckets[np.uint32(where), member]
            left &= inside(
                np.uintp(address + where * 256),
                position[np.uint32(low)],
                position[np.uint32(high)],
            )
        if len(counts):
            counts[slots[entry]] += popcount(left)
            continue
        while left:
            _take(slots[entry], grouped[first + lowest_bit(left)], union, cursors, positions)
            left &= left - np.uint64(1)


@njit(cache=True, nogil=True)
def _fill_words(buckets, starts, ids, grouped, first, last, words):  # type: ignore[no-untyped-def]
    """For each cut the word of the tuples that lie below it."""
    words[:] = 0
    words[EVERY_TUPLE] = ~np.uint64(0) >> np.uint64(64 - (last - first))
    for column in range(buckets.shape[0]):
        start, stop = starts[column], starts[column + 1]
        for at in range(first, last):
            place = start + buckets[column, np.uint32(grouped[at])]
            if place < stop:
                words[np.uint32(ids[place])] |= np.uint64(1) << np.uint64(at - first)
        below = np.uint64(0)
        for place in range(start, stop):
            cut = np.uint32(ids[place])
            below |= words[cut]
            words[cut] = below


@njit(cache=True, nogil=True)
def _check_words(  # type: ignore[no-untyped-def]
    begin, end, others, slots, grouped, first, words, counts, union, cursors, positions
):
    for entry in range(begin, end):
        left = words[np.uint32(others[entry, 0])] ^ words[np.uint32(others[entry, 1])]
        left &= words[np.uint32(others[entry, 2])] ^ words[np.uint32(others[entry, 3])]
        left &= words[np.uint32(others[entry, 4])] ^ words[np.uint32(others[entry, 5])]
        if len(counts):
            counts[slots[entry]] += popcount(left)
            continue
        while left:
            _take(slots[entry], grouped[first + lowest_bit(left)], union, cursors, positions)
            left &= left - np.uint64(1)
