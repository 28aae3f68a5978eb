"""What a guard over one tuple watches, where it asks for nothing to be there: a bit for each tuple and rule.

A set bit says that a mark has reached the tuple for the rule. Marks come as rows of bits too, one for all rules that share a
combination, so a mark costs a few words however many rules there are.

    70 rules: two words a tuple        rule 69 of tuple 42 is cell 42 * 128 + 69, bit 5 of the second word
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.absence.guard_entries import GuardEntries
from cqc.runtime.absence.tuple_entries import TupleCells
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import WORD_BITS, word_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.state.shared_state import SharedState

_ONE = np.uint64(1)
_REACHED, _SEALED = 0, 1


class TupleBits(TupleCells):
    """The cells of one guard: whether a mark has reached them, and whether they were delivered as missing at an end."""

    def __init__(self) -> None:
        self._seals = False  # hardly ever needed
        super().__init__()

    def _room_for(self, rules: int) -> int:
        return WORD_BITS * word_count(rules)

    def _made(self, tuples: int) -> list[NDArray[Any]]:
        words = self._stride // WORD_BITS
        return [np.zeros((tuples, words), np.uint64) for _ in range(2 if self._seals else 1)]

    def mark(self, cells: NDArray[np.int64], times_us: NDArray[np.int64]) -> None:
        """Let marks reach cells (-1 is nobody)."""
        del times_us  # that there is one is enough
        set_cells(self._arrays[_REACHED].reshape(-1), cells, self._base * self._stride)

    def mark_rows(self, positions: NDArray[np.int64], bits: NDArray[np.uint64]) -> None:
        """Let marks reach tuples, each for the rules of its bits; tuples without cells are nobody's."""
        reached = self._arrays[_REACHED]
        set_rows(reached, positions, self._base, self._used, bits)

    def take_off(self, positions: NDArray[np.int64], bits: NDArray[np.uint64]) -> None:
        """Clear the bits that marks have reached, of tuples with cells."""
        clear_rows(bits, positions, self._base, self._arrays[_REACHED])

    def is_reached(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a mark has reached each."""
        return self._at(_REACHED, cells)

    def seal(self, cells: NDArray[np.int64]) -> None:
        """Remember that these were delivered as missing when an input had ended."""
        if not self._seals:
            self._seals = True
            self._arrays.append(np.zeros_like(self._arrays[_REACHED]))
        set_cells(self._arrays[_SEALED].reshape(-1), cells, self._base * self._stride)

    def is_sealed(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether they were (-1 was not)."""
        found = np.zeros(len(cells), np.bool_)
        if self._seals:
            known = cells >= 0
            found[known] = self._at(_SEALED, cells[known])
        return found

    def hashed(self, state: SharedState) -> GuardEntries:
        """The same cells as entries that are found by hashing."""
        found = GuardEntries(1)
        reached = self._entered(found, _REACHED, state)
        found.mark(reached, np.zeros(len(reached), np.int64))
        if self._seals:
            found.seal(self._entered(found, _SEALED, state))
        return found

    def _entered(self, entries: GuardEntries, array: int, state: SharedState) -> NDArray[np.int64]:
        """Entries for the cells whose bit is set in an array."""
        words = np.ascontiguousarray(self._arrays[array][: self._used])
        rows, rules = np.nonzero(np.unpackbits(words.view(np.uint8), axis=1, bitorder="little"))
        keys, there = self._keys_of(rows, rules, state)
        return entries.add(keys[there], state.ts_at(keys[there][:, 1]))

    def _at(self, array: int, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        places = cells - self._base * self._stride
        words = self._arrays[array].reshape(-1)[places // WORD_BITS]
        bits: NDArray[np.bool_] = (words >> (places % WORD_BITS).astype(np.uint64)) & _ONE > 0
        return bits


@njit(cache=True, nogil=True)
def set_cells(words, cells, base):  # type: ignore[no-untyped-def]
    """Set the bits of cells that are counted from `base`; -1 is nobody."""
    for cell in cells:
        if cell >= 0:
            place = cell - base
            words[place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@njit(cache=True, nogil=True)
def set_rows(cells, positions, base, used, bits):  # type: ignore[no-untyped-def]
    """Set the bits of tuples between `base` and `base + used`."""
    for row in range(len(positions)):
        at = positions[row] - base
        if 0 <= at < used:
            for word in range(bits.shape[1]):
                cells[at, word] |= bits[row, word]


@njit(cache=True, nogil=True)
def clear_rows(bits, positions, base, cells):  # type: ignore[no-untyped-def]
    """Clear the bits that the cells of the tuples have."""
    for row in range(len(positions)):
        at = positions[row] - base
        for word in range(bits.shape[1]):
            bits[row, word] &= ~cells[at, word]


def warm() -> None:
    """Compile this module's kernels."""
    entries, numbers, bits = TupleBits(), np.zeros(1, np.int64), np.zeros((1, 1), np.uint64)
    entries.have(numbers)
    entries.mark(numbers, numbers)
    entries.mark_rows(numbers, bits)
    entries.take_off(numbers, bits)
