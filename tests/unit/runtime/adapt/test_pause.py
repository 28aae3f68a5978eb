from __future__ import annotations

from cqc.runtime.adapt.pause import Pause


def test_pauses_double_up_to_the_longest_and_begin_small_again() -> None:
    pause = Pause(3, 20)
    lengths = []
    for _ in range(4):
        lengths.append(pause.length)
        pause.longer()
    assert lengths == [3, 6, 12, 20]
    pause.shortest()
    assert pause.length == 3


def test_a_rest_is_over_after_its_units_and_the_next_one_is_twice_as_long() -> None:
    pause = Pause(2, 100)
    pause.begin()
    assert [pause.is_over() for _ in range(2)] == [False, True]
    pause.begin()
    assert [pause.is_over(3) for _ in range(2)] == [False, True]
