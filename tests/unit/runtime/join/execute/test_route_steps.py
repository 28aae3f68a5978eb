"""The steps of a flat join: those of each kind can do what the protocol says."""

from __future__ import annotations

import pytest

from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.route_steps import PlainSteps, RouteSteps
from cqc.runtime.join.execute.routed_join import RoutedSteps
from tests.support.join_nodes import assert_can_all


@pytest.mark.parametrize("steps", [PlainSteps, RoutedSteps, DemandSteps])
def test_steps_are_alike_and_inherit_nothing(steps: type) -> None:
    assert steps.__mro__ == (steps, object)
    assert_can_all(steps, RouteSteps)


def test_plain_steps_force_nothing_and_keep_nothing() -> None:
    steps = PlainSteps()
    assert steps.orders == {}
    assert steps.goes_through
    assert steps.may_be_shared
