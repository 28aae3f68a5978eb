"""Sliding counts by rule and key, beside counting row by row."""

from __future__ import annotations

import itertools

import numpy as np

from cqc.runtime.windows.recent_times import NEVER, NO_MOST, RecentTimes


def counts(
    rows: list[tuple[int, int, int]], reach: list[int], most: list[int], idle: int = NEVER
) -> list[int]:
    recent = RecentTimes()
    rules, keys, ts = (np.array(each, np.int64) for each in zip(*rows, strict=True))
    return recent.slide(rules, keys, ts, np.array(reach), np.array(most), idle).tolist()


def test_rows_of_one_instant_see_one_another() -> None:
    rows = [(0, 7, 1), (0, 7, 3), (0, 7, 3), (0, 8, 3), (0, 7, 6)]
    assert counts(rows, [3], [NO_MOST]) == [1, 3, 3, 1, 3]


def test_no_more_is_counted_than_is_asked_for() -> None:
    assert counts([(0, 1, at) for at in range(6)], [100], [3]) == [1, 2, 3, 3, 3, 3]


def test_a_silent_key_starts_anew() -> None:
    assert counts([(0, 1, 1), (0, 1, 2), (0, 1, 9)], [100], [NO_MOST], idle=5) == [1, 2, 1]


def test_many_rules_and_keys_count_as_one_by_one_would() -> None:
    rng = np.random.default_rng(1)
    size = 6_000
    ts = np.sort(rng.integers(0, 3_000, size))
    rules, keys = rng.integers(0, 5, size), rng.integers(0, 40, size)
    reach, most = np.array([0, 5, 50, 500, 3_000]), np.full(5, NO_MOST)
    recent = RecentTimes()
    found = []
    edges = [0, *(np.flatnonzero(np.diff(ts)) + 1)[::200].tolist(), size]
    for begin, end in itertools.pairwise(edges):
        part = slice(begin, end)
        found += recent.slide(rules[part], keys[part], ts[part], reach, most, NEVER).tolist()
    for at in range(0, size, 97):
        inside = (ts <= ts[at]) & (ts >= ts[at] - reach[rules[at]])
        same = (rules == rules[at]) & (keys == keys[at])
        assert found[at] == int((inside & same).sum())


def test_an_instant_with_very_many_rows_finds_room() -> None:
    size = 50_000
    ones = np.ones(size, np.int64)
    recent = RecentTimes()
    found = recent.slide(ones - 1, np.arange(size) % 10, ones, ones, ones * NO_MOST, NEVER)
    assert set(found.tolist()) == {5_000}


def test_what_no_row_can_reach_is_forgotten() -> None:
    recent, one = RecentTimes(), np.ones(1, np.int64)
    for at in range(20_000):
        recent.slide(one - 1, one * at, one * at, one * 10, one * NO_MOST, NEVER)
    assert len(recent) < 5_000
    assert recent.live(20_000, one * 10).tolist() == list(range(19_990, 20_000))
