"""Rows of a finding by slot and in result-time order, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.join.execute.results import rows_in_time, rows_with, time_order


@pytest.mark.parametrize("spread", [0, 3, 1_000, 1_000_000, 1 << 50, 1 << 63])
@pytest.mark.parametrize("count", [0, 1, 40, 3000])
def test_rows_are_in_the_order_of_their_times(count: int, spread: int) -> None:
    random = np.random.default_rng(count)
    times = random.integers(-spread, max(spread, 1), count)
    for given in (times, np.sort(times)):
        assert time_order(given).tolist() == np.argsort(given, kind="stable").tolist()


@pytest.mark.parametrize("words", [1, 2])
def test_every_slot_has_its_rows_in_the_order_of_their_times(words: int) -> None:
    random = np.random.default_rng(words)
    lineage = random.integers(0, 1 << 62, (500, words)).astype(np.uint64)
    lineage &= random.integers(0, 1 << 62, words).astype(np.uint64)
    times = random.integers(0, 90, 500)
    own = [rows_with(lineage, slot) for slot in range(64 * words)]
    counts = np.array([len(rows) for rows in own])
    slots, begins, ends, rows, row_times = rows_in_time(lineage, times, counts)
    assert slots.tolist() == np.flatnonzero(counts).tolist()
    assert len(rows) == counts.sum()
    for slot, begin, end in zip(slots.tolist(), begins.tolist(), ends.tolist(), strict=True):
        expected = own[slot][np.argsort(times[own[slot]], kind="stable")]
        assert rows[begin:end].tolist() == expected.tolist()
        assert row_times[begin:end].tolist() == times[expected].tolist()
