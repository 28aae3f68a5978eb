"""Functions that choose one of their arguments (the compiler's `functions/choice.py`).

They are nodes, not kernels: which argument is asked for on which rows is what they are about, and an argument that is not
asked for does not fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.choosing import choose
from cqc.runtime.columns.columns import Column, null_column
from cqc.runtime.columns.comparisons import compare
from cqc.runtime.expressions.expression_kernels import case_node, is_known, spread

if TYPE_CHECKING:
    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel


def _coalesce(nodes: list[Node], type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        result, missing = null_column(type_, frame.rows), np.ones(frame.rows, dtype=np.bool_)
        for at, argument in enumerate(nodes):
            column = argument(frame.narrowed(missing) if at else frame)
            result = choose(missing, column, result) if at else spread(column, frame.rows)
            missing = missing & ~is_known(column)
            if not missing.any():
                break
        return result

    return node


def _nvl2(nodes: list[Node], type_: ColumnType) -> Node:
    value, present, absent = nodes

    def is_present(frame: Frame) -> Column:
        return Column(ColumnType.BOOLEAN, is_known(value(frame)))

    return case_node([(is_present, present)], absent, type_)


def _null_if(nodes: list[Node], type_: ColumnType) -> Node:
    value_node, other_node = nodes

    def node(frame: Frame) -> Column:
        value, other = value_node(frame), other_node(frame)
        equal = compare(ComparisonOp.EQ, value, other) & is_known(value) & is_known(other)
        if not equal.any():
            return value
        value = spread(value, frame.rows)
        return choose(np.broadcast_to(equal, (frame.rows,)), null_column(type_, frame.rows), value)

    return node


def _if(nodes: list[Node], type_: ColumnType) -> Node:
    condition, then, otherwise = nodes
    return case_node([(condition, then)], otherwise, type_)


KERNELS: dict[str, Kernel] = {}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {
    "coalesce": _coalesce,
    "nvl": _coalesce,
    "nvl2": _nvl2,
    "nullif": _null_if,
    "if": _if,
}
