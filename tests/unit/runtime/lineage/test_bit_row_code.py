from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import (
    WORDS,
    accumulate,
    clear,
    conjunction,
    inside,
    lowest_bit,
    popcount,
)


@njit(cache=False)
def run_conjunction(table, rows, out):  # type: ignore[no-untyped-def]
    conjunction(
        np.uintp(table.ctypes.data),
        np.uintp(rows.ctypes.data),
        0,
        len(rows),
        np.uintp(out.ctypes.data),
    )


@njit(cache=False)
def run_accumulate(table, rows):  # type: ignore[no-untyped-def]
    accumulate(np.uintp(table.ctypes.data), np.uintp(rows.ctypes.data), 0, len(rows))


@njit(cache=False)
def run_clear(table, rows):  # type: ignore[no-untyped-def]
    clear(np.uintp(table.ctypes.data), np.uintp(rows.ctypes.data), 0, len(rows))


@njit(cache=False)
def run_inside(numbers, low, high):  # type: ignore[no-untyped-def]
    return inside(np.uintp(numbers.ctypes.data), np.int32(low), np.int32(high))


@njit(cache=False)
def run_bits(word):  # type: ignore[no-untyped-def]
    return popcount(word), lowest_bit(word)


def random_table(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).integers(0, 2**64, (rows, WORDS), dtype=np.uint64)


@pytest.mark.parametrize("pairs", [1, 2, 5])
def test_conjunction_is_the_and_of_the_xors_of_pairs(pairs: int) -> None:
    table = random_table(9)
    rows = np.random.default_rng(pairs).integers(0, 9, 2 * pairs, dtype=np.int32)
    out = np.zeros(WORDS, np.uint64)
    run_conjunction(table, rows, out)
    expected = np.bitwise_and.reduce(table[rows[0::2]] ^ table[rows[1::2]], axis=0)
    assert out.tolist() == expected.tolist()


def test_accumulate_makes_running_unions_of_the_listed_rows() -> None:
    table, rows = random_table(6), np.array([4, 0, 3], np.int32)
    expected = table.copy()
    expected[rows] = np.bitwise_or.accumulate(table[rows], axis=0)
    run_accumulate(table, rows)
    assert table.tolist() == expected.tolist()


def test_clear_empties_the_listed_rows_alone() -> None:
    table, rows = random_table(6), np.array([4, 0], np.int32)
    expected = table.copy()
    expected[rows] = 0
    run_clear(table, rows)
    assert table.tolist() == expected.tolist()


def test_inside_has_a_bit_for_each_number_above_low_and_not_above_high() -> None:
    numbers = np.random.default_rng(0).integers(-5, 5, 64, dtype=np.int32)
    expected = np.packbits((numbers > -3) & (numbers <= 2), bitorder="little").view(np.uint64)[0]
    assert run_inside(numbers, -3, 2) == expected


@pytest.mark.parametrize("word", [1, 2**63, 0b101100, 2**64 - 1])
def test_bits_of_a_word_are_counted_and_the_lowest_found(word: int) -> None:
    count, lowest = run_bits(np.uint64(word))
    assert count == word.bit_count()
    assert lowest == (word & -word).bit_length() - 1
