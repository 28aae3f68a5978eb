from __future__ import annotations

import itertools

import pytest

from cqc.compiler.meaning.normal import Interval, Value
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.value_points import Listed, points_of

BIGINT, DOUBLE, STRING = ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING


def only(value: Value) -> Interval:
    return Interval(value, True, value, True)


def but(*values: Value) -> list[Interval]:
    ends = (None, *values, None)
    return [Interval(low, False, high, False) for low, high in itertools.pairwise(ends)]


def test_a_long_list_of_numbers_is_looked_up_and_a_short_one_compared() -> None:
    assert points_of(BIGINT, [only(value) for value in range(0, 10, 2)]) == Listed(
        (0, 2, 4, 6, 8), complement=False
    )
    assert points_of(BIGINT, [only(value) for value in range(0, 8, 2)]) is None


def test_a_single_text_is_looked_up() -> None:
    assert points_of(STRING, [only("a")]) == Listed(("a",), complement=False)


def test_everything_but_a_list_is_looked_up_as_that_list() -> None:
    values = (1.5, 2.5, 3.5, 4.5)
    assert points_of(DOUBLE, but(*values)) == Listed(values, complement=True)
    assert points_of(STRING, but("x")) == Listed(("x",), complement=True)


def test_short_runs_of_whole_numbers_are_lists_of_them() -> None:
    runs = [Interval(low, False, low + 3, True) for low in range(0, 50, 10)]
    found = points_of(BIGINT, runs)
    assert found is not None
    assert found.values[:4] == (1, 2, 3, 11)
    assert points_of(DOUBLE, [Interval(float(at), True, at + 0.5, True) for at in range(5)]) is None


@pytest.mark.parametrize(
    "intervals",
    [
        [],
        [Interval(None, False, "b", True)],
        [Interval("a", True, "b", True)],
        [only("a"), Interval("b", False, None, False)],
    ],
)
def test_ranges_are_no_lists(intervals: list[Interval]) -> None:
    assert points_of(STRING, intervals) is None


def test_a_run_that_is_wide_is_no_list() -> None:
    assert (
        points_of(BIGINT, [Interval(low, True, low + 100, True) for low in range(0, 1000, 200)])
        is None
    )
