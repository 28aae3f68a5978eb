"""Where gates are placed: before the lowest input that has their columns, and never so that two rows wait for each other."""

from __future__ import annotations

from cqc.compiler.physical.executors import Tree
from cqc.runtime.join.tree.tree_join import TreeJoin
from tests.support.join_nodes import TRIANGLE, SmallNode


def test_rows_and_pairs_wait_for_what_is_above_and_are_let_go() -> None:
    node = SmallNode(TRIANGLE, Tree(((0, 1), 2), "exact"))
    executor = node.join.executor
    assert isinstance(executor, TreeJoin)
    node.push("c", [(1, 99, 99, 0.0)])
    node.push("a", [(1, 7, 20, 0.0)])  # no c has k = 20
    node.push("b", [(1, 7, 99, 0.0)])
    detail = node.join.measure().detail
    assert detail["a for c suspended"] == 1
    assert detail["b for c suspended"] == 0
    assert executor.partial_results == 0
    node.push("c", [(1, 20, 99, 0.0)])
    detail = node.join.measure().detail
    assert (detail["a for c resumed"], detail["a for c blacklisted"]) == (1, 0)
    assert executor.partial_results == 1
    assert node.seats[0].results == 1


def test_a_pair_that_no_third_tuple_has_together_is_held() -> None:
    node = SmallNode(TRIANGLE, Tree(((0, 1), 2), "exact"))
    node.push("c", [(1, 20, 99, 0.0), (1, 21, 30, 0.0)])
    node.push("a", [(1, 7, 20, 0.0)])
    node.push("b", [(1, 7, 30, 0.0)])  # each is asked for, but not by the same c
    detail = node.join.measure().detail
    assert (detail["pairs held"], detail["partial results"]) == (1, 0)
    node.push("c", [(1, 20, 30, 0.0)])
    assert node.join.measure().detail["pairs resumed"] == 1
    assert node.seats[0].results == 1
