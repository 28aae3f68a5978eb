"""The query side of the grouped filter: index the queries, look up the tuples.

A conjunction with an equality can only match tuples that have that value. Such queries lie in a list under their equality (the
access predicate; of several the one on the column with the most constants), and a tuple meets only the lists of its own
values, whatever the number of queries. What is left of the query is checked in one of three ways, by what is cheapest:

- tuple by tuple, each walking its lists: no preparation, best for few queries or tuples;
- list by list, against the tuples that have the value: the list is read once for all of them;
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
from numba import njit
from numpy.typing import NDArray

from cqc.runtime.operators.bit_sweep import EVERY_TUPLE, NO_TUPLE
from cqc.runtime.operators.formula_bits import MOST_ACCESS_PAIRS
from cqc.runtime.operators.row_vectors import lowest_bit, popcount

if TYPE_CHECKING:
    from cqc.runtime.operators.query_store import QueryStore

MOST_OTHERS = MOST_ACCESS_PAIRS - 1  # pairs beside the access predicate
_FEW_NEW = 256
# Costs in units of one check of one query and one tuple.
_WORD_TABLE_COST = 2.0  # for each cut
_WORD_CHECK_COST = 1.5
_MOST_WALKED = 1 << 14


class Lists(NamedTuple):
    """Queries by the cut below their access value."""

    begin: NDArray[np.int32]  # by row id
    end: NDArray[np.int32]
    others: NDArray[np.int32]  # [queries, 2 * MOST_OTHERS]: the other pairs, then (every tuple, no tuple)
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
        start, length = ranks.starts[column], ranks.starts[column + 1] - ranks.starts[column]
        for row in range(0, buckets.shape[1], step):
            bucket = buckets[column, row]
            if 0 < bucket < length:
                cut = ranks.ids[start + bucket - 1]
                if cut < len(lists.begin):
                    total += lists.end[cut] - lists.begin[cut]
    return total


@njit(cache=True, nogil=True)
def access_sweep(buckets, ranks, lists, words, wanted):  # type: ignore[no-untyped-def]
    """Check every tuple against the lists of its values. `words` is room for one word an id, or empty."""
    begin, end, starts, ids = lists.begin, lists.end, ranks.starts, ranks.ids
    walk = len(lists.slots) <= _MOST_WALKED
    grouped = np.empty(0 if walk else buckets.shape[1], np.int32)
    for column in ranks.listed:
        start, length = starts[column], starts[column + 1] - starts[column]
        if walk:
            _walk_tuples(
                buckets, buckets[column], start, length, ids, begin, end,
                lists.others, lists.slots, ranks.position, ranks.column, wanted,
            )  # fmt: skip
            continue
        ends = _group(buckets[column], length, grouped)
        for bucket in range(1, length):
            first, last = ends[bucket - 1], ends[bucket]
            cut = ids[start + bucket - 1]
            if first == last or cut >= len(begin) or begin[cut] == end[cut]:
                continue
            queries = end[cut] - begin[cut]
            by_check = float(queries) * (last - first)
            by_word = len(words) * _WORD_TABLE_COST + queries * _WORD_CHECK_COST
            if len(words) and by_word * ((last - first + 63) // 64) < by_check:
                for at in range(first, last, 64):
                    members = grouped[at : min(at + 64, last)]
                    _fill_words(buckets, starts, ids, members, words)
                    _check_words(begin[cut], end[cut], lists.others, lists.slots, members, words, wanted)
            else:
                _check_list(
                    buckets, begin[cut], end[cut], lists.others, lists.slots,
                    ranks.position, ranks.column, grouped[first:last], wanted,
                )  # fmt: skip


# Below, loops take plain arrays: reading a field of a named tuple in an inner loop counts references.


@njit(cache=True, nogil=True)
def _walk_tuples(  # type: ignore[no-untyped-def]
    buckets, own, start, length, ids, begin, end, others, slots, position, column, wanted
):
    counts = wanted.counts
    counting = len(counts) > 0
    for row in range(len(own)):
        bucket = own[row]
        if bucket <= 0 or bucket >= length:
            continue
        cut = ids[start + bucket - 1]
        if cut >= len(begin):
            continue
        for entry in range(begin[cut], end[cut]):
            if _holds(buckets, others, position, column, entry, row):
                if counting:
                    counts[slots[entry]] += 1
                else:
                    _take(slots[entry], row, wanted)


@njit(cache=True, nogil=True, inline="always")
def _holds(buckets, others, position, column, entry, row):  # type: ignore[no-untyped-def]
    """Whether a tuple is inside all other pairs of a query."""
    held = True
    for pair in range(MOST_OTHERS):
        low, high = others[entry, 2 * pair], others[entry, 2 * pair + 1]
        if high == NO_TUPLE:
            held = held and low == EVERY_TUPLE
            break
        bucket = buckets[column[high], row]
        if bucket <= position[low] or bucket > position[high]:
            held = False
            break
    return held


@njit(cache=True, nogil=True)
def _take(slot, row, wanted):  # type: ignore[no-untyped-def]
    if len(wanted.counts):
        wanted.counts[slot] += 1
    if len(wanted.union):
        wanted.union[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    if len(wanted.cursors) and wanted.cursors[slot] >= 0:
        wanted.positions[wanted.cursors[slot]] = row
        wanted.cursors[slot] += 1


@njit(cache=True, nogil=True)
def _group(buckets, length, grouped):  # type: ignore[no-untyped-def]
    """Sort tuples by bucket; returns where each bucket's tuples end."""
    ends = np.zeros(length + 2, np.int64)
    for row in range(len(buckets)):
        ends[min(buckets[row], length) + 1] += 1
    for bucket in range(length + 1):
        ends[bucket + 1] += ends[bucket]
    for row in range(len(buckets)):
        bucket = min(buckets[row], length)
        grouped[ends[bucket]] = row
        ends[bucket] += 1
    return ends


