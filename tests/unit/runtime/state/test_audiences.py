"""Sets of queries by number, and the rows that each query gets from them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.runtime.state.audiences import Audiences, bits_as_sets


def sets(*members: list[int]) -> Audiences:
    audiences = Audiences()
    lengths = np.array([len(each) for each in members])
    audiences.add(lengths, np.array([number for each in members for number in each], np.int64))
    return audiences


def pairs(audiences: Audiences, rows: list[int]) -> list[tuple[int, int]]:
    found = audiences.pairs(np.array(rows, np.int64))
    return [pair for part in found for pair in zip(*(each.tolist() for each in part), strict=True)]


def test_rows_of_each_member_are_together_and_in_order() -> None:
    assert pairs(sets([0, 2], [1], []), [0, 1, 0, 2]) == [(0, 0), (2, 0), (1, 1), (0, 2), (2, 2)]


def test_a_member_that_leaves_is_in_no_set() -> None:
    audiences = sets([0, 2], [1, 2], [2])
    audiences.forget(2)
    assert pairs(audiences, [0, 1, 2]) == [(0, 0), (1, 1)]
    assert audiences.having(1).tolist() == [False, True, False]


def test_sets_that_nobody_uses_are_forgotten() -> None:
    audiences = sets([0], [1, 3], [2])
    assert audiences.keep(np.array([1, 2])).tolist() == [-1, 0, 1]
    assert pairs(audiences, [0, 1]) == [(0, 1), (1, 2), (0, 3)]


def test_rows_of_bits_are_sets() -> None:
    lengths, members = bits_as_sets(np.array([[5], [0], [2]], np.uint64), 3)
    assert lengths.tolist() == [2, 0, 1]
    assert members.tolist() == [0, 2, 1]


@pytest.mark.parametrize("seed", range(30))
def test_the_first_rows_of_each_partition_are_those_that_counting_finds(seed: int) -> None:
    rng = Random(seed)
    members = [sorted(rng.sample(range(5), rng.randint(0, 5))) for _ in range(6)]
    rows = sorted((rng.randint(0, 2), rng.randint(0, 3), rng.randint(0, 5)) for _ in range(30))
    partition = [row[0] for row in rows]
    peers = [row[:2] for row in rows]
    first = np.array([partition.index(each) for each in partition])
    peer_first = np.array([peers.index(each) for each in peers])
    counted, most = rng.randint(0, 2), rng.randint(0, 4)
    audiences = np.array([row[2] for row in rows], np.int64)
    places, found = sets(*members).top(audiences, first, peer_first, counted, most)
    expected = []
    for member in range(5):
        own = [at for at, row in enumerate(rows) if member in members[row[2]]]
        for at in own:
            same = [each for each in own if partition[each] == partition[at]]
            if counted == 0:
                before = sum(each < at for each in same)
            elif counted == 1:
                before = sum(peers[each] < peers[at] for each in same)
            else:
                before = len({peers[each] for each in same if peers[each] < peers[at]})
            if before < most:
                expected.append((at, member))
    assert list(zip(places.tolist(), found.tolist(), strict=True)) == expected
