"""Functions that choose one of their arguments (the compiler's `functions/choice.py`).

They are nodes, not kernels: which argument is asked for on which rows is what they are about, and an argument that is not
asked for does not fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns import null_column
from cqc.runtime.nodes import choose, is_known

if TYPE_CHECKING:
    from cqc.compiler.types import ColumnType
    from cqc.runtime.columns import Column
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel
    from cqc.runtime.nodes import Frame, Node


def _coalesce(nodes: list[Node], type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        missing = np.ones(frame.rows, dtype=np.bool_)
        result = null_column(type_, frame.rows)
        for argument in nodes:
            column = argument(frame.narrowed(missing))
            taken = missing & is_known(column)
            result = choose(taken, column, result)
            missing = missing & ~taken
            if not missing.any():
                break
        return result

    return node


KERNELS: dict[str, Kernel] = {}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {
    "coalesce": _coalesce,
}
