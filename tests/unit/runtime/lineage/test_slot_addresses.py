"""Where the findings of slots go: what was learned is told for many slots at once, until it is forgotten."""

from __future__ import annotations

import numpy as np

from cqc.runtime.lineage.slot_addresses import NOBODY, UNKNOWN, Addresses


def slots(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_a_slot_is_unknown_until_it_is_learned_and_after_it_is_forgotten() -> None:
    addresses = Addresses(object())
    assert addresses.lists(slots(0, 5)).tolist() == [UNKNOWN, UNKNOWN]
    addresses.learn(5, 2, "fever")
    addresses.learn(0, NOBODY)
    assert addresses.lists(slots(0, 5)).tolist() == [NOBODY, 2]
    assert addresses.names(slots(5)) == ["fever"]
    addresses.forget(5)
    assert addresses.lists(slots(5)).tolist() == [UNKNOWN]


def test_slots_beyond_the_room_are_unknown_and_keep_what_is_known() -> None:
    addresses = Addresses(object())
    addresses.learn(63, 1, "last")
    addresses.forget(1_000)  # never asked about
    assert addresses.lists(slots(63, 64, 1_000)).tolist() == [1, UNKNOWN, UNKNOWN]
    addresses.learn(1_000, 3, "far")
    assert addresses.names(slots(63, 1_000)) == ["last", "far"]


def test_nothing_asked_is_nothing_told() -> None:
    assert Addresses(object()).lists(slots()).tolist() == []
