"""Conditions that only an expression can tell: each takes its own slots away."""

from __future__ import annotations

import numpy as np

from tests.support.join_nodes import SmallNode

EITHER = "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND (a.l = 1 OR b.l = 1) MAXWINDOW 5 SEC;"


def test_a_condition_takes_its_slots_from_the_rows_where_it_is_not_true() -> None:
    node = SmallNode(EITHER)
    node.push("a", [(1, 7, 1, 0.0), (1, 7, 2, 0.0), (1, 7, None, 0.0)])
    node.push("b", [(1, 8, 2, 0.0)])
    (part,) = node.join.parts
    (residual,) = node.bodies[0].residuals
    positions = np.array([[0, 1, 2], [0, 0, 0]])
    lineage = np.full((3, 1), 3, np.uint64)
    part.checks.apply(positions, lineage, [residual.expression], np.array([[1]], np.uint64))
    assert lineage[:, 0].tolist() == [3, 2, 2]  # slot 1 has no such condition
    assert part.checks.evaluated == 3
