"""Which observations matter to which alerts."""

import numpy as np

from cqc.runtime.alerts.alert_kernels import SINCE_ARRIVAL, find_steps, warm


def steps_of(
    keys: list[int], bad: list[list[int]], room: int, since: int = 0
) -> tuple[list[list[int]], int]:
    """The steps of some rows with the alerts for which each is bad; `room` steps fit at once."""
    terms = np.zeros((4, 6), np.int64)
    terms[:, SINCE_ARRIVAL] = since
    ends = np.cumsum([len(each) for each in bad])
    alerts = np.array([alert for each in bad for alert in each], np.int64)
    arrays = [np.full(8, -1, np.int64), *(np.zeros(64, np.int64) for _ in range(3))]
    is_live, row, count, found = np.zeros(64, np.bool_), 0, 0, []
    while row < len(keys):
        made_of = np.empty((room, 3), np.int64)
        row, made, count = find_steps(
            row, np.array(keys), np.arange(len(keys)), ends, alerts, *arrays, is_live, terms, count, made_of
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


def test_the_kernels_can_be_compiled_ahead() -> None:
    warm()
