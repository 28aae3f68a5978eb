"""Operations on rows of 512 bits, the width in which the grouped filter works, and on words of 64.

A row holds one bit for each tuple of a block of 512: eight words, one cache line, two vector registers. For compiled kernels they are
vector instructions (`bit_row_code`); here is the same for Python, for runs that are over before Numba would be loaded.
Addresses are plain integers (`array.ctypes.data`), because a row is picked by number from a table and never outlives the call.

    conjunction   out = (row a0 ^ row b0) & (row a1 ^ row b1) & ...
    accumulate    each listed row becomes the union of itself and those listed before it
    clear         the listed rows become empty
    inside        a bit for each of 64 numbers that lies between two others
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.array_addresses import array_at
from cqc.runtime.kernel import machine_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WORDS = 8
BLOCK = 64 * WORDS  # tuples


def _in_both_forms(plain: Callable[..., Any]) -> Any:
    def make() -> Any:
        return getattr(import_module("cqc.runtime.lineage.bit_row_code"), plain.__name__)

    return machine_code(plain, make)


def _row(table: int, rows: int, at: int) -> NDArray[np.uint64]:
    """Row number `rows[at]` of the table."""
    (number,) = array_at(int(rows) + 4 * int(at), (1,), np.uint32)
    return array_at(int(table) + 8 * WORDS * int(number), (WORDS,), np.uint64)


@_in_both_forms
def conjunction(table: int, rows: int, start: int, stop: int, out: int) -> None:
    """Write to `out` the AND over the pairs of rows[start:stop] (at least one pair) of the XOR of each pair."""
    result = _row(table, rows, start) ^ _row(table, rows, start + 1)
    for at in range(start + 2, stop, 2):
        result &= _row(table, rows, at) ^ _row(table, rows, at + 1)
    array_at(int(out), (WORDS,), np.uint64)[:] = result


@_in_both_forms
def conjunction_past_caches(table: int, rows: int, start: int, stop: int, out: int) -> None:
    """The same, written to memory that is not read soon: whole cache lines, at an address that is a multiple of 64."""
    conjunction(table, rows, start, stop, out)


@_in_both_forms
def accumulate(table: int, rows: int, start: int, stop: int) -> None:
    """Turn the rows of rows[start:stop] into running unions."""
    union = np.zeros(WORDS, np.uint64)
    for at in range(start, stop):
        row = _row(table, rows, at)
        union |= row
        row[:] = union


@_in_both_forms
def clear(table: int, rows: int, start: int, stop: int) -> None:
    """Empty the rows of rows[start:stop]."""
    for at in range(start, stop):
        _row(table, rows, at)[:] = 0


@_in_both_forms
def inside(numbers: int, low: int, high: int) -> np.uint64:
    """The bits of those of 64 int32 numbers, at an address, that are above `low` and not above `high`."""
    values = array_at(int(numbers), (64,), np.int32)
    bits = np.packbits((values > low) & (values <= high), bitorder="little")
    return bits.view(np.uint64)[0]  # type: ignore[no-any-return]


@_in_both_forms
def popcount(word: int) -> int:
    """How many bits of a word are set."""
    return int(word).bit_count()


@_in_both_forms
def lowest_bit(word: int) -> int:
    """The number of the lowest bit set in a word that has one."""
    number = int(word)
    return (number & -number).bit_length() - 1


@_in_both_forms
def double_bits(value: float) -> int:
    """The bits of a double."""
    return int(np.float64(value).view(np.int64))
