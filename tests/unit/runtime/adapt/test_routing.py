"""Routing policies: who holds tickets is visited first, and draws can be repeated."""

from __future__ import annotations

from collections import Counter

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.adapt.routing import Fixed, Lottery, order_by, policy_of

CHAIN = frozenset({(0, 1), (1, 2)})
STAR = frozenset({(0, 1), (0, 2), (0, 3)})
PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, l BIGINT);
CREATE STREAM b (ts BIGINT, k BIGINT);
CREATE STREAM c (ts BIGINT, l BIGINT);
SELECT a.k AS x, b.k AS y, c.l AS z FROM a, b, c WHERE a.k = b.k AND a.l = c.l MAXWINDOW 20 SEC;
"""


def test_the_fixed_order_follows_equalities() -> None:
    assert order_by(Fixed(), 2, range(3), CHAIN) == (1, 0)
    assert order_by(Fixed(), 0, range(3), CHAIN) == (1, 2)


def test_items_that_nothing_connects_come_last() -> None:
    assert order_by(Fixed(), 1, range(3), frozenset({(1, 2)})) == (2, 0)


def test_the_lottery_prefers_the_item_that_returns_least() -> None:
    lottery = Lottery(1)
    for _ in range(20):
        lottery.learn(1, 100, 90)
        lottery.learn(2, 100, 5)
        lottery.learn(3, 100, 300)
    first = Counter(order_by(lottery, 0, range(4), STAR)[0] for _ in range(400))
    assert first[2] > 0.8 * 400
    assert first[1] > first[3]


def test_the_lottery_follows_when_selectivities_swap() -> None:
    lottery = Lottery(1)
    for _ in range(20):
        lottery.learn(1, 100, 0)
        lottery.learn(2, 100, 100)
    for _ in range(15):
        lottery.learn(1, 100, 100)
        lottery.learn(2, 100, 0)
    first = Counter(order_by(lottery, 0, range(4), STAR)[0] for _ in range(400))
    assert first[2] > first[1]


@pytest.mark.parametrize("routing", ["lottery", "random"])
def test_the_same_seed_draws_the_same_orders(routing: str) -> None:
    one, other = policy_of(routing, 0), policy_of(routing, 0)
    orders = [order_by(one, 0, range(4), STAR) for _ in range(20)]
    assert orders == [order_by(other, 0, range(4), STAR) for _ in range(20)]
    assert len(set(orders)) > 1


@pytest.mark.parametrize("routing", ["lottery", "random", "fixed"])
def test_orders_and_tickets_are_visible_in_the_measurement(routing: str) -> None:
    engine = cqc.Engine(
        cqc.compile(PROGRAM), strategy=Strategy(feedback="off", routing=routing), keep_past=False
    )
    for second in range(40):
        engine.push("a", [{"ts": second, "k": second % 2, "l": second % 7}])
        engine.push("b", [{"ts": second, "k": second % 2}])
        engine.push("c", [{"ts": second, "l": 50}])
    (detail,) = [each.detail for each in engine.measure() if each.name.startswith("join")]
    places = {name: place for name, place in detail.items() if name.endswith("place")}
    assert len(places) == 6
    tickets = {name: held for name, held in detail.items() if name.endswith("tickets")}
    assert bool(tickets) == (routing == "lottery")
    if routing == "lottery":
        assert tickets["from 0 to 2 tickets"] > tickets.get("from 0 to 1 tickets", 0)
