"""A picture that stays readable: many deliveries of the same operators become one box.

Up to a few dozen queries every one has its own box. Beyond that, queries that read from the same operators are drawn as
one box that counts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.nodes import Edge, Operator, OperatorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_DRAWN = 40
_SINGLE = (
    OperatorKind.DELIVER,
    OperatorKind.AGGREGATE,
    OperatorKind.HISTORY,
    OperatorKind.RESIDUAL,
)


def summarise(
    operators: Sequence[Operator], edges: Sequence[Edge]
) -> tuple[tuple[Operator, ...], tuple[Edge, ...]]:
    """The picture itself when it is small, else with operators that do the same for different queries drawn as one."""
    for kind in _SINGLE:
        if sum(operator.kind is kind for operator in operators) > _MOST_DRAWN:
            operators, edges = _merge(kind, operators, edges)
    return tuple(operators), tuple(edges)


def _merge(
    kind: OperatorKind, operators: Sequence[Operator], edges: Sequence[Edge]
) -> tuple[list[Operator], list[Edge]]:
    """Operators of a kind with the same inputs as one, named after the first of them."""
    merged = {operator.id for operator in operators if operator.kind is kind}
    inputs: dict[str, set[str]] = {id_: set() for id_ in merged}
    for edge in edges:
        if edge.target in merged and not edge.feedback:
            inputs[edge.target].add(edge.source)
    groups: dict[frozenset[str], list[Operator]] = {}
    for operator in operators:
        if operator.kind is kind:
            groups.setdefault(frozenset(inputs[operator.id] - merged), []).append(operator)
    stands_for = {each.id: group[0].id for group in groups.values() for each in group}
    kept = [operator for operator in operators if operator.kind is not kind]
    kept += [_group(group) for group in groups.values()]
    moved = [
        Edge(
            stands_for.get(edge.source, edge.source),
            stands_for.get(edge.target, edge.target),
            edge.feedback,
        )
        for edge in edges
    ]
    return kept, [edge for edge in dict.fromkeys(moved) if edge.source != edge.target]


def _group(group: Sequence[Operator]) -> Operator:
    first = group[0]
    if len(group) == 1:
        return first
    label = f"{first.label} and {len(group) - 1:,} more"
    return Operator(first.id, first.kind, label, sum(each.queries for each in group), first.detail)
