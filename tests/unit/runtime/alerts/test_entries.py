"""What is known of keys, by column."""

import numpy as np

from cqc.runtime.alerts.alert_kernels import DELIVERED, FIRING, ONCE, TOLD
from cqc.runtime.alerts.entries import Entries


def filled(count: int) -> Entries:
    entries = Entries()
    entries.reserve(count, count)
    entries.count = count
    entries.keys[:count] = np.arange(count) % 3
    entries.alert_of[:count] = np.arange(count) // 3
    return entries


def test_chains_are_in_the_order_of_alerts() -> None:
    entries = filled(9)
    entries.link(3)
    entry, found = entries.heads[1], []
    while entry >= 0:
        found.append(int(entries.alert_of[entry]))
        entry = entries.links[entry]
    assert found == [0, 1, 2]


def test_what_once_every_looks_back_at_is_remembered() -> None:
    entries = filled(3)
    terms = np.zeros((1, 6), np.int64)
    terms[0, ONCE] = 10
    entries.times[0, DELIVERED], entries.states[2] = 5, FIRING
    assert entries.remembered(terms, 14)[0].tolist() == [True, False, True]
    assert entries.remembered(terms, 15)[0].tolist() == [False, False, True]


def test_those_that_are_kept_leave_nothing_behind() -> None:
    entries = filled(9)
    entries.states[:9], entries.marks[:9] = FIRING, TOLD
    entries.keep(np.array([8, 1]), np.array([0, 1]), 2)
    assert entries.count == 2
    assert entries.alert_of[:2].tolist() == [2, 0]
    assert not entries.states[2:].any()
    assert not entries.marks[2:].any()
    assert entries.heads[0] == 0
    assert entries.nbytes > 0
