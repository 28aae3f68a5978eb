"""One pass over a packet and all queries: the kernels of the packet index.

A packet is cut into blocks of 512 tuples. For each block a small table of bit rows is filled, then every query is evaluated
against it by combining a few of its rows. The table stays in the second-level cache while the queries stream past it.

Rows of the table, by number:

    0           no tuple
    1           every tuple of the block
    a cut       the tuples whose value lies below the cut; the cut at the end of a column: those that are not NULL
    a mask      tuples for which some condition was found TRUE beforehand
    an atom     tuples that were found to hit a sparse atom (a text pattern, a list of values)

An interval is the XOR of the rows of its two cuts, the negation of a pattern the XOR of "not NULL" and the pattern's row, IS
NULL the XOR of row 1 and "not NULL". So a leaf of any formula is a pair of rows, and a query with conditions on k columns
is k pairs.

    values 5 9 1 7     cut below 4: 0010   cut below 8: 1011     4 <= x < 8: 1001

Where there are few enough row ids, an id is its row's number. Else a block's rows are numbered as needed and `row_of` says
which is whose: a column with more cuts than the block has tuples has one row for each rank (the r smallest tuples), and all
cuts between two neighbouring values share it; an atom that no tuple of the block hits has row 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.filter.bits.hit_kernels import (
    choose_programs,
    fill_hits,
    forget_hits,
    room_for_hits,
)
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import (
    BLOCK,
    WORDS,
    accumulate,
    clear,
    conjunction,
    conjunction_past_caches,
    lowest_bit,
    popcount,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_TUPLE, EVERY_TUPLE, FIRST_ID = 0, 1, 2
MOST_PAIRS = 8
PUSH, AND, OR, XOR, AND_TOP, OR_TOP, STOP = range(7)
_MAPPED_AT_ONCE = 64
_CACHED_WORDS = 1 << 22  # results above so many words are written past the caches
_ONE = np.uint64(1)
NOTHING_NOTED, NO_NOTES = np.empty(0, np.int32), np.zeros(1, np.int64)


class Located(NamedTuple):
    """Where the packet's values lie among each column's cuts."""

    buckets: NDArray[
        np.int32
    ]  # [columns, tuples]: how many cuts are not above the value; beyond the last for NULL
    order: NDArray[
        np.int32
    ]  # column after column, the rows (or, if ranked, the ids) of its cuts in order
    starts: NDArray[np.int64]  # where each column begins in `order`
    rank_rows: NDArray[np.int64]  # the first row of a column whose rows are ranks, else -1


class Conjunctions(NamedTuple):
    """Queries that are pairs joined by AND, by their number of pairs."""

    rows: tuple[NDArray[np.int32], ...]  # [queries, 2 * pairs]
    slots: tuple[NDArray[np.int32], ...]


class Programs(NamedTuple):
    """Queries of any other shape, as code over pairs, and the atoms without which they cannot be TRUE."""

    code: NDArray[
        np.int32
    ]  # [instructions, 3]: operation and pair; STOP: nothing more is to be found where nothing is left
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    slots: NDArray[np.int32]
    always: NDArray[np.int32]  # programs to run on every block
    guard_head: NDArray[
        np.int32
    ]  # by id, the first link of the programs to run when it is hit, or -1
    guard_links: NDArray[np.int32]  # [links, 2]: program, next link
    depth: int


class Outcome(NamedTuple):
    """What a pass is asked for: any of these may have length 0."""

    counts: NDArray[np.int64]  # by slot
    union: NDArray[np.uint64]  # words: tuples that some query wants
    rows: NDArray[np.uint64]  # [slots, words]
    cursors: NDArray[
        np.int64
    ]  # by slot, where its next position goes; negative for a slot not asked for
    positions: NDArray[np.int64]
    # What a pass that counts notes beside, as far as there is room: who wants which tuple, by block; and how many notes there are.
    noted_slots: NDArray[np.int32] = NOTHING_NOTED
    noted_tuples: NDArray[np.int32] = NOTHING_NOTED
    noted: NDArray[np.int64] = NO_NOTES


@njit(cache=True, nogil=True)
def sweep(  # type: ignore[no-untyped-def]
    tuples, located, marked, row_of, table, conjunctions, programs, outcome
):
    """Fill the table for each block of the packet and evaluate every query on it."""
    blocks = (tuples + BLOCK - 1) // BLOCK
    scratch = np.zeros(WORDS, np.uint64)
    mapped_rows = np.zeros(_MAPPED_AT_ONCE * 2 * MOST_PAIRS, np.int32)
    stack = np.zeros((max(programs.depth, 1), WORDS), np.uint64)
    stamps = np.full(len(programs.slots), -1, np.int64)
    chosen = np.empty(len(programs.slots), np.int32)
    keys, spare = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    numbers = np.empty(BLOCK + 1, np.int32)
    order, starts, rank_rows, buckets = (
        located.order,
        located.starts,
        located.rank_rows,
        located.buckets,
    )
    next_hit, room = 0, room_for_hits(marked, len(row_of) if marked.mapped else len(table))
    for block in range(blocks):
        _fill_fixed(table, block, tuples)
        for column in range(len(located.rank_rows)):
            if rank_rows[column] < 0:
                _fill_cuts(
                    table, order, buckets[column], starts[column], starts[column + 1],
                    block * BLOCK, min((block + 1) * BLOCK, tuples),
                )  # fmt: skip
            else:
                _fill_ranks(
                    table, order, buckets[column], starts[column], starts[column + 1],
                    block * BLOCK, min((block + 1) * BLOCK, tuples), rank_rows[column], row_of,
                    keys, spare, numbers,
                )  # fmt: skip
        _fill_masks(table, marked, block)
        next_hit, hit = fill_hits(table, marked, row_of, block, tuples, next_hit, room)
        for group in range(len(conjunctions.rows)):
            _run_conjunctions(
                table, row_of, marked.mapped, conjunctions.rows[group], conjunctions.slots[group],
                block, scratch, mapped_rows, outcome,
            )  # fmt: skip
        _run_programs(
            table, row_of, marked.mapped, programs, programs.always, len(programs.always), block,
            stack, outcome,
        )  # fmt: skip
        count = choose_programs(programs, room, hit, block, stamps, chosen)
        _run_programs(table, row_of, marked.mapped, programs, chosen, count, block, stack, outcome)
        forget_hits(table, marked, row_of, room, hit)


@njit(cache=True, nogil=True)
def _fill_fixed(table, block, tuples):  # type: ignore[no-untyped-def]
    left = tuples - block * BLOCK
    for word in range(WORDS):
        table[NO_TUPLE, word] = 0
        in_word = min(max(left - 64 * word, 0), 64)
        table[EVERY_TUPLE, word] = (
            ~np.uint64(0) if in_word == 64 else (_ONE << np.uint64(in_word)) - _ONE
        )


@njit(cache=True, nogil=True)
def _fill_cuts(table, order, buckets, start, stop, first, last):  # type: ignore[no-untyped-def]
    """One row a cut: set each tuple's bit at the first cut above its value, then take running unions."""
    address, numbers = np.uintp(table.ctypes.data), np.uintp(order.ctypes.data)
    clear(address, numbers, start, stop)
    for at in range(last - first):
        # Unsigned indices: numba would otherwise test each for being negative.
        place = np.uint64(start) + np.uint64(buckets[np.uint64(first + at)])
        if place < np.uint64(stop):
            row = np.uint64(order[place])
            table[row, np.uint64(at) >> np.uint64(6)] |= _ONE << np.uint64(at & 63)
    accumulate(address, numbers, start, stop)


