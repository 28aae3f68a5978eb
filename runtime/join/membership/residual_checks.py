"""The last conditions of a join: those that only an expression over whole combinations can tell.

Each distinct expression is evaluated once, over the rows that have a slot with that condition, and takes its slots away
from the rows for which it is not TRUE. Text keys were compared by hash; here the texts themselves are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from cqc.runtime.expressions.compile.compile_expression import compile_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import EquiJoin
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.compile.compile_expression import Compiled
    from cqc.runtime.join.step.probe_step import JoinInput


class JoinChecks:
    """Evaluates conditions over combinations given by positions."""

    def __init__(self, inputs: Sequence[JoinInput], equi_joins: Sequence[EquiJoin]) -> None:
        self._inputs = inputs
        self._compiled: dict[Expression, Compiled] = {}
        self.text_edges = [edge for edge in equi_joins if self._is_text(edge)]
        self.evaluated = 0

    def _is_text(self, edge: EquiJoin) -> bool:
        relation = self._inputs[edge.left_item].state.relation
        return relation.columns[edge.left_column].type.held_as_text

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return sum(compiled.failures for compiled in self._compiled.values())

    def apply(
        self,
        positions: NDArray[np.int64],
        lineage: NDArray[np.uint64],
        expressions: Sequence[Expression],
        slots: NDArray[np.uint64],
    ) -> None:
        """Clear in `lineage` the bits slots[k] of the rows for which expressions[k] is not TRUE."""
        for edge in self.text_edges:
            lineage[~self._texts_equal(edge, positions)] = 0
        alive = np.bitwise_or.reduce(lineage, axis=0)
        for number in np.flatnonzero((slots & alive).any(axis=1)).tolist():
            rows = np.flatnonzero((lineage & slots[number]).any(axis=1))
            if len(rows):
                failing = rows[~self.is_true(expressions[number], positions[:, rows])]
                lineage[failing] &= ~slots[number]

    def is_true(self, expression: Expression, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For which combinations the condition is TRUE."""
        compiled = self._compiled.get(expression)
        if compiled is None:
            compiled = self._compiled[expression] = compile_expression(expression)

        def fetch(item: int, column: int) -> Column:
            return self._inputs[item].state.column(column, positions[item])

        count = positions.shape[1]
        self.evaluated += count
        return compiled.is_true(fetch, count)

    def _texts_equal(self, edge: EquiJoin, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        left = self._inputs[edge.left_item].state.column(
            edge.left_column, positions[edge.left_item]
        )
        right = self._inputs[edge.right_item].state.column(
            edge.right_column, positions[edge.right_item]
        )
        equal = pc.equal(left.values, right.values)
        result: NDArray[np.bool_] = equal.to_numpy(zero_copy_only=False).astype(np.bool_)
        return result
