"""Turns never overlap, those who wait are served as they came, and nobody calls from inside a turn."""

from __future__ import annotations

import threading

import pytest

from cqc.runtime.engine.turns import Turns, changes, reads
from cqc.runtime.errors import ReentrantCallError, RunError


class Counter:
    def __init__(self) -> None:
        self._turns = Turns()
        self.value = 0

    @changes
    def add(self, one: int) -> int:
        self.value += one
        return self.value

    @changes
    def add_twice(self) -> int:
        return self.add(1) + self.add(1)

    @reads
    def told(self) -> int:
        return self.value


def test_a_call_from_inside_a_turn_is_refused_and_the_turn_ends() -> None:
    counter = Counter()
    with pytest.raises(
        ReentrantCallError, match=r"engine\.add was called from inside engine\.add_twice"
    ):
        counter.add_twice()
    assert counter.add(1) == 1


def test_after_closing_only_reading_is_possible() -> None:
    counter = Counter()
    counter.add(2)
    counter._turns.close()
    with pytest.raises(RunError, match=r"closed: engine\.add is not possible"):
        counter.add(1)
    assert counter.told() == 2


def test_those_who_wait_are_served_in_the_order_in_which_they_came() -> None:
    turns, served = Turns(), []
    threads = []
    turns.begin("hold")
    for number in range(5):
        queued = len(turns._waiting)

        def work(number: int = number) -> None:
            with turns.take("work"):
                served.append(number)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        while len(turns._waiting) == queued:  # until it stands in line
            pass
    turns.end()
    for thread in threads:
        thread.join()
    assert served == list(range(5))
