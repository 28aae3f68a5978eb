"""Shapes of join trees: the plans of the JIT paper's Table II, and connected items first."""

from __future__ import annotations

import pytest

from cqc.compiler.meaning.normal import EquiJoin
from cqc.compiler.physical.tree_shape import Shape, bushy, items_of, left_deep, order_by_shape


def clique(count: int) -> list[EquiJoin]:
    return [EquiJoin(one, two, two, one) for one in range(count) for two in range(one + 1, count)]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (4, ((0, 1), (2, 3))),
        (5, (((0, 1), (2, 3)), 4)),
        (6, (((0, 1), (2, 3)), (4, 5))),
        (7, (((0, 1), (2, 3)), ((4, 5), 6))),
        (8, (((0, 1), (2, 3)), ((4, 5), (6, 7)))),
    ],
)
def test_bushy_plans_of_cliques_are_those_of_the_paper(count: int, expected: Shape) -> None:
    assert bushy(count, clique(count)) == expected


def test_a_left_deep_plan_of_a_clique_takes_one_item_after_the_other() -> None:
    assert left_deep(4, clique(4)) == (((0, 1), 2), 3)


def test_connected_items_meet_first() -> None:
    edges = [EquiJoin(0, 0, 3, 0), EquiJoin(3, 0, 1, 0), EquiJoin(1, 0, 2, 0)]
    assert left_deep(4, edges) == (((0, 3), 1), 2)
    assert bushy(4, edges) == ((0, 3), (1, 2))


def test_items_are_listed_from_left_to_right() -> None:
    assert items_of(((2, 0), (1, 3))) == (2, 0, 1, 3)


def test_a_tuple_meets_what_is_beside_it_first() -> None:
    shape: Shape = (((0, 1), (2, 3)), (4, 5))
    assert order_by_shape(shape, 3, clique(6)) == (2, 0, 1, 4, 5)


def test_in_a_node_of_more_inputs_a_tuple_meets_the_other_inputs_next() -> None:
    shape: Shape = ((0, (1, 2), 3), 4)
    assert items_of(shape) == (0, 1, 2, 3, 4)
    assert order_by_shape(shape, 2, clique(5)) == (1, 0, 3, 4)
