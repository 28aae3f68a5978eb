"""The controller: hysteresis, arms that are measured again within a budget, trials, and arms that lose and rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.settings import Rule

RULE = Rule(clearly=0.8, better=0.9, again=4, nearly=3.0, losses=2, stretch=2, longest=100)


def test_the_present_arm_is_left_only_for_one_that_is_clearly_cheaper() -> None:
    controller = Controller(RULE, "a")
    assert controller.prefer({"a": 1.0, "b": 0.81}) == "a"
    assert controller.prefer({"a": 1.0, "b": 0.79}) == "b"
    assert controller.prefer({"a": 0.9, "b": 1.0}) == "b"
    assert (controller.changes, controller.decisions) == (1, 3)


def test_an_arm_that_is_no_longer_offered_is_left_for_the_best_one() -> None:
    controller = Controller(RULE, "gone")
    assert controller.prefer({"a": 2.0, "b": 1.0}) == "b"


def decisions(controller: Controller[str], costs: dict[str, float], count: int) -> list[str]:
    found = []
    for _ in range(count):
        found.append(controller.decide(costs))
        controller.budget.worked(costs[found[-1]])
    return found


def test_an_arm_that_rests_is_measured_again_when_the_work_since_pays_for_it() -> None:
    controller = Controller(RULE, "a")
    found = decisions(controller, {"a": 1.0, "b": 1.5}, 200)
    tried = [at for at, arm in enumerate(found) if arm == "b"]
    # Half a unit more, of which 2 % of the work since the last time must pay: every 25 decisions.
    assert len(tried) == pytest.approx(200 / 26, abs=1)
    assert controller.arm == "a"
    assert controller.budget.spent_s <= 0.02 * 200


def test_an_arm_that_costs_nearly_the_same_is_measured_after_few_decisions() -> None:
    found = decisions(Controller(RULE, "a"), {"a": 1.0, "b": 1.0}, 10)
    assert [at for at, arm in enumerate(found) if arm == "b"] == [3, 7]


def test_an_arm_that_is_far_dearer_is_never_measured_again() -> None:
    assert set(decisions(Controller(RULE, "a"), {"a": 1.0, "b": 3.1}, 5_000)) == {"a"}


def test_only_arms_that_are_worth_it_are_measured_again() -> None:
    controller = Controller(RULE, "a")
    costs = {"a": 1.0, "b": 1.0, "c": 1.0}
    found = {controller.decide(costs, ("b",)) for _ in range(50)}
    assert found == {"a", "b"}


def test_a_trial_that_is_measured_to_be_better_stays() -> None:
    controller = Controller(RULE, "a")
    controller.pause.longer()
    controller.begin_trial("b", 1.0)
    assert controller.is_trying
    assert controller.judge(0.85) == (True, 1.0)
    assert (controller.arm, controller.returns, controller.pause.length) == ("b", 0, 2)


@pytest.mark.parametrize(("cost", "is_void"), [(0.95, False), (0.5, True)])
def test_a_trial_that_is_no_better_or_void_goes_back_and_the_next_waits_longer(
    cost: float, is_void: bool
) -> None:
    controller = Controller(RULE, "a")
    controller.begin_trial("b", 1.0)
    assert controller.judge(cost, is_void=is_void) == (False, 1.0)
    assert (controller.arm, controller.changes, controller.returns) == ("a", 1, 1)
    assert controller.pause.length == 8


def test_a_trial_that_is_far_worse_need_not_go_on() -> None:
    controller = Controller(RULE, "a")
    assert not controller.is_far_worse(100.0)  # nothing is tried
    controller.begin_trial("b", 1.0)
    assert not controller.is_far_worse(1.9)
    assert controller.is_far_worse(2.1)


def test_an_arm_is_given_up_when_it_loses_in_a_row_and_rests_ever_longer() -> None:
    controller = Controller(RULE, "on")
    lost = [controller.loses(lost=each) for each in (True, False, True, True)]
    assert lost == [False, False, False, True]
    assert [controller.is_rested() for _ in range(2)] == [False, True]
    for _ in range(2):
        controller.loses(lost=True)
    assert [controller.is_rested() for _ in range(4)] == [False, False, False, True]


def test_an_arm_that_lost_much_rests_until_work_has_paid_for_it() -> None:
    controller = Controller(replace(RULE, stretch=1), "on")
    controller.loses(lost=True)
    controller.loses(lost=True)
    controller.budget.tried(1.0)
    controller.budget.worked(49.0)
    assert not controller.is_rested()
    controller.budget.worked(1.0)
    assert controller.is_rested()


def test_costs_are_measured_as_the_rule_says() -> None:
    controller = Controller(replace(RULE, newest=0.25, spike=2.0), "a")
    cost = controller.cost(1.0)
    cost.saw(9.0)
    assert cost.each == pytest.approx(1.25)
