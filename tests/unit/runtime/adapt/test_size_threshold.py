from __future__ import annotations

from cqc.runtime.adapt.settings import Sizes
from cqc.runtime.adapt.size_threshold import SizeThreshold

SIZES = Sizes(first=8, least=2, most=20, starved=3)


def test_it_doubles_when_twice_as_many_wait_and_not_beyond_the_most() -> None:
    size = SizeThreshold(SIZES)
    values = []
    for waiting in (15, 16, 40, 100):
        size.saw(waiting)
        values.append(size.value)
    assert values == [8, 16, 20, 20]
    assert size.changes == 2


def test_it_halves_when_too_few_come_again_and_again() -> None:
    size = SizeThreshold(SIZES)
    values = []
    for _ in range(9):
        size.starve()
        values.append(size.value)
    assert values == [8, 8, 4, 4, 4, 2, 2, 2, 2]


def test_enough_in_between_begins_the_count_anew() -> None:
    size = SizeThreshold(SIZES)
    size.starve()
    size.starve()
    size.saw(16)
    size.starve()
    assert size.value == 16


def test_a_fixed_size_stays() -> None:
    size = SizeThreshold(SIZES, 5)
    size.saw(1_000)
    for _ in range(10):
        size.starve()
    size.halve(5)
    assert (size.value, size.changes) == (5, 0)
