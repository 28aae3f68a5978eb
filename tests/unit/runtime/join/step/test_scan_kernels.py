"""The kernels of a scan, each against NumPy; what a scan as a whole finds, the tests of joins judge by the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.join.step.row_kernels import count_slots_of
from cqc.runtime.join.step.scan_kernels import count_bits, group_rows, sift, sift_ends, write_pairs
from cqc.runtime.join.step.step_arguments import RowBlock, TimeTarget


@pytest.mark.parametrize("words", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_sifting_leaves_the_slots_whose_ranges_hold_the_value(seed: int, words: int) -> None:
    random = np.random.default_rng(seed)
    begin, count, lists = int(random.integers(0, 50)), int(random.integers(0, 70)), 4
    wanted = random.integers(0, 1 << 62, words).astype(np.uint64)
    lineage = random.integers(0, 1 << 62, (words, 120)).astype(np.uint64)
    lineage[:, random.random(120) < 0.5] = 0
    values = random.normal(0.0, 1.0, (2, 120))
    values[random.random((2, 120)) < 0.1] = np.nan
    members = random.integers(0, 1 << 62, (lists, words)).astype(np.uint64)
    rows = random.integers(0, 2, lists)
    lows, highs = np.array([-np.inf, -np.inf, -0.5, -1.0]), np.array([np.inf, 0.5, np.inf, 0.0])
    alive, picks = np.zeros((words, 512), np.uint64), np.zeros(513, np.int64)
    width = (0,) if words == 1 else np.empty(words, np.int64)
    arguments = (alive, wanted, lineage, values, begin, count, members, rows, lows, highs, picks)
    found = sift(*arguments, width)
    expected = lineage[:, begin : begin + count] & wanted[:, None]
    for number in range(lists):
        column = values[rows[number], begin : begin + count]
        outside = (column < lows[number]) | (column > highs[number])
        expected[:, outside] &= ~members[number][:, None]
    assert alive[:, :count].tolist() == expected.tolist()
    assert picks[:found].tolist() == np.flatnonzero(expected.any(axis=0)).tolist()


@pytest.mark.parametrize("words", [1, 3])
@pytest.mark.parametrize(
    ("below", "above"), [(-0.5, 1.0), (-np.inf, 0.5), (0.5, np.inf), (1.0, -1.0)]
)
def test_sifting_by_both_ends_leaves_values_at_the_ends(
    below: float, above: float, words: int
) -> None:
    random = np.random.default_rng(words)
    wanted = random.integers(0, 1 << 62, words).astype(np.uint64)
    lineage = random.integers(0, 1 << 62, (words, 90)).astype(np.uint64)
    lineage[:, random.random(90) < 0.5] = 0
    column = random.normal(0.0, 1.0, 90)
    column[random.random(90) < 0.1] = np.nan
    alive, picks = np.zeros((words, 512), np.uint64), np.zeros(513, np.int64)
    width = (0,) if words == 1 else np.empty(words, np.int64)
    found = sift_ends(alive, wanted, lineage, column, 20, 50, below, above, picks, width)
    expected = lineage[:, 20:70] & wanted[:, None]
    expected[:, (column[20:70] > below) & (column[20:70] < above)] = 0
    assert alive[:, :50].tolist() == expected.tolist()
    assert picks[:found].tolist() == np.flatnonzero(expected.any(axis=0)).tolist()


@pytest.mark.parametrize("complete", [False, True])
def test_pairs_are_written_item_by_item(complete: bool) -> None:
    random = np.random.default_rng(1)
    positions, ts = random.integers(0, 99, (2, 30)), random.integers(0, 99, (2, 30))
    lane_ts, lane_positions = random.integers(0, 99, 20), random.integers(0, 99, 20)
    rows, entries = random.integers(0, 30, 40), random.integers(0, 20, 40)
    made, times = np.zeros((3, 50), np.int64), np.zeros((1 if complete else 3, 50), np.int64)
    pairs = rows.astype(np.uint32), entries.astype(np.uint32)
    nothing = np.zeros((0, 1), np.uint64)
    target = TimeTarget(lane_ts, lane_positions, nothing, np.zeros((0, 20)), 0, 20, 0, 99)
    write_pairs(
        5, 40, *pairs, target, RowBlock(positions, ts, nothing), RowBlock(made, times, nothing)
    )
    assert made[:, 5:45].tolist() == [
        *positions[:, rows].tolist(),
        lane_positions[entries].tolist(),
    ]
    each = np.concatenate([ts[:, rows], lane_ts[None, entries]])
    expected = each.max(axis=0, keepdims=True) if complete else each
    assert times[:, 5:45].tolist() == expected.tolist()
    assert not made[:, :5].any()
    assert not made[:, 45:].any()


@pytest.mark.parametrize("most", [5, 50, 1 << 40])
def test_rows_of_one_position_are_together(most: int) -> None:
    positions = np.random.default_rng(1).integers(0, most, 40)
    order = group_rows(positions, 40)
    assert sorted(order.tolist()) == list(range(40))
    assert positions[order].tolist() == sorted(positions.tolist())


def test_slots_are_counted_row_by_row_and_all_at_once() -> None:
    random = np.random.default_rng(1)
    lineage = random.integers(0, 1 << 62, (50, 2)).astype(np.uint64)
    lineage[random.random((50, 2)) < 0.6] = 0
    mask = random.integers(0, 1 << 62, 2).astype(np.uint64)
    bits = np.unpackbits((lineage & mask).view(np.uint8), axis=1, bitorder="little")
    counts, tally = np.ones(128, np.int64), np.zeros(128, np.int64)
    assert count_slots_of(lineage, 40, mask, counts) == bits[:40].any(axis=1).sum()
    for row in lineage[:40] & mask:
        count_bits(row, tally, np.empty(2, np.int64))
    assert counts.tolist() == tally.tolist() == bits[:40].sum(axis=0).tolist()
