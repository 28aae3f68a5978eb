"""All bodies over one stream: their slots, what each found, and bodies that are suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc
from cqc.runtime.filter.selections import Selections, SlotCounts
from cqc.runtime.metrics.operators import FilterMetrics
from tests.support.formula_judge import packet_of

if TYPE_CHECKING:
    from cqc.compiler.graph.nodes import Body
    from cqc.runtime.columns.packet import Packet

import numpy as np


def bodies(*conditions: str) -> list[Body]:
    text = "CREATE STREAM s (ts BIGINT, x BIGINT, y BIGINT);"
    text += "".join(f"SELECT x FROM s WHERE {condition};" for condition in conditions)
    graph = cqc.compile(text).graph
    return [graph.queries[f"q{number}"].body for number in range(1, len(conditions) + 1)]


def rows(selections: Selections, *values: tuple[int, int]) -> Packet:
    types = tuple(column.type for column in selections.relation.columns)
    return packet_of(types, [(at, *each) for at, each in enumerate(values)])


def test_each_body_finds_its_rows_and_its_results_are_counted() -> None:
    low, high, never = bodies("x < 5", "x > 3 AND y = 1", "x > 100")
    selections = Selections(low.relations[0])
    seats = [selections.add(each) for each in (low, high, never)]
    found = selections.process(rows(selections, (1, 1), (4, 1), (9, 1), (9, 2)), 100)
    assert [found.rows_of(seat).tolist() for seat in seats] == [[0, 1], [1, 2], []]
    assert [seat.results for seat in seats] == [2, 2, 0]
    assert found.hits() == seats[:2]
    assert found.positions[0].tolist() == [100, 101, 102, 103]


def test_a_freed_slot_is_used_again_and_begins_to_count_at_nothing() -> None:
    low, high = bodies("x < 5", "x > 3")
    selections = Selections(low.relations[0])
    gone = selections.add(low)
    selections.process(rows(selections, (1, 0), (2, 0)), 0)
    selections.remove(gone)
    assert not selections.holds(gone)
    seat = selections.add(high)
    assert (seat.slot, seat.results, len(selections)) == (gone.slot, 0, 1)
    selections.process(rows(selections, (1, 0), (9, 0)), 2)
    assert seat.results == 1


def test_a_suspended_body_finds_nothing_until_it_is_resumed() -> None:
    (low,) = bodies("x < 5")
    selections = Selections(low.relations[0])
    seat = selections.add(low)
    selections.suspend(seat)
    selections.process(rows(selections, (1, 0)), 0)
    assert seat.results == 0
    selections.resume(seat)
    selections.process(rows(selections, (1, 0)), 1)
    assert seat.results == 1


def test_the_past_is_found_for_one_body_and_counted_for_nobody() -> None:
    low, high = bodies("x < 5", "x > 3")
    selections = Selections(low.relations[0])
    seat = selections.add(low)
    selections.add(high)
    found = selections.past(seat, rows(selections, (9, 0), (1, 0)), 7)
    (own,) = found.hits()
    assert found.rows_of(own).tolist() == [1]
    assert seat.results == 0


def test_matches_of_many_slots_come_together() -> None:
    every, none, low = bodies("x >= 0", "x < 0", "x < 5")
    selections = Selections(every.relations[0])
    slots = [selections.add(each).slot for each in (every, none, low)]
    found = selections.process(rows(selections, (1, 0), (9, 0)), 0)
    matches = found.matches(np.array(slots))
    assert matches.rows.tolist() == [0, 1, 0]


def test_metrics_tell_slots_tuples_and_what_was_visited() -> None:
    low, both = bodies("x < 5", "x < 5 AND y = 1")
    selections = Selections(low.relations[0])
    for each in (low, both):
        selections.add(each)
    selections.process(rows(selections, (1, 1), (9, 1), (1, 2)), 0)
    measured = selections.measure()
    assert isinstance(measured, FilterMetrics)
    assert (measured.name, measured.slots) == ("filters(s)", 2)
    assert (measured.tuples_in, measured.tuples_out) == (3, 3)
    assert {visit.name for visit in measured.visits} == {"x", "y"}
    assert measured.detail["x visits"] == 3


def test_counts_grow_with_the_slots() -> None:
    counts = SlotCounts()
    counts.add(np.arange(200))
    counts.add(np.ones(3, np.int64))
    assert [counts.of(slot) for slot in (0, 2, 199)] == [1, 3, 199]
    counts.clear(199)
    counts.clear(500)
    assert (counts.of(199), counts.of(500)) == (0, 0)
