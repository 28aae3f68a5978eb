"""Places of operators in a picture: nothing overlaps, and edges pass between boxes."""

from __future__ import annotations

import itertools
import random

import pytest

from cqc.compiler.graph.layers import is_waypoint, layout_of
from cqc.compiler.graph.nodes import Edge, Operator, OperatorKind

BOX, LANE = 58.0, 14.0


def random_graph(seed: int) -> tuple[list[Operator], list[Edge]]:
    chance = random.Random(seed)
    count = chance.randint(1, 25)
    operators = [Operator(f"n{at}", OperatorKind.SHARED_STATE, f"n{at}", 1) for at in range(count)]
    pairs = (
        {
            (a, b)
            for _ in range(2 * count)
            for a, b in [sorted(chance.sample(range(count), 2))]
            if count > 1
        }
        if count > 1
        else set()
    )
    edges = [Edge(f"n{a}", f"n{b}", feedback=False) for a, b in sorted(pairs)]
    edges += [
        Edge(each.target, each.source, feedback=True) for each in edges if chance.random() < 0.3
    ]
    return operators, edges


@pytest.mark.parametrize("seed", range(40))
def test_nothing_in_a_layer_overlaps(seed: int) -> None:
    layout = layout_of(*random_graph(seed), BOX, LANE)
    for layer in layout.layers:
        for above, below in itertools.pairwise(layer):
            room = sum(LANE if is_waypoint(each) else BOX for each in (above, below)) / 2
            assert layout.heights[below] - layout.heights[above] >= room - 1e-6
    assert min(layout.heights.values()) >= 0


@pytest.mark.parametrize("seed", range(40))
def test_an_edge_has_a_place_of_its_own_in_every_layer_that_it_passes(seed: int) -> None:
    operators, edges = random_graph(seed)
    layout = layout_of(operators, edges, BOX, LANE)
    layer_of = {id_: at for at, layer in enumerate(layout.layers) for id_ in layer}
    for number, edge in enumerate(edges):
        first, last = sorted((layer_of[edge.source], layer_of[edge.target]))
        assert first < last
        assert [layer_of[each] for each in layout.routes[number]] == list(range(first + 1, last))


def test_a_graph_without_operators_has_no_layers() -> None:
    assert layout_of([], [], BOX, LANE).layers == []
