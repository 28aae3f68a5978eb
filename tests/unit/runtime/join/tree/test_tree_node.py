"""Nodes of a tree: how rows find those beside them, and which columns that takes."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.tree.tree_node import Node, columns_between, key_columns_above
from cqc.runtime.join.tree.tree_state import TreeState

# A.k = B.k, B.k = C.k and what follows, A.k = C.k
EDGES = [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (2, 0))]


def leaf(item: int) -> Node:
    return Node(TreeState([item], [(item, 0)], 1, np.zeros((1, 2), np.int64)), ())


def test_equalities_that_follow_from_others_are_not_compared_again() -> None:
    assert columns_between(EDGES, (0, 1), (2,)) == ([(1, 0)], [(2, 0)])
    assert columns_between(EDGES, (0,), (1,)) == ([(0, 0)], [(1, 0)])
    assert columns_between(EDGES[:1], (0,), (2,)) == ([], [])


def test_a_state_keeps_the_columns_that_something_above_compares() -> None:
    assert key_columns_above((0, 1), EDGES) == [(1, 0), (0, 0)]
    assert key_columns_above((0, 1, 2), EDGES) == []


def test_nodes_know_their_places() -> None:
    one, two, three = leaf(0), leaf(1), leaf(2)
    pair = Node(TreeState([0, 1], [(1, 0)], 1, np.zeros((2, 2), np.int64)), (one, two))
    root = Node(TreeState([0, 1, 2], [], 1, np.zeros((3, 2), np.int64)), (pair, three))
    assert root.all_nodes() == [one, two, pair, three, root]
    assert root.leaves() == [one, two, three]
    assert two.siblings == [one]
    assert (two.place, three.place) == (1, 1)
    assert pair.pairs is not None
    assert one.pairs is None
