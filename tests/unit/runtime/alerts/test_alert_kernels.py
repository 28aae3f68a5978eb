"""Which observations matter to which alerts."""

import numpy as np

from cqc.runtime.alerts.alert_kernels import (
    NEVER,
    SINCE_ARRIVAL,
    by_row,
    find_steps,
    number_lasts,
    warm,
)


def steps_of(
    keys: list[int], bad: list[list[int]], room: int, since: int = 0
) -> tuple[list[list[int]], int]:
    """The steps of some rows with the alerts for which each is bad; `room` steps fit at once."""
    terms = np.zeros((4, 6), np.int64)
    terms[:, SINCE_ARRIVAL] = since
    ends = np.cumsum([len(each) for each in bad])
    alerts = np.array([alert for each in bad for alert in each], np.int64)
    arrays = [np.full(8, -1, np.int64), *(np.zeros(64, np.int64) for _ in range(3))]
    times = np.zeros((64, 4), np.int64)
    is_live, row, count, found = np.zeros(64, np.bool_), 0, 0, []
    while row < len(keys):
        made_of = np.empty((room, 3), np.int64)
        row, made, count = find_steps(
            row, np.array(keys), np.arange(len(keys)), ends, alerts, *arrays, is_live, times, terms,
            count, made_of,
        )  # fmt: skip
        found += made_of[:made].tolist()
        room *= 2
    return found, count


def test_a_good_observation_of_a_key_that_is_not_bad_is_no_step() -> None:
    assert steps_of([0, 1, 0], [[], [], []], 8) == ([], 0)


def test_from_the_first_bad_one_on_all_of_the_key_are_steps() -> None:
    found, count = steps_of([0, 1, 0, 1, 0], [[], [], [2], [], []], 8)
    assert found == [[2, 0, 1], [4, 0, 0]]
    assert count == 1


def test_a_row_that_does_not_fit_is_taken_again() -> None:
    bad = [[0, 2], [1], [0, 1, 2, 3], []]
    whole = steps_of([0, 0, 0, 0], bad, 64)
    assert steps_of([0, 0, 0, 0], bad, 1) == whole
    assert [step[0] for step in whole[0]] == [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]


def test_what_came_before_an_alert_is_no_observation_of_it() -> None:
    found, _ = steps_of([0, 0, 0], [[1], [], []], 8, since=2)
    assert found == [[0, 0, 1], [2, 0, 0]]


def test_a_new_entry_knows_nothing_yet() -> None:
    heads, links, keys, alerts = np.full(8, -1, np.int64), *np.zeros((3, 8), np.int64)
    times, terms, bad = np.zeros((8, 4), np.int64), np.zeros((4, 6), np.int64), np.array([0, 3])
    find_steps(
        0, np.array([1]), np.array([5]), np.array([2]), bad, heads, links, keys, alerts,
        np.zeros(8, np.bool_), times, terms, 0, np.empty((8, 3), np.int64),
    )  # fmt: skip
    assert (times[:2] == NEVER).all()
    assert not times[2:].any()


def test_a_key_of_which_nothing_was_ever_bad_has_no_steps() -> None:
    assert steps_of([-1, 0, -1], [[], [1], []], 8) == ([[1, 0, 1]], 1)


def test_last_rows_of_entries_are_numbered_in_their_order() -> None:
    steps = np.array([[0, 2, 1], [3, 0, 1], [3, 1, 0], [5, 2, 0]])
    lasts = np.array([-1 - 3, -1 - 3, -1 - 5, 4])  # the last entry was not touched
    assert number_lasts(steps, lasts, 10, 6).tolist() == [3, 5]
    assert lasts.tolist() == [10, 10, 11, 4]


def test_pairs_in_the_order_of_rows_and_alerts() -> None:
    rng = np.random.default_rng(1)
    rows, alerts = rng.integers(0, 9, 60), rng.integers(0, 5, 60)
    ends, found = by_row(rows, alerts, 9, 5)
    order = np.lexsort((alerts, rows))
    assert found.tolist() == alerts[order].tolist()
    assert ends.tolist() == np.cumsum(np.bincount(rows, minlength=9)).tolist()


def test_the_kernels_can_be_compiled_ahead() -> None:
    warm()