@njit(cache=True, nogil=True)
def _fill_ranks(  # type: ignore[no-untyped-def]
    table, order, buckets, start, stop, first, last, row, row_of, keys, spare, numbers
):
    """One row for each rank, the tuples of that rank and below, and for each cut of the column the row of its rank."""
    count, length = last - first, stop - start
    for at in range(count):
        keys[at] = (np.uint64(buckets[np.uint64(first + at)]) << np.uint64(10)) | np.uint64(at)
    _sort(keys, spare, count, length)
    for rank in range(count + 1):
        numbers[rank] = row + rank
    address = np.uintp(table.ctypes.data)
    clear(address, np.uintp(numbers.ctypes.data), 0, count + 1)
    cut, rank = np.uint64(start), row
    for at in range(count):
        end = np.uint64(start) + min(keys[at] >> np.uint64(10), np.uint64(length))
        while cut < end:
            row_of[np.uint64(order[cut])] = rank
            cut += np.uint64(1)
        if cut == np.uint64(stop):  # the rest is NULL
            break
        rank += 1
        bit = keys[at] & np.uint64(1023)
        table[np.uint64(rank), bit >> np.uint64(6)] |= _ONE << (bit & np.uint64(63))
    while cut < np.uint64(stop):
        row_of[np.uint64(order[cut])] = rank
        cut += np.uint64(1)
    accumulate(address, np.uintp(numbers.ctypes.data), 0, count + 1)


