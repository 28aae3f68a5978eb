"""The difference-bound matrix: tightest bounds, kept history, contradictions."""

from __future__ import annotations

import random
from itertools import product

from cqc.compiler.meaning.time_bounds import TimeLimit, close, contradiction


def satisfiable(size: int, limits: list[TimeLimit], most: int) -> list[tuple[int, ...]]:
    """All times 0..most of the items that keep every limit."""
    return [
        times
        for times in product(range(most + 1), repeat=size)
        if all(times[each.later] - times[each.earlier] <= each.most_us for each in limits)
    ]


def test_the_bounds_are_the_tightest_that_hold() -> None:
    chooser = random.Random(1)
    for _ in range(200):
        size = chooser.choice([2, 3])
        limits = [
            TimeLimit(*chooser.sample(range(size), 2), chooser.randint(-2, 2))
            for _ in range(chooser.randint(1, 5))
        ]
        bounds = close((True,) * size, limits)
        found = satisfiable(size, limits, 8)
        assert bounds.contradictory == (not found) == bool(contradiction(size, limits))
        for i, j in product(range(size), repeat=2):
            limit = bounds.most_us[i][j]
            if found and limit is not None and i != j:
                assert max(times[j] - times[i] for times in found) == limit


def test_a_contradiction_is_a_circle_of_negative_length() -> None:
    limits = [TimeLimit(0, 1, 3), TimeLimit(1, 2, -2), TimeLimit(2, 0, -2), TimeLimit(0, 2, 9)]
    circle = contradiction(3, limits)
    assert sum(each.most_us for each in circle) < 0
    assert [each.earlier for each in circle] == [each.later for each in circle[-1:] + circle[:-1]]


def test_tables_bound_nothing_and_are_kept_for_nothing() -> None:
    bounds = close((True, False, True), [TimeLimit(0, 2, 5), TimeLimit(2, 0, 1)])
    assert bounds.most_us[1] == (None, None, None)
    assert (bounds.keep_us(0), bounds.keep_us(2)) == (5, 1)


def test_a_stream_beside_a_table_keeps_nothing() -> None:
    assert close((True, False), []).keep_us(0) == 0
