"""Queues that give up: the past of a query that finds too much."""

from __future__ import annotations

import pytest

from cqc.runtime.join.execute.bounded_queues import BoundedQueues, TooMuchFound
from tests.support.join_nodes import PAIR, SmallNode, found_positions


def test_the_past_is_found_or_it_is_too_much() -> None:
    node = SmallNode(PAIR)
    node.push("a", [(1, 7, 0, 0.0)] * 20)
    node.push("b", [(1, 7, 0, 0.0)] * 20)
    seat = node.join.add(node.bodies[0], past=True)
    assert len(found_positions(node.join.past(seat, 400))) == 400
    with pytest.raises(TooMuchFound):
        node.join.past(seat, 399)
    assert len(found_positions(node.join.past(seat))) == 400


def test_no_rows_pass_several_levels_unseen() -> None:
    assert not BoundedQueues(5).lets_through