@njit(cache=True, nogil=True)
def _sort(keys, spare, count, most):  # type: ignore[no-untyped-def]
    """Sort keys by their upper part (from bit 10 on, at most `most`), eight bits at a time."""
    ends = np.zeros(257, np.int32)
    shift = np.uint64(10)
    while most:
        ends[:] = 0
        for at in range(count):
            ends[((keys[at] >> shift) & np.uint64(255)) + np.uint64(1)] += np.int32(1)
        for digit in range(256):
            ends[digit + 1] += ends[digit]
        for at in range(count):
            digit = (keys[at] >> shift) & np.uint64(255)
            spare[np.uint64(ends[digit])] = keys[at]
            ends[digit] += np.int32(1)
        for at in range(count):
            keys[at] = spare[at]
        shift += np.uint64(8)
        most >>= 8


@njit(cache=True, nogil=True)
def _fill_masks(table, marked, block):  # type: ignore[no-untyped-def]
    for mask in range(len(marked.mask_rows)):
        for word in range(WORDS):
            table[marked.mask_rows[mask], word] = marked.mask_words[mask, block * WORDS + word]


@njit(cache=True, nogil=True)
def _run_conjunctions(  # type: ignore[no-untyped-def]
    table, row_of, mapped, rows, slots, block, scratch, mapped_rows, outcome
):
    # Addresses and plain arrays only: a slice or a field access in this loop would count references.
    width = rows.shape[1]
    address, target = np.uintp(table.ctypes.data), np.uintp(scratch.ctypes.data)
    numbers = np.uintp(mapped_rows.ctypes.data) if mapped else np.uintp(rows.ctypes.data)
    counts, out, flat = outcome.counts, outcome.rows, rows.ravel()
    places, stride = np.uintp(out.ctypes.data + block * WORDS * 8), out.shape[1] * 8
    counting, writing, noting = len(counts) > 0, out.shape[0] > 0, len(outcome.noted_slots) > 0
    past_caches = out.size > _CACHED_WORDS and places % 64 == 0
    other = len(outcome.union) > 0 or len(outcome.cursors) > 0
    for begin in range(0, len(slots), _MAPPED_AT_ONCE):
        end = min(begin + _MAPPED_AT_ONCE, len(slots))
        shift = 0
        if mapped:
            shift = begin * width
            for at in range((end - begin) * width):
                mapped_rows[at] = row_of[np.uint64(flat[np.uint64(shift + at)])]
        for query in range(begin, end):
            at = query * width - shift
            if writing:
                place = np.uintp(places + slots[query] * stride)
                if past_caches:
                    conjunction_past_caches(address, numbers, at, at + width, place)
                else:
                    conjunction(address, numbers, at, at + width, place)
                continue
            conjunction(address, numbers, at, at + width, target)
            if counting:
                count = _population(scratch)
                counts[np.uint64(slots[query])] += count
                if count and noting:
                    _note(scratch, slots[query], block, outcome)
            if other:
                _hand_out(scratch, slots[query], block, outcome)


@njit(cache=True, nogil=True, inline="always")
def _population(row):  # type: ignore[no-untyped-def]
    count = np.int64(0)
    for word in range(WORDS):
        count += popcount(row[word])
    return count


