"""The kernels of a join tree: chains by composite key, dead rows, and who is absent."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.tree.tree_kernels import (
    find_absent_by_bloom,
    living,
    park_rows,
    set_bloom,
    wake_rows,
)

COLUMNS = np.array([0, 1])


def test_rows_are_dead_when_one_of_their_tuples_is_old_and_early() -> None:
    positions, ts = np.array([[0, 9, 0], [0, 0, 9]]), np.array([[5, 5, 50], [50, 50, 50]])
    dead = np.array([[10, 4], [10, 4]])
    assert living(positions, ts, 0, 3, dead).tolist() == [1, 2]
    assert living(positions, ts, 1, 3, dead).tolist() == [0, 1]


def test_parked_rows_wake_for_their_whole_key() -> None:
    keys = np.array([[1, 1], [1, 2], [1, 1]])
    heads, following = np.full(4, -1), np.zeros(3, np.int64)
    park_rows(np.arange(3), keys, COLUMNS, heads, following, 62)
    woken = np.zeros(3, np.int64)
    asked = np.array([[1, 1], [7, 7]])
    count = wake_rows(np.arange(2), asked, COLUMNS, keys, COLUMNS, heads, following, 62, woken)
    assert sorted(woken[:count].tolist()) == [0, 2]
    assert wake_rows(np.arange(2), asked, COLUMNS, keys, COLUMNS, heads, following, 62, woken) == 0


def test_a_bloom_filter_is_sure_of_what_is_absent() -> None:
    random = np.random.default_rng(1)
    keys, bits = random.integers(0, 99, (200, 2)), np.zeros(256, np.uint64)
    set_bloom(np.arange(100), keys, COLUMNS, bits, 56)
    absent = np.zeros(200, np.bool_)
    count = find_absent_by_bloom(np.arange(200), keys, COLUMNS, bits, 56, absent)
    assert not absent[:100].any()
    assert count == absent.sum() > 50
