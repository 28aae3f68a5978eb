"""The plan of a node: what its slots ask for."""

from __future__ import annotations

from tests.support.join_nodes import SECOND, SmallNode

WIDE = "SELECT a.k AS x FROM a, b WHERE a.k = b.k WINDOW b.ts >= a.ts MAXWINDOW 9 SEC;"
NARROW = "SELECT a.k AS x FROM a, b WHERE a.k = b.k WINDOW b.ts >= a.ts MAXWINDOW 2 SEC;"


def test_tuples_are_kept_for_the_widest_window_of_all() -> None:
    plan = SmallNode(NARROW + WIDE).join.plan
    watermarks = {"a": 100 * SECOND, "b": 50 * SECOND}
    assert plan.purge_before("a", watermarks) == 41 * SECOND
    assert plan.purge_before("b", watermarks) == 100 * SECOND  # no a comes after it
    assert plan.reach_us(0) == {1: 9 * SECOND}


def test_without_a_window_nothing_may_go() -> None:
    plan = SmallNode("SELECT a.k AS x FROM a, b WHERE a.k = b.k BEGIN 0 END NOW;").join.plan
    assert plan.purge_before("a", {"b": 50}) is None
    assert plan.purge_before("a", {}) is not None  # b has no future tuples


def test_a_tuple_must_not_lack_what_is_compared() -> None:
    plan = SmallNode(
        WIDE + "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.v < b.v MAXWINDOW 2 SEC;"
    ).join.plan
    required = {each.column: int(each.slots[0]) for each in plan.required[0]}
    assert required == {1: 3, 3: 2}


def test_a_number_that_a_double_cannot_hold_outgrows_the_plan() -> None:
    node = SmallNode("SELECT a.k AS x FROM a, b WHERE a.l < 2 * b.l MAXWINDOW 9 SEC;")
    before = node.join.plan
    assert before.whole_limits
    assert not before.is_outgrown
    assert not before.of(node.join.parts[0]).checks
    node.push("a", [(1, 0, (1 << 62) + 1, 0.0)])
    after = node.join.plan
    assert after is not before
    assert len(after.of(node.join.parts[0]).checks) == 1  # by expression from now on
    assert len(node.push("b", [(1, 0, (1 << 61) + 1, 0.0)])) == 1
