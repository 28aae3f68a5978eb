from __future__ import annotations

import random

import numpy as np
import pytest

from cqc.runtime.filter.linked_lists import AtomLists


def test_a_list_has_its_numbers_newest_first() -> None:
    lists = AtomLists()
    one, two = lists.new_list(), lists.new_list()
    for at, number in ((one, 7), (two, 9), (one, 8)):
        lists.add(at, number)
    assert (lists.members(one), lists.members(two)) == ([8, 7], [9])
    assert lists.lists_in_use == 2


def test_a_number_that_leaves_makes_room_for_the_next() -> None:
    lists = AtomLists()
    lists.reserve(3)
    for number in range(4):
        lists.add(1, number)
    size = len(lists.links)
    lists.remove(1, 2)
    lists.remove(1, 0)
    lists.add(2, 5)
    assert (lists.members(1), lists.members(2)) == ([3, 1], [5])
    assert len(lists.links) == size
    lists.remove(2, 5)
    assert lists.lists_in_use == 1


def test_tuples_that_hit_lists_are_spread_over_all_members() -> None:
    lists = AtomLists()
    lists.reserve(3)
    lists.add(0, 5)
    lists.add(0, 6)
    lists.add(2, 7)
    tuples, numbers = lists.spread(np.array([4, 8, 9], np.int32), np.array([2, 0, 1], np.int32))
    assert list(zip(tuples.tolist(), numbers.tolist(), strict=True)) == [(4, 7), (8, 6), (8, 5)]


def test_lists_are_what_python_lists_would_be() -> None:
    rng, lists, expected = random.Random(3), AtomLists(), [[] for _ in range(5)]  # type: ignore[var-annotated]
    lists.reserve(5)
    for number in range(300):
        at = rng.randrange(5)
        if expected[at] and rng.random() < 0.4:
            gone = rng.choice(expected[at])
            expected[at].remove(gone)
            lists.remove(at, gone)
        else:
            expected[at].insert(0, number)
            lists.add(at, number)
    assert [lists.members(at) for at in range(5)] == expected
    assert lists.lists_in_use == sum(map(bool, expected))


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


def test_many_numbers_that_come_and_go_take_no_more_room_each_time() -> None:
    lists = AtomLists()
    lists.reserve(2)
    sizes = []
    for _ in range(5):
        for number in range(100):
            lists.add(number % 2, number)
        sizes.append(len(lists.links))
        for number in range(100):
            lists.remove(number % 2, number)
    assert sizes == [100] * 5
