"""The kernels behind company in time: lists by slot in the order of time, and searches that may go back and forth."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.runtime.join.step.company_kernels import slots_in_company, times_by_slot


def test_times_are_listed_by_slot_in_order() -> None:
    lineage = np.array([[0b011], [0b110], [0b001]], np.uint64)
    ts_us = np.array([30, 10, 20], np.int64)
    mask = np.array([0b101], np.uint64)
    starts, times = times_by_slot(lineage, ts_us, np.argsort(ts_us), mask)
    assert [times[starts[slot] : starts[slot + 1]].tolist() for slot in range(3)] == [
        [20, 30],
        [],
        [10],
    ]


@pytest.mark.parametrize("seed", range(5))
def test_searches_find_what_a_look_at_everything_finds(seed: int) -> None:
    random = Random(seed)
    times = np.array(sorted(random.randint(0, 300) for _ in range(40)), np.int64)
    ts_us = np.array([random.randint(-50, 350) for _ in range(200)], np.int64)
    low = random.randint(-20, 5)
    high = low + random.randint(0, 20)
    kept, asked, left = slots_in_company(
        np.ones((200, 1), np.uint64), ts_us, np.array([1], np.uint64),
        (np.array([0] + [1] * 64), np.array([0]), np.array([len(times)])),
        (np.array([low]), np.array([high])), times,
    )  # fmt: skip
    expected = [bool(((times >= at + low) & (times <= at + high)).any()) for at in ts_us]
    assert (kept[:, 0] == 1).tolist() == expected
    assert (asked, left) == (200, sum(expected))
