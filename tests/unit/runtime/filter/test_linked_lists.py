from __future__ import annotations

import random

import numpy as np

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
