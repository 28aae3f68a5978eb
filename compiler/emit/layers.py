"""Places for operators: layers from left to right, neighbours near each other (Sugiyama's method in small).

An operator's layer is one more than that of its farthest input. Within a layer, a few sweeps order operators by the mean
place of their neighbours, which untangles most crossings. Feedback edges follow the data edges and decide nothing.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.graph.nodes import Edge, Operator

_SWEEPS = 6


def layers_of(operators: Sequence[Operator], edges: Sequence[Edge]) -> list[list[str]]:
    """Operator ids by layer, each layer from top to bottom."""
    inputs: dict[str, list[str]] = {operator.id: [] for operator in operators}
    outputs: dict[str, list[str]] = {operator.id: [] for operator in operators}
    for edge in edges:
        if not edge.feedback:
            inputs[edge.target].append(edge.source)
            outputs[edge.source].append(edge.target)
    depth: dict[str, int] = {}
    for id_ in TopologicalSorter(inputs).static_order():
        depth[id_] = max((depth[each] + 1 for each in inputs[id_]), default=0)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for operator in operators:
        layers[depth[operator.id]].append(operator.id)
    for _ in range(_SWEEPS):
        for layer in layers[1:]:
            _sort(layer, inputs, layers)
        for layer in reversed(layers[:-1]):
            _sort(layer, outputs, layers)
    return layers


def _sort(layer: list[str], neighbours: Mapping[str, list[str]], layers: list[list[str]]) -> None:
    """By the mean place of the neighbours; those without any keep their place."""
    places = {id_: at for each in layers for at, id_ in enumerate(each)}

    def wanted(id_: str) -> float:
        near = neighbours[id_]
        return sum(places[each] for each in near) / len(near) if near else float(places[id_])

    layer.sort(key=wanted)
