"""Places for operators: layers from left to right, neighbours near each other, edges around boxes (Sugiyama's method in small).

An operator's layer is one more than that of its farthest input. An edge that passes over layers gets a *waypoint* in each of
them: a place of its own between the boxes, so that no edge runs through a box. Within a layer, a few sweeps order all of them
by the mean place of their neighbours, which untangles most crossings, and then move them to the height of their neighbours
as far as the order allows. Feedback edges follow the data edges and decide nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cqc.compiler.graph.nodes import Edge, Operator

_ORDERING_SWEEPS = 6
_MOVING_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is.

    Attributes:
        layers: ids of operators and waypoints by layer, each layer from top to bottom.
        routes: by number of an edge, the waypoints on its way, from left to right.
        heights: the vertical middle of each operator and waypoint.
    """

    layers: list[list[str]]
    routes: Mapping[int, list[str]]
    heights: Mapping[str, float]


def layout_of(
    operators: Sequence[Operator], edges: Sequence[Edge], box: float, lane: float
) -> Layout:
    """Lay a graph out.

    Args:
        operators: what is drawn as boxes.
        edges: from operator to operator, by id.
        box: the height that a box needs, with the room around it.
        lane: the height that an edge needs where it passes between boxes.
    """
    depth = _depths(operators, edges)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for operator in operators:
        layers[depth[operator.id]].append(operator.id)
    before: dict[str, list[str]] = {operator.id: [] for operator in operators}
    after: dict[str, list[str]] = {operator.id: [] for operator in operators}
    routes: dict[int, list[str]] = {}
    for number, edge in enumerate(edges):
        first, last = sorted((edge.source, edge.target), key=depth.__getitem__)
        routes[number] = way = [
            f"\0{number}:{layer}" for layer in range(depth[first] + 1, depth[last])
        ]
        for at, waypoint in enumerate(way, depth[first] + 1):
            layers[at].append(waypoint)
            before[waypoint], after[waypoint] = [], []
        if depth[first] < depth[last] and (way or not edge.feedback):
            stops = [first, *way, last]
            for left, right in itertools.pairwise(stops):
                after[left].append(right)
                before[right].append(left)
    for _ in range(_ORDERING_SWEEPS):
        for layer in layers[1:]:
            _sort(layer, before, layers)
        for layer in reversed(layers[:-1]):
            _sort(layer, after, layers)
    heights = _heights(layers, before, after, lambda id_: lane if is_waypoint(id_) else box)
    return Layout(layers, routes, heights)


def is_waypoint(id_: str) -> bool:
    """Whether an id of a layer stands for an edge that passes; no operator has such an id."""
    return id_[0] == "\0"


def _depths(operators: Sequence[Operator], edges: Sequence[Edge]) -> dict[str, int]:
    inputs: dict[str, list[str]] = {operator.id: [] for operator in operators}
    for edge in edges:
        if not edge.feedback:
            inputs[edge.target].append(edge.source)
    depth: dict[str, int] = {}
    for id_ in TopologicalSorter(inputs).static_order():
        depth[id_] = max((depth[each] + 1 for each in inputs[id_]), default=0)
    return depth


def _sort(layer: list[str], neighbours: Mapping[str, list[str]], layers: list[list[str]]) -> None:
    """By the mean place of the neighbours; those without any keep their place."""
    places = {id_: at for each in layers for at, id_ in enumerate(each)}

    def wanted(id_: str) -> float:
        near = neighbours[id_]
        return sum(places[each] for each in near) / len(near) if near else float(places[id_])

    layer.sort(key=wanted)


def _heights(
    layers: list[list[str]],
    before: Mapping[str, list[str]],
    after: Mapping[str, list[str]],
    room: Callable[[str], float],
) -> dict[str, float]:
    """The middle of each place: as near to those of its neighbours as order and room allow; the topmost edge is at 0."""
    at: dict[str, float] = {}
    for layer in layers:
        top = 0.0
        for id_ in layer:
            at[id_] = top + room(id_) / 2
            top += room(id_)
    for _ in range(_MOVING_SWEEPS):
        for layer in layers[1:]:
            _move(layer, before, at, room)
        for layer in reversed(layers[:-1]):
            _move(layer, after, at, room)
    highest = min((middle - room(id_) / 2 for id_, middle in at.items()), default=0.0)
    return {id_: middle - highest for id_, middle in at.items()}


def _move(
    layer: list[str],
    neighbours: Mapping[str, list[str]],
    at: dict[str, float],
    room: Callable[[str], float],
) -> None:
    """Move a layer to its neighbours: least squares under the condition that nothing overlaps (pooling of neighbours in order)."""
    offset, offsets = 0.0, []
    for place, id_ in enumerate(layer):
        offset += 0.0 if place == 0 else (room(layer[place - 1]) + room(id_)) / 2
        offsets.append(offset)
    pools: list[tuple[float, int]] = []  # the mean of what its members want, and how many they are
    for id_, own in zip(layer, offsets, strict=True):
        near = neighbours[id_]
        wanted = sum(at[each] for each in near) / len(near) if near else at[id_]
        mean, count = wanted - own, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean = (mean * count + other * others) / (count + others)
            count += others
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    for id_, mean, own in zip(layer, means, offsets, strict=True):
        at[id_] = mean + own
