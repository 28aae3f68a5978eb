"""The choice between the two sides of the grouped filter, and answers that are the same from both."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.normal import AllOf, Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.adapt import settings
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.match_source import Costs, Side
from tests.support.formula_judge import packet_of

INTS = (ColumnType.BIGINT, ColumnType.BIGINT)


def test_the_side_that_should_cost_less_answers() -> None:
    costs = Costs()
    assert not costs.prefer_access(2e-3, 1e-3)
    assert costs.prefer_access(1e-3, 2e-3)


def test_what_a_side_really_costs_corrects_what_it_should() -> None:
    costs = Costs()
    for _ in range(20):
        costs.access.ran(1e-3, 5e-3)
    assert costs.access.each == pytest.approx(5.0, rel=0.1)
    assert not costs.prefer_access(1e-3, 2e-3)


def test_passes_too_short_to_measure_correct_nothing() -> None:
    side = Side(1.0)
    side.ran(0.0, 1.0)
    side.ran(settings.FILTER_SIDE.enough_s / 2, 1.0)
    assert (side.each, side.passes, side.seconds) == (1.0, 2, 2.0)


def test_the_other_side_answers_a_packet_now_and_then_and_never_when_it_is_far_dearer() -> None:
    for dearer, expected in ((1.1, True), (5.0, False)):
        costs = Costs()
        sides = [costs.prefer_access(dearer * 1e-3, 1e-3) for _ in range(500)]
        assert any(sides) == expected
        assert sum(sides) <= 500 / settings.FILTER_SIDE.again
        assert costs.controller.budget.spent_s <= settings.FILTER_SIDE.budget * 500 * 1e-3


def test_the_decision_says_which_side_answers_and_why() -> None:
    costs = Costs()
    assert costs.decision("filters(s)") is None
    costs.prefer_access(1e-3, 4e-3)
    decision = costs.decision("filters(s)")
    assert decision is not None
    assert decision.sentence.startswith(
        "filters(s) answers from the access index: 0.25 of the cost of the packet index"
    )


@pytest.mark.parametrize("costs", [Costs(access=Side(0.0)), Costs(packet=Side(0.0))])
def test_both_sides_give_counts_unions_rows_and_positions(costs: Costs) -> None:
    filters = StreamFilter(INTS, costs)
    for slot in range(40):
        equal = ValueAtom(0, ColumnType.BIGINT, (Interval(slot, True, slot, True),))
        above = ValueAtom(1, ColumnType.BIGINT, (Interval(slot, True, None, False),))
        filters.add(slot, AllOf((equal, above)))
    rows = [(at % 50, at % 37) for at in range(700)]
    lineage = filters.match(packet_of(INTS, rows))
    wanted = [[at for at, (k, v) in enumerate(rows) if k == slot <= v] for slot in range(40)]
    assert lineage.counts().tolist() == list(map(len, wanted))
    some = np.array([3, 17])
    counts = lineage.counts()[some]
    positions = lineage.source.positions(some, counts)
    assert positions.tolist() == wanted[3] + wanted[17]
    united = {at for each in wanted for at in each}
    assert np.flatnonzero(lineage.any_tuple()).tolist() == sorted(united)


@pytest.mark.parametrize("dense", [True, False])
def test_positions_are_the_same_whether_they_were_noted_or_are_found_again(dense: bool) -> None:
    """Where every tuple matches several slots there is no room for all notes."""
    filters = StreamFilter(INTS, Costs(access=Side(1e9)))
    least = 0 if dense else 990
    for slot in range(8):
        wanted = Interval(least + slot, True, None, False)
        filters.add(slot, ValueAtom(0, ColumnType.BIGINT, (wanted,), matches_null=False))
    values = np.arange(2_000) % 1_000
    packet = packet_of(INTS, [(int(value), 1) for value in values])
    counted, not_counted = filters.match(packet), filters.match(packet)
    chosen = np.array([5, 1, 6])
    expected = [np.flatnonzero(values >= least + slot) for slot in chosen.tolist()]
    sizes = np.array([len(each) for each in expected])
    assert counted.counts()[chosen].tolist() == sizes.tolist()
    for lineage in (counted, not_counted):
        found = lineage.source.positions(chosen, sizes)
        assert found.tolist() == np.concatenate(expected).tolist()
