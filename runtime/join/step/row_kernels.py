"""Rows of a join before their first step and after their last one: started, picked out, counted, handed over."""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit


@njit(cache=True, nogil=True)
def start_rows(lineage, ts_us, first, positions_out, ts_out, lineage_out):  # type: ignore[no-untyped-def]
    """The tuples of a packet that some slot wants, as rows of one bound item; how many."""
    words, words_out = min(lineage.shape[1], lineage_out.shape[1]), lineage_out.shape[1]
    written = 0
    for row in range(len(ts_us)):
        left = np.uint64(0)
        for word in range(words):
            left |= lineage[row, word]
        if left:
            positions_out[0, written] = first + row
            ts_out[0, written] = ts_us[row]
            for word in range(words):
                lineage_out[written, word] = lineage[row, word]
            for word in range(words, words_out):
                lineage_out[written, word] = 0
            written += 1
    return written


@njit(cache=True, nogil=True)
def pick_rows(count, positions, ts, lineage, mask, positions_out, ts_out, lineage_out):  # type: ignore[no-untyped-def]
    """The rows that have a slot of the mask, with those slots only; how many."""
    words = len(mask)
    written = 0
    for row in range(count):
        left = np.uint64(0)
        for word in range(words):
            lineage_out[written, word] = lineage[row, word] & mask[word]
            left |= lineage_out[written, word]
        if left:
            for item in range(len(positions)):
                positions_out[item, written] = positions[item, row]
                ts_out[item, written] = ts[item, row]
            written += 1
    return written


@njit(cache=True, nogil=True)
def finish_rows(count, positions, ts, lineage, mask, places, stream_places):  # type: ignore[no-untyped-def]
    """Copies of the rows with a slot of the mask: positions by item, the latest event time of streams, lineage."""
    words = len(mask)
    kept = np.empty(count, np.int64)
    found = 0
    for row in range(count):
        left = np.uint64(0)
        for word in range(words):
            left |= lineage[row, word] & mask[word]
        kept[found] = row
        found += left != 0
    by_item = np.empty((len(places), found), np.int64)
    for item in range(len(places)):
        for at in range(found):
            by_item[item, at] = positions[places[item], kept[at]]
    latest = np.empty(found, np.int64)
    for at in range(found):
        latest[at] = ts[stream_places[0], kept[at]]
    for number in range(1, len(stream_places)):
        for at in range(found):
            latest[at] = max(latest[at], ts[stream_places[number], kept[at]])
    slots = np.empty((found, words), np.uint64)
    for at in range(found):
        for word in range(words):
            slots[at, word] = lineage[kept[at], word] & mask[word]
    return by_item, latest, slots


@njit(cache=True, nogil=True)
def finish_whole(count, positions, ts, lineage, places, slots):  # type: ignore[no-untyped-def]
    """Copies of complete rows of one host, and how many of them each of so many slots has."""
    by_item = np.empty((len(places), count), np.int64)
    for item in range(len(places)):
        for row in range(count):
            by_item[item, row] = positions[places[item], row]
    latest = ts[0, :count].copy()
    copied = lineage[:count].copy()
    counts = np.empty(64 * lineage.shape[1], np.int64)
    count_slots(lineage, count, counts)
    return by_item, latest, copied, counts[:slots]


@njit(cache=True, nogil=True)
def mark_wanted(lineage, wanted):  # type: ignore[no-untyped-def]
    """Mark the rows that some slot wants."""
    words = lineage.shape[1]
    for row in range(len(lineage)):
        left = np.uint64(0)
        for word in range(words):
            left |= lineage[row, word]
        if left:
            wanted[row] = True


@njit(cache=True, nogil=True)
def count_slots(lineage, count, counts):  # type: ignore[no-untyped-def]
    """counts[slot] = how many of the first `count` rows have the slot's bit."""
    counts[:] = 0
    for row in range(count):
        for word in range(lineage.shape[1]):
            left = lineage[row, word]
            while left:
                counts[word * 64 + lowest_bit(left)] += 1
                left &= left - np.uint64(1)


@njit(cache=True, nogil=True)
def count_slots_of(lineage, count, mask, counts):  # type: ignore[no-untyped-def]
    """The same for the slots of a mask; how many rows have one of them."""
    counts[:] = 0
    found = 0
    for row in range(count):
        any_left = np.uint64(0)
        for word in range(len(mask)):
            left = lineage[row, word] & mask[word]
            any_left |= left
            while left:
                counts[word * 64 + lowest_bit(left)] += 1
                left &= left - np.uint64(1)
        found += any_left != 0
    return found


@njit(cache=True, nogil=True)
def keep_rows(lineage):  # type: ignore[no-untyped-def]
    """The rows that some slot still wants."""
    kept = np.empty(len(lineage), np.int64)
    count = 0
    for row in range(len(lineage)):
        for word in range(lineage.shape[1]):
            if lineage[row, word]:
                kept[count] = row
                count += 1
                break
    return kept[:count]