@njit(cache=True, nogil=True)
def _check_list(  # type: ignore[no-untyped-def]
    buckets, begin, end, others, slots, position, column, members, wanted
):
    counts = wanted.counts
    counting = len(counts) > 0
    for entry in range(begin, end):
        count = 0
        for at in range(len(members)):
            if _holds(buckets, others, position, column, entry, members[at]):
                count += 1
                if not counting:
                    _take(slots[entry], members[at], wanted)
        if counting:
            counts[slots[entry]] += count


@njit(cache=True, nogil=True)
def _fill_words(buckets, starts, ids, members, words):  # type: ignore[no-untyped-def]
    """For each cut the word of the members that lie below it."""
    words[:] = 0
    words[EVERY_TUPLE] = ~np.uint64(0) >> np.uint64(64 - len(members))
    for column in range(buckets.shape[0]):
        start, stop = starts[column], starts[column + 1]
        for at in range(len(members)):
            place = start + buckets[column, members[at]]
            if place < stop:
                words[ids[place]] |= np.uint64(1) << np.uint64(at)
        below = np.uint64(0)
        for place in range(start, stop):
            below |= words[ids[place]]
            words[ids[place]] = below


@njit(cache=True, nogil=True)
def _check_words(begin, end, others, slots, members, words, wanted):  # type: ignore[no-untyped-def]
    counts = wanted.counts
    counting = len(counts) > 0
    for entry in range(begin, end):
        left = words[others[entry, 0]] ^ words[others[entry, 1]]
        left &= words[others[entry, 2]] ^ words[others[entry, 3]]
        left &= words[others[entry, 4]] ^ words[others[entry, 5]]
        if counting:
            counts[slots[entry]] += popcount(left)
            continue
        while left:
            _take(slots[entry], members[lowest_bit(left)], wanted)
            left &= left - np.uint64(1)
