"""Memory is given back after much was let go, and not for a little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cqc.runtime.serve import memory_return
from cqc.runtime.serve.memory_return import MemoryReturn, give_back

MANY = 10 * memory_return._WORTH_IT


class Counted:
    def __init__(self) -> None:
        self.times = 0
        self.memory = MemoryReturn(self.count)

    def count(self) -> None:
        self.times += 1


def test_half_of_the_most_is_much_and_the_count_begins_anew_then() -> None:
    counted = Counted()
    for size in (MANY, MANY * 3 // 4, MANY // 2 + 1, MANY):
        counted.memory.size_is("tuples", size)
    assert counted.times == 0
    for size in (MANY // 3, MANY // 4, MANY // 3):
        counted.memory.size_is("tuples", size)
    assert counted.times == 1


def test_a_little_is_not_worth_it() -> None:
    counted = Counted()
    counted.memory.size_is("tuples", memory_return._WORTH_IT)
    counted.memory.size_is("tuples", 0)
    assert counted.times == 0


def test_tuples_and_results_are_looked_at_by_themselves() -> None:
    counted = Counted()
    counted.memory.size_is("tuples", MANY)
    counted.memory.size_is("results", 0)
    assert counted.times == 0
    counted.memory.size_is("results", MANY)
    counted.memory.size_is("tuples", 0)
    counted.memory.size_is("results", 0)
    assert counted.times == 2


def test_what_left_bit_by_bit_is_given_back_together() -> None:
    counted = Counted()
    for _ in range(10):
        counted.memory.went(memory_return._WORTH_IT // 4)
    assert counted.times == 2


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_freed_memory_is_the_systems_again() -> None:
    pieces = [
        np.ones(12_000) for _ in range(2_000)
    ]  # too small for the C library to return one by one
    last = np.ones(12_000)
    del pieces
    give_back()
    before = resident()
    more = [np.ones(12_000) for _ in range(2_000)]
    last = np.ones(12_000)
    del more
    kept = resident()
    give_back()
    assert len(last) == 12_000
    assert resident() - before < (kept - before) / 2 or kept <= before


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])
