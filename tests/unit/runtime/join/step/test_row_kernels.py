"""Rows before their first step and after their last one, against NumPy."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.row_kernels import (
    finish_rows,
    finish_whole,
    keep_rows,
    mark_wanted,
    pick_rows,
    start_rows,
)

RANDOM = np.random.default_rng(2)
POSITIONS, TS = RANDOM.integers(0, 99, (3, 20)), RANDOM.integers(0, 99, (3, 20))
LINEAGE = RANDOM.integers(0, 4, (20, 2)).astype(np.uint64)
MASK = np.array([1, 2], np.uint64)


def test_only_tuples_that_somebody_wants_start() -> None:
    out = np.zeros((1, 20), np.int64), np.zeros((1, 20), np.int64), np.ones((20, 3), np.uint64)
    count = start_rows(LINEAGE, TS[0], 100, *out)
    wanted = np.flatnonzero(LINEAGE.any(axis=1))
    assert out[0][0, :count].tolist() == (100 + wanted).tolist()
    assert out[1][0, :count].tolist() == TS[0, wanted].tolist()
    assert out[2][:count, :2].tolist() == LINEAGE[wanted].tolist()
    assert not out[2][:count, 2].any()  # slots that came after the packet was filtered
    marked = np.zeros(20, np.bool_)
    mark_wanted(LINEAGE, marked)
    assert np.flatnonzero(marked).tolist() == wanted.tolist() == keep_rows(LINEAGE).tolist()


def test_rows_are_picked_with_the_slots_of_a_mask() -> None:
    out = np.zeros((3, 20), np.int64), np.zeros((3, 20), np.int64), np.zeros((20, 2), np.uint64)
    count = pick_rows(20, POSITIONS, TS, LINEAGE, MASK, *out)
    picked = np.flatnonzero((LINEAGE & MASK).any(axis=1))
    assert out[0][:, :count].tolist() == POSITIONS[:, picked].tolist()
    assert out[2][:count].tolist() == (LINEAGE & MASK)[picked].tolist()


def test_rows_leave_in_the_order_of_their_hosts_items() -> None:
    places, streams = np.array([2, 0]), np.array([0])
    positions, latest, slots = finish_rows(20, POSITIONS, TS, LINEAGE, MASK, places, streams)
    picked = np.flatnonzero((LINEAGE & MASK).any(axis=1))
    assert positions.tolist() == POSITIONS[[2, 0]][:, picked].tolist()
    assert latest.tolist() == TS[0, picked].tolist()
    assert slots.tolist() == (LINEAGE & MASK)[picked].tolist()


def test_whole_rows_are_copied_and_counted_by_slot() -> None:
    places = np.array([1, 2, 0])
    positions, latest, slots, counts = finish_whole(15, POSITIONS, TS, LINEAGE, places, 66)
    assert positions.tolist() == POSITIONS[places, :15].tolist()
    assert latest.tolist() == TS[0, :15].tolist()
    bits = np.unpackbits(LINEAGE[:15].view(np.uint8), axis=1, bitorder="little")
    assert counts.tolist() == bits.sum(axis=0)[:66].tolist()
    assert slots.tolist() == LINEAGE[:15].tolist()
