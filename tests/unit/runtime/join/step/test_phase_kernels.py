"""The phases of a step, one by one: what they list and what they leave."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.join.step.phase_kernels import (
    attribute_phase,
    list_in_run,
    lower_bound,
    stretches,
    window_phase,
)
from tests.support.join_nodes import SECOND


def candidates(room: int) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    return np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 1), np.uint64)


def target(times: list[int], lineage: list[int]) -> tuple[object, ...]:
    nothing = np.zeros((1, 1), np.int64)
    return (
        nothing, np.zeros((1, 1, 2), np.int64), 63, 0, 0, len(times), np.array(times),
        np.array(times), np.array(lineage, np.uint64)[:, None], np.zeros((len(times), 1)),
    )  # fmt: skip


@pytest.mark.parametrize("room", [2, 10])
def test_a_run_lists_what_is_between_two_keys_and_nan_always(room: int) -> None:
    run = np.array([1.0, 2.0, 5.0, np.nan]), np.array([10, 11, 12, 13])
    made, lineage = candidates(room), np.array([[5]], np.uint64)
    ranges = np.array([1.5]), np.array([9.0])
    found = list_in_run(0, 1, lineage, ranges, run, (0, 99), 0, made, 1_000)
    assert found == 3  # counted also where there is no room
    assert made[1][: min(room, 3)].tolist() == [11, 12, 13][:room]
    assert made[2][0, 0] == 5


def test_a_bound_is_the_first_key_that_is_not_below() -> None:
    keys = np.array([1.0, 3.0, 3.0, 8.0])
    assert [lower_bound(keys, 4, value) for value in (0.0, 3.0, 4.0, 9.0)] == [0, 1, 3, 4]


def test_a_row_looks_between_the_narrowest_of_its_windows() -> None:
    lows, highs = np.empty(1), np.empty(1)
    loosest = np.array([[-5 * SECOND, 0], [-SECOND, SECOND]])
    stretches(1, np.array([[10 * SECOND], [9 * SECOND]]), loosest, lows, highs)
    assert round(lows[0]) == 8 * SECOND
    assert round(highs[0]) == 10 * SECOND


def test_phases_keep_the_candidates_that_some_slot_wants() -> None:
    made = candidates(4)
    made[1][:] = [0, 1, 2, 3]
    made[2][:, 0] = 3
    state = target([0, 10, 20, 30], [1, 0, 2, 3])
    left = attribute_phase(4, made, state)
    assert left == 3
    assert made[1][:3].tolist() == [0, 2, 3]
    assert made[2][:3, 0].tolist() == [1, 2, 3]
    # slot 0: up to 20 later, slot 1: never
    windows = np.array([0, 2]), np.array([0, 21]), np.array([[0], [1], [0]], np.uint64)
    ts_in = np.zeros((1, 1), np.int64)
    assert window_phase(left, made, state, ts_in, windows) == 1
    assert made[1][0] == 0
