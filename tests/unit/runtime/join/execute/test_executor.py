"""What every executor is told, and that each of them can do what the protocol says."""

from __future__ import annotations

import pytest

from cqc.runtime.join.execute.executor import JoinExecutor, NodeCounts, Turn
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.rows_join import RowsJoin
from cqc.runtime.join.tree.tree_join import TreeJoin
from tests.support.join_nodes import PAIR, SECOND, SmallNode, assert_can_all


@pytest.mark.parametrize("executor", [FlatJoin, RowsJoin, TreeJoin])
def test_executors_are_alike_and_inherit_nothing(executor: type) -> None:
    assert executor.__mro__ == (executor, object)
    assert_can_all(executor, JoinExecutor)


def test_times_are_those_of_the_state() -> None:
    node = SmallNode(PAIR)
    node.push("a", [(1, 1, 1, 0.0), (2, 1, 1, 0.0), (3, 1, 1, 0.0)])
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    times = executor._context.times(0, 1, 2)
    assert times.tolist() == [2 * SECOND, 3 * SECOND]


def test_a_turn_begins_with_nothing_that_follows() -> None:
    turn = Turn(7, [])
    assert (turn.packet_first, turn.more) == (7, False)
    assert NodeCounts().phases is not NodeCounts().phases
