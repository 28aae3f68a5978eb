"""Steps on demand: a pair goes on only when what it must still meet is there."""

from __future__ import annotations

from cqc.compiler.physical.executors import OnDemand
from cqc.runtime.join.execute.demand_join import Demand, Demands, DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.step.presence import Presences
from tests.support.join_nodes import TRIANGLE, SmallNode, found_positions


def steps_of(node: SmallNode) -> DemandSteps:
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    assert isinstance(executor.steps, DemandSteps)
    return executor.steps


def test_a_pair_that_no_third_tuple_fits_is_not_made() -> None:
    node = SmallNode(TRIANGLE, OnDemand(((0, 1), 2), measured=False))
    node.push("c", [(1, 20, 30, 0.0)])  # meets a.l = 20 and b.l = 30
    node.push("a", [(1, 7, 20, 0.0), (1, 7, 21, 0.0)])
    found = node.push("b", [(1, 7, 30, 0.0)])
    assert found_positions(found) == [(0, 0, 0)]
    steps = steps_of(node)
    assert (steps.partial_results, steps.dropped) == (1, 1)
    assert node.join.measure().detail["partial results not made"] == 1


def test_what_comes_later_finds_the_pair_by_its_own_way() -> None:
    node = SmallNode(TRIANGLE, OnDemand(((0, 1), 2), measured=False))
    node.push("a", [(1, 7, 20, 0.0)])
    assert node.push("b", [(1, 7, 30, 0.0)]) == []
    assert found_positions(node.push("c", [(1, 20, 30, 0.0)])) == [(0, 0, 0)]


def test_demands_that_drop_little_are_not_worth_asking() -> None:
    demands = Demands([Demand(0, ((0, 0), (1, 0)), 5), Demand(1, ((0, 0), (1, 0)), 5)], Presences())
    assert not demands.is_due()
    demands.asked = 10_000
    demands.dropped[:] = 100, 9_000
    assert demands.is_due()
    assert [each.presence for each in demands.worthy] == [1]
    assert not demands.is_due()  # not before twice as many were asked
