"""One host at a join node: which of the node's items are its own, and how its bodies speak of them.

A node joins the items of several hosts; a host over B and H has two of the four items of a node over B, T, H and K. The
bodies of a host, their conditions and what is found for them are in the host's own order of items: `items` leads from there
to the node's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.normal import AllOf, AnyOf, ExpressionAtom
from cqc.runtime.expressions.compile.compile_expression import columns_of
from cqc.runtime.join.membership.residual_checks import JoinChecks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.meaning.normal import EquiJoin, Formula
    from cqc.runtime.join.step.probe_step import JoinInput
    from cqc.runtime.join.step.theta_forms import ThetaShape
    from cqc.runtime.state.shared_state import SharedState


@dataclass(slots=True, eq=False)
class HostAtNode:
    """A host's place at a node."""

    host: JoinHost
    inputs: tuple[JoinInput, ...]  # in the host's order
    checks: JoinChecks
    equi_joins: tuple[EquiJoin, ...]  # of the node's items
    states: Sequence[SharedState]
    seats: int = 0
    results: int = 0
    items: tuple[int, ...] = field(init=False)  # of the node, in the host's order

    def __post_init__(self) -> None:
        self.items = tuple(each.item for each in self.inputs)

    @classmethod
    def of(cls, host: JoinHost, inputs: Sequence[JoinInput]) -> HostAtNode:
        """The part of a host whose relations have these inputs."""
        moved = tuple(
            replace(
                edge,
                left_item=inputs[edge.left_item].item,
                right_item=inputs[edge.right_item].item,
            )
            for edge in host.equi_joins
        )
        checks = JoinChecks(inputs, host.equi_joins)
        return cls(host, tuple(inputs), checks, moved, [each.state for each in inputs])

    def columns_read(self, relation: str) -> set[int]:
        """The columns of a relation (folded name) that conditions and results of the host's bodies are about, or more than these."""
        own = {item for item, each in enumerate(self.host.relations) if fold(each.name) == relation}
        found = set[int]()
        for body in self.host.bodies.values():
            for edge in body.equi_joins:
                ends = (edge.left_item, edge.left_column), (edge.right_item, edge.right_column)
                found.update(column for item, column in ends if item in own)
            for item in own:
                found |= _columns_of_formula(body.filters[item])
            conditions = [each.expression for each in body.theta_joins]
            for condition in (*conditions, *(each.expression for each in body.residuals)):
                found |= columns_of(condition, own)
            for query in body.queries:
                items = {at for at, item in enumerate(query.positions) if item in own}
                for output in query.outputs:
                    found |= columns_of(output.expression, items)
        return found

    def shape(self, shape: ThetaShape) -> ThetaShape:
        """A condition of the host's items as one of the node's."""
        left, right = self.items[shape.left_item], self.items[shape.right_item]
        if (left, right) == (shape.left_item, shape.right_item):
            return shape
        return replace(shape, left_item=left, right_item=right)

    @property
    def stream_inputs(self) -> list[JoinInput]:
        """The inputs whose packets start a join."""
        return [each for each in self.inputs if each.state.relation.is_stream]


def _columns_of_formula(formula: Formula) -> set[int]:
    if isinstance(formula, AllOf | AnyOf):
        return set[int]().union(*map(_columns_of_formula, formula.parts))
    if isinstance(formula, ExpressionAtom):
        return columns_of(formula.expression)
    return {formula.column}
