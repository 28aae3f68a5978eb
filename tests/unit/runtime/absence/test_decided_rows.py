"""Decided rows are read like what any operator found: by rule, each in result-time order."""

from __future__ import annotations

import numpy as np

from cqc.runtime.absence.decided_rows import DecidedRows, DecidedSeat
from cqc.runtime.filter.selections import SlotCounts


def test_rows_are_given_by_rule_in_the_order_of_their_times() -> None:
    source = object()
    counts = SlotCounts()
    seats = {rule: DecidedSeat(None, rule, 0, counts) for rule in (1, 4)}  # type: ignore[arg-type]
    found = DecidedRows(
        source, seats, [], np.array([4, 1, 4]), [np.array([7, 8, 9])], np.array([30, 20, 10])
    )
    found.count(counts)
    by_slot = found.by_slot()
    assert by_slot.slots.tolist() == [1, 4]
    assert found.positions[0].tolist() == [8, 9, 7]
    assert found.ts_us.tolist() == [20, 10, 30]
    assert [(each.rule, each.results) for each in found.hits()] == [(1, 1), (4, 2)]
    assert found.rows_of(seats[4]).tolist() == [1, 2]
    assert found.matches(np.array([4])).rows.tolist() == [1, 2]
