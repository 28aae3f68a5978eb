"""Cells by tuple and rule stay what they are when rules come, old tuples go, and they are hashed at last."""

from __future__ import annotations

import numpy as np

from cqc.runtime.absence.guard_entries import FAR_US
from cqc.runtime.absence.tuple_bits import TupleBits
from cqc.runtime.absence.tuple_entries import TupleEntries


class Times:
    """A state whose tuples have their position as event time."""

    first = 0

    def ts_at(self, positions: np.ndarray) -> np.ndarray:
        return positions


def keys(*pairs: tuple[int, int]) -> np.ndarray:
    return np.array(pairs, np.int64)


def test_cells_are_found_by_rule_and_tuple() -> None:
    entries = TupleEntries()
    entries.widen(3)
    cells = entries.add(keys((0, 40), (2, 41), (1, 45)), np.zeros(3, np.int64))
    entries.mark(cells[:2], np.array([7, 9]))
    entries.mark(cells[:1], np.array([5]))
    assert entries.best_of(cells).tolist() == [5, 9, FAR_US]
    assert entries.find(keys((0, 40), (0, 39), (0, 46))).tolist() == [cells[0], -1, -1]
    entries.add(keys((0, 30)), np.zeros(1, np.int64))  # older than all
    assert entries.is_reached(cells).tolist() == [True, True, False]
    assert entries.find(keys((2, 41), (1, 45))).tolist() == cells[1:].tolist()


def test_cells_follow_when_rules_come_and_tuples_go() -> None:
    entries = TupleBits()
    cells = entries.add(keys(*((0, at) for at in range(2_000))), np.zeros(2_000, np.int64))
    entries.mark(cells[1_500:1_600], np.zeros(100, np.int64))
    entries.seal(cells[1_700:1_701])
    change = entries.widen(70)
    assert change is not None
    cells = change(cells)
    assert entries.is_reached(cells).sum() == 100
    entries.forget(1_400, Times())  # type: ignore[arg-type]
    cells = cells[1_400:]
    assert np.flatnonzero(entries.is_reached(cells)).tolist() == list(range(100, 200))
    assert np.flatnonzero(entries.is_sealed(cells)).tolist() == [300]
    hashed = entries.hashed(Times())  # type: ignore[arg-type]
    found = hashed.find(keys((0, 1_500), (0, 1_700), (0, 1_800)))
    assert hashed.is_reached(found[:2]).tolist() == [True, False]
    assert hashed.is_sealed(found[:2]).tolist() == [False, True]
    assert found[2] == -1
