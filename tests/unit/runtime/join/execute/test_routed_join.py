"""Steps in the order of a policy: drawn now and then, told what each item took and returned."""

from __future__ import annotations

from cqc.compiler.physical.executors import Routed
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.routed_join import RoutedSteps
from tests.support.join_nodes import CHAIN, SmallNode, found_positions


def test_the_policy_learns_from_every_step_and_its_tickets_are_told() -> None:
    node = SmallNode(CHAIN, Routed("lottery"))
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    assert isinstance(executor.steps, RoutedSteps)
    node.push("a", [(1, 1, 0, 0.0)])
    node.push("c", [(1, 0, 2, 0.0)])
    assert found_positions(node.push("b", [(1, 1, 2, 0.0)])) == [(0, 0, 0)]
    detail = node.join.measure().detail
    assert {detail["from 1 to 0 place"], detail["from 1 to 2 place"]} == {0, 1}
    assert "from 1 to 0 tickets" in detail
    assert executor.steps.go_through(None, None, 0, None) is None  # type: ignore[arg-type]  # never looked at


def test_an_order_goes_from_item_to_item_that_an_equality_connects() -> None:
    node = SmallNode(CHAIN, Routed("fixed"))
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    assert executor.steps.orders == {0: (1, 2), 1: (0, 2), 2: (1, 0)}
