"""A host at a node: its own order of items, and the node's."""

from __future__ import annotations

from cqc.runtime.join.step.theta_forms import theta_form
from tests.support.join_nodes import PAIR, SmallNode

LATER = "SELECT b.k AS x FROM b, c WHERE b.l = c.l AND b.v < c.v MAXWINDOW 5 SEC;"


def test_conditions_of_a_host_speak_of_the_nodes_items() -> None:
    node = SmallNode(PAIR + LATER)
    first, second = node.join.parts
    assert first.items == (0, 1)
    assert second.items == (1, 2)
    (edge,) = second.equi_joins
    assert {edge.left_item, edge.right_item} == {1, 2}
    shape = theta_form(node.bodies[1].theta_joins[0]).shape
    assert {shape.left_item, shape.right_item} == {0, 1}  # of the host
    moved = second.shape(shape)
    assert {moved.left_item, moved.right_item} == {1, 2}
    assert [each.item for each in second.stream_inputs] == [1, 2]
