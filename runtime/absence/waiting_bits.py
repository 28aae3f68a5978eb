"""Combinations that wait for their guards, each once for all rules that want it, as bits.

Most rows of a pattern are wanted by many rules, and most of those get what makes them dead within their time. So a row is not
kept once for each rule: it has a bit for each, marks clear bits (`tuple_bits`), and only the bits that are left when the watermark
is past their last instants become rows of a rule. This goes where all guards of the pattern are plain: they ask for nothing
to be there, watch one tuple and wait for one item, so that the last instant is the tuple's time and what the rule says.

    rules 0: within 5, 1: within 9       tuple at 100: bits 11, a mark for rule 0: 10, watermark 110: (rule 1, at 109)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit, popcount
from cqc.runtime.lineage.rank_lineage import WORD_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.absence.tuple_bits import TupleBits

_NO_BOUND = 2**62
_MOST = 2**63 - 1


@dataclass(slots=True, eq=False)
class Passed:
    """Rows that every guard has let pass, each of a rule, with their result times."""

    rules: NDArray[np.int64]
    positions: Sequence[NDArray[np.int64]]
    times_us: NDArray[np.int64]

    def by_rule(self) -> Passed:
        """Itself: rows are of one rule each."""
        return self


@dataclass(slots=True, eq=False)
class BitRows:
    """Rows of many rules: `bits` [row, word] says of which."""

    positions: Sequence[NDArray[np.int64]]
    times_us: NDArray[np.int64]
    bits: NDArray[np.uint64]
    _pairs: Passed | None = None

    def by_rule(self) -> Passed:
        """The same, once for each rule."""
        if self._pairs is None:
            rows, rules = pairs_of(self.bits)
            positions = [each[rows] for each in self.positions]
            self._pairs = Passed(rules, positions, self.times_us[rows])
        return self._pairs

    def __len__(self) -> int:
        return len(self.times_us)


@dataclass(slots=True, eq=False)
class BitChunk:
    """Rows that came together; `watched[g]` are the event times of what guard g watches, as `soonest` the least of them."""

    rows: BitRows
    watched: NDArray[np.int64]
    soonest: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.soonest = [int(times.min()) for times in self.watched]


class WaitingBits:
    """All rows of one pattern that wait in this form. `over[g]` is the item that guard g watches."""

    def __init__(self, over: Sequence[int]) -> None:
        self._over = over
        self.chunks: list[BitChunk] = []

    def __len__(self) -> int:
        """How many rows of rules wait."""
        return sum(int(np.bitwise_count(each.rows.bits).sum()) for each in self.chunks)

    @property
    def nbytes(self) -> int:
        arrays = [
            array
            for each in self.chunks
            for array in (each.watched, each.rows.bits, each.rows.times_us, *each.rows.positions)
        ]
        return sum(int(each.nbytes) for each in arrays)

    def append(self, rows: BitRows, watched: NDArray[np.int64]) -> None:
        """Let rows wait; `watched` [guard, row] are the times of what is watched."""
        self.chunks.append(BitChunk(rows, watched))

    def decide(
        self,
        entries: Sequence[TupleBits],
        reach: NDArray[np.int64],
        limits: NDArray[np.int64],
    ) -> list[Passed]:
        """The rows that pass now; those that marks have reached are forgotten.

        Args:
            entries: by guard, what marks have reached.
            reach: [guard, rule], how long after the watched tuple something can come, as in `Guard.reach`.
            limits: by guard, twice the watermark.
        """
        passed: list[Passed] = []
        left: list[BitChunk] = []
        # Whole chunks are compared as Python's numbers: there are few, and of most nothing can pass yet.
        least = reach.min(axis=1, initial=_NO_BOUND).tolist()
        before = [limit - each for limit, each in zip(limits.tolist(), least, strict=True)]
        for chunk in self.chunks:
            if any(
                2 * soonest >= most for soonest, most in zip(chunk.soonest, before, strict=True)
            ):
                left.append(chunk)
                continue
            rows = chunk.rows
            for item, each in zip(self._over, entries, strict=True):
                each.take_off(rows.positions[item], rows.bits)
            found, rules, times_us, kept = over_now(
                rows.bits, chunk.watched, rows.times_us, reach, limits
            )
            if len(found):
                positions = [each[found] for each in rows.positions]
                passed.append(Passed(rules, positions, times_us))
            if len(kept) == len(rows):
                left.append(chunk)
            elif len(kept):
                left.append(_some(chunk, kept))
        self.chunks = left
        return passed

    def drop_rule(self, rule: int) -> None:
        """Forget the rows of a rule that has left."""
        word, bit = rule // WORD_BITS, np.uint64(1 << rule % WORD_BITS)
        for chunk in self.chunks:
            bits = chunk.rows.bits
            if word < bits.shape[1]:
                bits[:, word] &= ~bit

    def take_all(self) -> list[BitRows]:
        """The rows, which wait elsewhere from now on."""
        rows, self.chunks = [each.rows for each in self.chunks], []
        return rows


def _some(chunk: BitChunk, kept: NDArray[np.int64]) -> BitChunk:
    rows = chunk.rows
    own = BitRows([each[kept] for each in rows.positions], rows.times_us[kept], rows.bits[kept])
    return BitChunk(own, chunk.watched[:, kept])


def together(rows: Sequence[BitRows]) -> BitRows:
    """The rows of several."""
    if len(rows) == 1:
        return rows[0]
    words = max(each.bits.shape[1] for each in rows)
    bits = np.zeros((sum(map(len, rows)), words), np.uint64)
    at = 0
    for each in rows:
        bits[at : at + len(each), : each.bits.shape[1]] = each.bits
        at += len(each)
    columns = zip(*(each.positions for each in rows), strict=True)
    positions = [np.concatenate(parts) for parts in columns]
    return BitRows(positions, np.concatenate([each.times_us for each in rows]), bits)


@njit(cache=True, nogil=True)
def pairs_of(bits):  # type: ignore[no-untyped-def]
    """(rows, rules): the bits that are set, one by one."""
    count = 0
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            count += popcount(bits[row, word])
    rows, rules = np.empty(count, np.int64), np.empty(count, np.int64)
    made = 0
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            left = bits[row, word]
            while left:
                rows[made] = row
                rules[made] = word * WORD_BITS + lowest_bit(left)
                made += 1
                left &= left - np.uint64(1)
    return rows, rules


@njit(cache=True, nogil=True)
def over_now(bits, watched, times, reach, limits):  # type: ignore[no-untyped-def]
    """The bits whose last instants are over, which are cleared: (rows, rules, result times), and the rows with bits left."""
    count = 0
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            count += popcount(bits[row, word])
    rows, rules = np.empty(count, np.int64), np.empty(count, np.int64)
    found, kept = np.empty(count, np.int64), np.empty(bits.shape[0], np.int64)
    made, remaining = 0, 0
    for row in range(bits.shape[0]):
        any_left = False
        for word in range(bits.shape[1]):
            left = bits[row, word]
            while left:
                lowest = lowest_bit(left)
                rule = word * WORD_BITS + lowest
                left &= left - np.uint64(1)
                is_over, latest = True, times[row]
                for guard in range(len(limits)):
                    last = _MOST
                    if reach[guard, rule] < _NO_BOUND:
                        last = 2 * watched[guard, row] + reach[guard, rule]
                    if last >= limits[guard]:
                        is_over = False
                        break
                    latest = max(latest, (last + 1) >> 1)
                if is_over:
                    rows[made], rules[made], found[made] = row, rule, latest
                    made += 1
                    bits[row, word] &= ~(np.uint64(1) << np.uint64(lowest))
            any_left |= bits[row, word] != 0
        if any_left:
            kept[remaining] = row
            remaining += 1
    return rows[:made], rules[:made], found[:made], kept[:remaining]


def warm() -> None:
    """Compile this module's kernels."""
    bits, numbers = np.ones((1, 1), np.uint64), np.zeros(1, np.int64)
    pairs_of(bits)
    over_now(bits, numbers[None], numbers, numbers[None], numbers)
