from __future__ import annotations

from cqc.runtime.adapt.budget import Budget


def test_a_trial_waits_until_the_share_of_the_work_pays_for_it() -> None:
    budget = Budget(0.02)
    budget.worked(1.0)
    assert budget.allows(0.02)
    assert not budget.allows(0.021)


def test_the_first_trial_is_allowed_and_its_loss_tells_when_the_next_one_is() -> None:
    budget = Budget(0.02)
    assert budget.allows_another()
    budget.tried(0.03)
    budget.lost(0.01)  # to go back
    budget.worked(1.0)
    assert not budget.allows_another()
    assert not budget.allows_another(0.9)
    assert budget.allows_another(1.1)


def test_a_trial_that_won_costs_nothing() -> None:
    budget = Budget(0.02)
    budget.tried(-5.0)
    assert (budget.loss_s, budget.spent_s) == (0.0, 0.0)
    assert budget.allows_another()


def test_however_often_it_is_asked_trials_take_no_more_than_their_share() -> None:
    budget, worked = Budget(0.02), 0.0
    for number in range(10_000):
        extra = 0.001 * (1 + number % 7)
        if budget.allows(extra):
            budget.tried(extra)
        budget.worked(0.01)
        worked += 0.01
    assert 0.01 * worked < budget.spent_s <= 0.02 * worked
