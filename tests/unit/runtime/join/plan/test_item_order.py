"""The order of a join: smallest fan-out first, from what is within reach and what was found before."""

from __future__ import annotations

from cqc.runtime.join.plan.item_order import JoinOrder


def _order() -> JoinOrder:
    return JoinOrder(0, range(4), edges=frozenset({(0, 1)}), thetas=frozenset({(0, 2), (1, 3)}))


def test_an_equality_comes_before_a_comparison_and_that_before_time_alone() -> None:
    assert _order().choose({0: 0, 1: 100, 2: 100, 3: 100}) == (1, 2, 3)


def test_an_item_with_nothing_within_reach_comes_first() -> None:
    assert _order().choose({0: 0, 1: 100, 2: 100, 3: 0})[0] == 3


def test_what_was_found_before_changes_the_order() -> None:
    order = _order()
    reach = {0: 0, 1: 100, 2: 100, 3: 100}
    assert order.choose(reach)[0] == 1
    for _ in range(5):
        order.observe([0], 1, probes=10, found=500)
        order.observe([0, 1], 2, probes=500, found=5)
    assert order.choose(reach)[0] == 2


def test_a_step_that_others_take_is_preferred_up_to_twice_the_fan_out() -> None:
    reach = {0: 0, 1: 100, 2: 100, 3: 190}
    order = JoinOrder(0, range(4), edges=frozenset(), thetas=frozenset())
    assert order.choose(reach)[0] == 1
    assert order.choose(reach, {(0, 2)})[0] == 2
    assert order.choose(reach, {(0, 3)})[0] == 3
    assert order.choose({**reach, 3: 210}, {(0, 3)})[0] == 1
