"""What happens to a packet before its tuples meet others, in one call: filtered, stored, chained, started.

A packet of a few hundred tuples costs what its calls cost, not what its tuples do. So where nothing has to be looked at in between, the
steps that each have their own operator (`item_filter`, `shared_state`, `hash_chains`, the start of `probe`) are one kernel over the
state's own memory: the columns are laid down behind the last tuple, and the kernel finds there whatever it needs.

    columns -> [filter: lineage beside the tuples] -> [newest, chains] -> [rows that start the join]

Too few wanted tuples stop it after the filter: then nothing was stored, and the packet is picked apart first, the ordinary way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.columns.array_addresses import address, carray, pointer
from cqc.runtime.join.membership.item_filter import double_key
from cqc.runtime.join.step.conditions import place_among
from cqc.runtime.join.step.row_kernels import start_rows
from cqc.runtime.join.step.step_arguments import RowBlock
from cqc.runtime.kernel import njit
from cqc.runtime.state.shared_state import store_derived

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.join.membership.item_filter import ItemFilter
    from cqc.runtime.join.step.probe_step import JoinInput, Rows

# What a row of numbers says about the filter of a column: where its values are, its cuts and its sets.
(IS_DOUBLE, ROW, CUTS, CUT_COUNT, SETS) = range(5)


class FusedInsert:
    """The way of one item's packets into their state and into a join."""

    def __init__(self, each: JoinInput, item_filter: ItemFilter) -> None:
        """The filter must be plain, and stay what it is."""
        self._input = each
        self._ranges = item_filter.ranges()  # kept alive: the kernel is told where they are
        state = each.state
        rows = [
            (own.is_double, state.block_row(own.column), address(own.cuts), len(own.cuts), address(own.sets))
            for own in self._ranges
        ]  # fmt: skip
        self._columns = np.array(rows, np.int64).reshape(-1, 5)
        self._start = item_filter.start

    def take(self, packet: Packet, rows: Rows, *, keep_all: bool) -> int:
        """Store a packet without NULL, and start rows with the tuples that some slot wants; the position of the first tuple.

        -1: too few are wanted, and nothing was done.
        """
        each, count = self._input, len(packet.ts_us)
        state = each.state
        if count > rows.room:
            rows.resize(2 * count)
        at = state.lay_down(packet, all_there=True)
        chains = state.chains
        first = state.head
        stored = (
            state.ts, state.newest, first == state.first, state.whole_numbers, state.real_numbers,
            chains.whole_rows, chains.heads, chains.links, chains.valid, chains.shift,
        )  # fmt: skip
        least = 0 if keep_all else (count + 1) // 2
        started: int = arrive(
            at, count, first, stored, self._columns, self._start, each.lineage.values, least, rows.block
        )  # fmt: skip
        if started < 0:
            return -1
        rows.count = started
        state.take_in(packet, is_chained=len(chains.whole_rows) > 0)
        return first


class Stored(NamedTuple):
    """The arrays of the state into which tuples were laid down, for the kernel."""

    ts: NDArray[np.int64]
    newest: NDArray[np.int64]
    is_empty: bool
    whole: NDArray[np.int64]  # [row, index] of whole numbers
    real: NDArray[np.float64]
    key_rows: NDArray[np.int64]  # the rows of `whole` that are keys
    heads: NDArray[np.int64]
    links: NDArray[np.int64]
    valid: NDArray[np.bool_]
    shift: int


@njit(cache=True, nogil=True)
def arrive(at, count, first, stored, columns, start, lineage, least_wanted, out):  # type: ignore[no-untyped-def]
    """Filter, store and start the tuples laid down at at..at+count-1; how many start, -1 when fewer than `least_wanted` would.

    What one call instead of five is worth, `cqc bench joins --quick` shows in its rows of small packets.
    """
    into, out = Stored(*stored), RowBlock(*out)
    wanted = filter_laid_down(at, count, into.whole, into.real, columns, start, lineage)
    if wanted < least_wanted:
        return -1
    store_derived(
        into.ts, into.newest, at, count, into.is_empty,
        into.whole, into.key_rows, into.heads, into.links, into.valid, first, into.shift,
    )  # fmt: skip
    end = at + count
    return start_rows(lineage[at:end], into.ts[at:end], first, out.positions, out.ts, out.lineage)


@njit(cache=True, nogil=True)
def filter_laid_down(at, count, whole, real, columns, start, lineage):  # type: ignore[no-untyped-def]
    """lineage[index] = the slots whose ranges hold in all columns; how many tuples some slot wants."""
    words = min(lineage.shape[1], len(start))
    one = np.empty(1, np.float64)
    bits = one.view(np.int64)
    for index in range(at, at + count):
        for word in range(words):
            lineage[index, word] = start[word]
        for word in range(words, lineage.shape[1]):
            lineage[index, word] = 0
    for number in range(len(columns)):
        column = columns[number]
        cuts = carray(pointer(column[CUTS]), (column[CUT_COUNT],), np.int64)
        sets = carray(pointer(column[SETS]), (column[CUT_COUNT] + 1, len(start)), np.uint64)
        row, is_double = column[ROW], column[IS_DOUBLE] != 0
        for index in range(at, at + count):
            if is_double:
                key = double_key(real[row, index], one, bits)
            else:
                key = whole[row, index]
            place = place_among(cuts, key)
            for word in range(words):
                lineage[index, word] &= sets[place, word]
    wanted = 0
    for index in range(at, at + count):
        left = np.uint64(0)
        for word in range(words):
            left |= lineage[index, word]
        wanted += left != 0
    return wanted


def warm() -> None:
    """Compile this module's kernels."""
    numbers, rows = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    lineage, valid = np.zeros((1, 1), np.uint64), np.zeros((1, 1), np.bool_)
    stored = (
        numbers, numbers, True, rows, np.zeros((1, 1)), numbers, rows,
        np.zeros((1, 1, 2), np.int64), valid, 63,
    )  # fmt: skip
    out = (rows, rows.copy(), lineage.copy())
    arrive(0, 0, 0, stored, np.zeros((0, 5), np.int64), lineage[0], lineage, 0, out)
