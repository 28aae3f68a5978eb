"""Lists of numbers in one array of links, added one by one or many at once."""

import random

import numpy as np
import pytest

from cqc.runtime.filter.linked_lists import AtomLists


def test_numbers_that_come_together_are_linked_newest_first() -> None:
    lists = AtomLists()
    lists.reserve(3)
    for number in range(100):
        lists.add(number % 2, number)
    assert len(lists) == 3
    assert lists.members(0) == list(range(98, -1, -2))
    assert lists.members(1) == list(range(99, 0, -2))
    assert lists.members(2) == []
    assert lists.lists_in_use == 2


@pytest.mark.parametrize("seed", range(8))
def test_any_mix_of_adding_and_removing_keeps_every_list(seed: int) -> None:
    chooser = random.Random(seed)
    lists, wanted = AtomLists(), [[] for _ in range(5)]  # type: ignore[var-annotated]
    lists.reserve(5)
    for turn in range(30):
        for number in range(chooser.choice((1, 3, 40))):
            at = chooser.randrange(len(wanted))
            lists.add(at, 1000 * turn + number)
            wanted[at].insert(0, 1000 * turn + number)
        if chooser.random() < 0.3:
            assert lists.new_list() == len(wanted)
            wanted.append([])
        for _ in range(chooser.choice((0, 2, 20))):
            filled = [at for at, members in enumerate(wanted) if members]
            if filled:
                at = chooser.choice(filled)
                number = wanted[at].pop(chooser.randrange(len(wanted[at])))
                lists.remove(at, number)
        if chooser.random() < 0.5:
            assert [lists.members(at) for at in range(len(wanted))] == wanted
            assert lists.lists_in_use == sum(map(bool, wanted))
    everything = np.arange(len(wanted), dtype=np.int32)
    tuples, numbers = lists.spread(everything, everything)
    assert numbers.tolist() == [number for members in wanted for number in members]
    assert tuples.tolist() == [at for at, members in enumerate(wanted) for _ in members]
