from __future__ import annotations

from math import inf

import pytest

from cqc.runtime.adapt.measured_cost import MeasuredCost


def test_a_cost_follows_what_is_measured() -> None:
    cost = MeasuredCost(1.0, newest=0.5)
    for _ in range(20):
        cost.saw(3.0)
    assert cost.each == pytest.approx(3.0, rel=0.01)
    assert cost.measured == 20


def test_one_measurement_that_is_far_off_counts_a_few_times_what_is_known() -> None:
    cost = MeasuredCost(1.0, newest=0.5, spike=4.0)
    cost.saw(1_000.0)
    assert cost.each == pytest.approx(2.5)


def test_a_cost_that_was_wrong_by_far_is_corrected_within_a_few_measurements() -> None:
    cost = MeasuredCost(1.0)
    for _ in range(20):
        cost.saw(1_000.0)
    assert cost.each > 900


def test_counts_have_no_spikes() -> None:
    share = MeasuredCost(0.0, newest=0.5, spike=inf)
    share.saw(8.0)
    assert share.each == 4.0


def test_nothing_costs_less_than_the_least() -> None:
    cost = MeasuredCost(1.0, newest=1.0, least=0.25)
    cost.saw(-3.0)
    assert cost.each == 0.25


def test_what_was_known_can_be_forgotten() -> None:
    cost = MeasuredCost(1.0)
    cost.begin_at(100.0)
    assert cost.each == 100.0
