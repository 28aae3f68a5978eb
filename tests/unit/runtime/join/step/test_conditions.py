"""The conditions of a step, each beside its plain meaning."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.join.step import conditions
from cqc.runtime.join.step.step_arguments import Thetas, Windows
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import interval_sets

WIDTHS = [(0,), np.empty(3, np.int64)]


@njit(cache=False)
def allow_windows(alive, windows, ts_in, ts, width):  # type: ignore[no-untyped-def]
    return conditions.windows_allow(
        alive, windows.starts, windows.cuts, windows.sets, ts_in, 0, ts, width
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_lineage_is_met_word_by_word(width: object) -> None:
    random = np.random.default_rng(1)
    words = len(width)  # type: ignore[arg-type]
    one, two = (random.integers(0, 3, (5, words)).astype(np.uint64) for _ in range(2))
    alive = np.empty(words, np.uint64)
    for row in range(5):
        assert conditions.meet(alive, one, row, two, row, width) == (one[row] & two[row]).any()
        assert alive.tolist() == (one[row] & two[row]).tolist()
        assert conditions.touches(one[row], two, row, width) == (one[row] & two[row]).any()


def test_a_rank_counts_cuts_up_to_and_with_the_value() -> None:
    cuts = np.array([9, 1, 3, 3, 8, 0])
    for value in range(-1, 10):
        expected = int((cuts[1:5] <= value).sum())
        assert conditions.rank_of(cuts, 1, 5, value) == expected
        assert conditions.place_among(cuts[1:5], value) == expected
        assert conditions.place_among(cuts[:0], value) == 0


def test_windows_leave_the_slots_that_allow_every_distance() -> None:
    slots, low, high = [0, 1, 2], np.array([-5, 0, -9]), np.array([5, 2, -1])
    sets = interval_sets(slots, low, high, 1)
    cuts = len(sets.cuts)
    none = np.array([[7]], np.uint64)
    windows = Windows(np.array([0, cuts, cuts]), sets.cuts, np.concatenate([sets.sets, none]))
    for distance in range(-10, 8):
        alive = np.array([7], np.uint64)
        ts_in = np.array([[100], [50]])
        wanted = [slot for slot in slots if low[slot] <= distance <= high[slot]]
        found = allow_windows(alive, windows, ts_in, 100 + distance, (0,))
        assert found == bool(wanted)
        assert int(alive[0]) == sum(1 << slot for slot in wanted)


def test_a_theta_list_takes_only_its_own_slots_away() -> None:
    # probing < d: one condition of slot 0; slot 1 has none
    thetas = Thetas(
        np.array([0]), np.array([0]), np.array([0, 1]), np.array([[1.0, 0.0, 1.0, 0.0]]),
        np.array([[2], [3], [3], [2]], np.uint64), np.array([[1]], np.uint64), np.array([[4.0]]),
    )  # fmt: skip
    values = np.array([[5.0], [3.0]])
    for index, left in ((0, 3), (1, 2)):
        alive = np.array([3], np.uint64)
        assert conditions.thetas_allow(alive, thetas, 0, values, index, (0,))
        assert int(alive[0]) == left
    alone = np.array([1], np.uint64)
    assert not conditions.thetas_allow(alone, thetas, 0, values, 1, (0,))


def test_instants_do_not_run_over() -> None:
    last = (1 << 63) - 2
    assert conditions.shifted(5, -3) == 2
    assert conditions.shifted(last - 1, 9) == last
    assert conditions.shifted(-last + 1, -9) == -last
