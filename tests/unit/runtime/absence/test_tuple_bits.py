"""Marks reach tuples for many rules at once, and what they reached is taken off rows that wait."""

from __future__ import annotations

import numpy as np

from cqc.runtime.absence.tuple_bits import TupleBits


def words(*rows: tuple[int, int]) -> np.ndarray:
    return np.array(rows, np.uint64)


def test_marks_of_many_rules_reach_the_tuples_that_have_cells() -> None:
    entries = TupleBits()
    entries.widen(70)
    entries.have(np.array([40, 43]))
    entries.mark_rows(np.array([39, 40, 43, 44]), words((7, 7), (5, 0), (0, 1), (7, 7)))
    waiting = words((7, 1), (7, 1), (7, 1))
    entries.take_off(np.array([40, 41, 43]), waiting)
    assert waiting.tolist() == [[2, 1], [7, 1], [7, 0]]
    cells = entries.find(np.array([(0, 40), (1, 40), (64, 43), (0, 44)]))
    assert cells[-1] == -1
    assert entries.is_reached(cells[:3]).tolist() == [True, False, True]


def test_bits_stay_where_they_are_when_rules_come_and_older_tuples_too() -> None:
    entries = TupleBits()
    entries.have(np.array([10]))
    entries.mark_rows(np.array([10]), np.array([[2]], np.uint64))
    entries.seal(entries.find(np.array([(1, 10)])))
    entries.widen(200)
    entries.have(np.array([7, 900]))
    cells = entries.find(np.array([(1, 10), (0, 10), (1, 7), (199, 900)]))
    assert entries.is_reached(cells).tolist() == [True, False, False, False]
    assert entries.is_sealed(cells).tolist() == [True, False, False, False]
