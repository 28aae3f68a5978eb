"""Entries are found by rule and positions, keep the smallest time of their marks, and are given up in bulk."""

from __future__ import annotations

import numpy as np

from cqc.runtime.absence.guard_entries import FAR_US, GuardEntries


def keys(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, np.int64)


def test_the_same_key_has_one_entry() -> None:
    entries = GuardEntries(2)
    first = entries.add(keys((0, 1, 2), (1, 1, 2), (0, 1, 2)), np.array([5, 5, 5]))
    assert first.tolist() == [0, 1, 0]
    assert entries.find(keys((1, 1, 2), (0, 2, 1))).tolist() == [1, -1]
    assert len(entries) == 2


def test_an_entry_has_the_smallest_time_of_its_marks() -> None:
    entries = GuardEntries(1)
    found = entries.add(keys((0, 7), (0, 8)), np.array([1, 1]))
    entries.mark(np.array([0, 0, -1]), np.array([105, 103, 1]))
    assert entries.best[found].tolist() == [103, FAR_US]


def test_a_guard_that_watches_nothing_has_one_entry_a_rule() -> None:
    entries = GuardEntries(0)
    assert entries.add(keys((0,), (0,), (3,)), np.zeros(3, np.int64)).tolist() == [0, 0, 1]


def test_entries_survive_growth_and_old_ones_are_forgotten_when_they_are_many() -> None:
    entries = GuardEntries(1)
    count = 5_000
    many = np.stack((np.zeros(count, np.int64), np.arange(count)), axis=1)
    found = entries.add(many, np.arange(count))
    entries.mark(found, np.arange(count) + 10)
    moved = entries.forget(4_000)
    assert moved is not None
    assert len(entries) == 1_000
    assert entries.find(many[:4_000]).max() == -1
    left = entries.find(many[4_000:])
    assert (left == moved[4_000:]).all()
    assert entries.best[left].tolist() == list(range(4_010, 5_010))
