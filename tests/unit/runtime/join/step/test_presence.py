"""Which composite values are there: never one too few, and old ones go when the table is made anew."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.presence import (
    Presences,
    as_arrays,
    keep_awaited,
)

DEAD = np.zeros(2, np.int64)


def note(presences: Presences, keys: list[tuple[int, int]], ts: int) -> None:
    links = np.zeros((2, len(keys), 2), np.int64)
    links[:, :, 1] = np.array(keys).T
    times, lineage = np.full(len(keys), ts), np.ones((len(keys), 1), np.uint64)
    presences.note(0, links, times, lineage, 0, len(keys), DEAD)


def kept(presences: Presences, pairs: list[tuple[int, int]], ts: int) -> list[int]:
    """Of pairs of tuples whose values are asked for at a time, those that go on."""
    starts, places, forms = as_arrays([[(0, 0), (1, 0)]])
    asked = np.array([0]), starts, places, forms, np.array([10])
    links = [np.array([[[-1, value] for value in side]]) for side in zip(*pairs, strict=True)]
    numbers = np.arange(len(pairs))
    rows = (
        np.stack((numbers, numbers)), np.full((2, len(pairs)), ts),
        np.ones((len(pairs), 1), np.uint64),
    )  # fmt: skip
    starters = links[0], 0, np.zeros(1, np.int64), np.zeros(1, np.int64)
    target = (
        np.zeros((1, 1), np.int64), links[1], 63, 0, 0, len(pairs), numbers, numbers,
        np.ones((len(pairs), 1), np.uint64), np.zeros((1, 1)),
    )  # fmt: skip
    dropped = np.zeros(1, np.int64)
    count = keep_awaited(len(pairs), rows, starters, target, asked, presences.table, dropped)
    assert dropped[0] == len(pairs) - count
    return [int(each) for each in rows[0][0, :count]]


def test_a_pair_goes_on_when_its_values_are_there_and_young_enough() -> None:
    presences = Presences()
    assert presences.number(0, (0, 1)) == 0
    note(presences, [(1, 2), (3, 4)], 100)
    assert kept(presences, [(1, 2), (1, 4), (3, 4)], 105) == [0, 2]
    assert kept(presences, [(1, 2), (3, 4)], 111) == []
    note(presences, [(3, 4)], 120)
    assert kept(presences, [(1, 2), (3, 4)], 125) == [1]


def test_a_table_that_is_made_anew_forgets_what_is_too_old() -> None:
    presences = Presences()
    presences.number(0, (0, 1))
    note(presences, [(at, at) for at in range(600)], 100)
    DEAD[0] = 200
    note(presences, [(at, at) for at in range(1_000, 2_600)], 300)
    DEAD[0] = 0
    assert np.count_nonzero(presences.hashes) == 1_600
    assert kept(presences, [(5, 5), (1_005, 1_005)], 300) == [1]


def test_presences_that_nobody_asks_for_note_nothing() -> None:
    presences = Presences()
    presences.number(0, (0, 1))
    presences.keep(set())
    note(presences, [(1, 2)], 100)
    assert not presences.hashes.any()
    assert presences.items == []
