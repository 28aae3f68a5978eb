"""Which members of a family a result belongs to: by rank, and by expression where numbers are too large for that."""

from __future__ import annotations

import pytest

from tests.support.join_nodes import SmallNode

FAMILY = "".join(
    f"SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.l < {factor} * b.l MAXWINDOW 5 SEC;"
    for factor in (1, 2, 3)
)


@pytest.mark.parametrize("scale", [1, 1 << 55], ids=["by rank", "by expression"])
def test_a_result_is_of_the_members_whose_condition_holds(scale: int) -> None:
    node = SmallNode(FAMILY)
    node.push("a", [(1, 7, value * scale, 0.0) for value in (5, 15, 25, 35)])
    found = node.push("b", [(1, 7, 10 * scale, 0.0)])
    (slot,) = node.join.slots
    assert (slot.number in node.join.plan.inexact_families) == (scale > 1)
    assert [seat.results for seat in node.seats] == [1, 2, 3]
    rows = [len(found[0].rows_of(seat)) for seat in node.seats]
    assert rows == [1, 2, 3]
