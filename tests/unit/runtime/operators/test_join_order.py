"""The order of a join: smallest fan-out first, from what is within reach and what was found before."""

from __future__ import annotations

from cqc.runtime.operators.join_order import JoinOrder


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


def test_it_decides_at_the_first_packet_and_then_now_and_again() -> None:
    order = _order()
    due = [order.is_due() for _ in range(40)]
    assert due[0]
    assert 1 < sum(due) < 5