@njit(cache=True, nogil=True)
def _hand_out(row, slot, block, outcome):  # type: ignore[no-untyped-def]
    """Everything but counts and rows."""
    if len(outcome.union):
        for word in range(WORDS):
            outcome.union[block * WORDS + word] |= row[word]
    if len(outcome.cursors) and outcome.cursors[slot] >= 0:
        cursor = outcome.cursors[slot]
        for word in range(WORDS):
            left = row[word]
            while left:
                outcome.positions[cursor] = block * BLOCK + word * 64 + lowest_bit(left)
                cursor += 1
                left &= left - _ONE
        outcome.cursors[slot] = cursor


@njit(cache=True, nogil=True)
def _note(row, slot, block, outcome):  # type: ignore[no-untyped-def]
    """Note the tuples of a slot. Where there is no room for them fewer are noted than were counted."""
    at = outcome.noted[0]
    for word in range(WORDS):
        left = row[word]
        while left and at < len(outcome.noted_slots):
            outcome.noted_slots[at] = slot
            outcome.noted_tuples[at] = block * BLOCK + word * 64 + lowest_bit(left)
            at += 1
            left &= left - _ONE
    outcome.noted[0] = at


@njit(cache=True, nogil=True)
def _run_programs(table, row_of, mapped, programs, numbers, count, block, stack, outcome):  # type: ignore[no-untyped-def]
    """Run some programs on a block. Most find nothing, and many of them stop early."""
    # Plain arrays and unsigned indices only: a slice or a field access inside the loops would count references.
    code, begins, ends, slots = programs.code, programs.begin, programs.end, programs.slots
    writing = outcome.rows.shape[0] > 0
    for place in range(count):
        program = np.uint64(numbers[np.uint64(place)])
        top, stopped = np.uint64(0), False
        for at in range(np.uint64(begins[program]), np.uint64(ends[program])):
            operation = code[at, 0]
            if operation == STOP:
                if _is_nothing(stack):
                    stopped = True
                    break
                continue
            if operation >= AND_TOP:
                top -= np.uint64(1)
                for word in range(np.uint64(WORDS)):
                    if operation == AND_TOP:
                        stack[top, word] &= stack[top + np.uint64(1), word]
                    else:
                        stack[top, word] |= stack[top + np.uint64(1), word]
                continue
            one, other = np.uint64(code[at, 1]), np.uint64(code[at, 2])
            if mapped:
                one, other = np.uint64(row_of[one]), np.uint64(row_of[other])
            if operation == PUSH:
                if at > np.uint64(begins[program]):
                    top += np.uint64(1)
                for word in range(np.uint64(WORDS)):
                    stack[top, word] = table[one, word] ^ table[other, word]
            elif operation == AND:
                for word in range(np.uint64(WORDS)):
                    stack[top, word] &= table[one, word] ^ table[other, word]
            elif operation == OR:
                for word in range(np.uint64(WORDS)):
                    stack[top, word] |= table[one, word] ^ table[other, word]
            else:
                for word in range(np.uint64(WORDS)):
                    stack[top, word] ^= table[one, word] ^ table[other, word]
        if writing or not (stopped or _is_nothing(stack)):
            _tell(stack[0], slots[program], block, outcome)


@njit(cache=True, nogil=True)
def _tell(row, slot, block, outcome):  # type: ignore[no-untyped-def]
    """What a program found in a block goes to where it was asked for."""
    if outcome.rows.shape[0]:
        for word in range(WORDS):
            outcome.rows[slot, block * WORDS + word] = row[word]
    if len(outcome.counts):
        count = _population(row)
        outcome.counts[slot] += count
        if count and len(outcome.noted_slots):
            _note(row, slot, block, outcome)
    _hand_out(row, slot, block, outcome)


@njit(cache=True, nogil=True, inline="always")
def _is_nothing(stack):  # type: ignore[no-untyped-def]
    """Whether the lowest row of the stack has no tuple."""
    united = np.uint64(0)
    for word in range(np.uint64(WORDS)):
        united |= stack[np.uint64(0), word]
    return united == 0
