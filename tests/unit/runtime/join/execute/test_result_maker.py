"""From combinations to results: whole rows, rows of some hosts, and rows that are only counted."""

from __future__ import annotations

import pytest

from cqc.runtime.join.choice.build_join import JoinOptions
from tests.support.join_nodes import PAIR, SmallNode, found_positions

CHECKED = "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.l % 2 = b.l % 2 MAXWINDOW 5 SEC;"


@pytest.mark.parametrize("counts_only", [False, True])
def test_what_is_only_counted_is_counted_for_the_same_seats(counts_only: bool) -> None:
    node = SmallNode(PAIR, options=JoinOptions(counts_only=counts_only))
    node.push("a", [(1, 7, at, 0.0) for at in range(6)])
    found = node.push("b", [(1, 7, 0, 0.0), (1, 8, 0, 0.0)])
    assert len(found_positions(found)) == (0 if counts_only else 6)
    assert node.seats[0].results == 6
    assert node.join.measure().tuples_out == 6
    assert node.join.parts[0].results == 6


def test_conditions_that_are_left_are_checked_before_anything_is_counted() -> None:
    node = SmallNode(PAIR + CHECKED)
    node.push("a", [(1, 7, at, 0.0) for at in range(6)])
    node.push("b", [(1, 7, 0, 0.0)])
    assert [seat.results for seat in node.seats] == [6, 3]
    alone = SmallNode(CHECKED)
    alone.push("a", [(1, 7, 1, 0.0)])
    assert alone.push("b", [(1, 7, 0, 0.0)]) == []
