"""A join node: members, plan and executor, and what happens to them when one of them changes."""

from __future__ import annotations

import pytest

from cqc.compiler.physical.executors import Flat, Tree
from cqc.runtime.join.choice.build_join import build_join
from tests.support.join_nodes import CHAIN, PAIR, SmallNode, found_positions, packet_of

NARROWER = "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.v > 5 MAXWINDOW 5 SEC;"


def test_the_plan_is_made_anew_when_somebody_comes_or_goes() -> None:
    node = SmallNode(PAIR)
    before = node.join.plan
    assert node.join.plan is before
    seat = node.join.add(node.bodies[0])
    after = node.join.plan
    assert after is not before
    node.join.remove(seat)
    assert node.join.plan is not after


def test_only_what_somebody_wants_is_stored_and_nulls_match_nobody() -> None:
    node = SmallNode(NARROWER)
    packet = packet_of([(1, 7, 0, 1.0), (1, 7, 0, 9.0), (1, None, 0, 9.0)])
    assert node.join.admit("a", packet).tolist() == [False, True, False]


@pytest.mark.parametrize("executor", [Flat(), Tree(((0, 1), 2), "off")], ids=["flat", "tree"])
def test_another_executor_takes_over_members_and_counters(executor: Flat | Tree) -> None:
    node = SmallNode(CHAIN)
    node.push("a", [(1, 1, 0, 0.0)])
    node.push("b", [(1, 1, 2, 0.0)])
    host = node.bodies[0].host
    assert host is not None
    other = build_join(host, executor, node.states)
    other.adopt(node.join)
    node.join = other
    assert found_positions(node.push("c", [(1, 0, 2, 0.0)])) == [(0, 0, 0)]
    assert node.seats[0].results == 1
    measured = other.measure()
    assert (measured.tuples_in, measured.tuples_out) == (3, 1)
    assert other.stored == {"a": 0, "b": 0, "c": 1}  # since the executor is there


def test_hosts_that_are_gathered_keep_their_lineage_and_results() -> None:
    node = SmallNode(PAIR + CHAIN)
    node.push("a", [(1, 1, 0, 0.0)])
    node.push("b", [(1, 1, 2, 0.0)])
    pair, chain = node.join.parts
    apart = build_join(chain.host, Flat(), node.states)
    apart.gather(node.join, {chain.host.number})
    alone = build_join(pair.host, Flat(), node.states)
    alone.gather(node.join, {pair.host.number})
    alone.inherit(node.join)
    assert (alone.measure().tuples_out, apart.measure().tuples_out) == (1, 0)
    assert alone.tuples_in == 2
    node.join.close()
    node.join = apart
    assert found_positions(node.push("c", [(1, 0, 2, 0.0)])) == [(0, 0, 0)]


def test_why_a_node_stands_apart_is_told() -> None:
    node = SmallNode(PAIR)
    node.join.why_apart = "from join0+1: it costs less"
    assert node.join.measure().detail["split from join0+1: it costs less"] == 1
    assert node.join.is_plain
