"""The three forms in which a built-in function can be written for the runtime.

A kernel is the usual one. Its caller sees to NULL and counts failures, so that no kernel has to: it gets the columns of its
arguments and gives the values with a mask of failed evaluations (None: none failed). A partial kernel gives one more mask,
where there is a value at all (None: everywhere): `ln(0)` is NULL, and no failure. A function to which NULL is a value like
others, or which does not ask for all its arguments on all rows, is a node instead: it is made from the nodes of its arguments
and says itself on which rows they are asked.

Arguments may be constants: arrays of no dimension, Arrow scalars for text. Values at NULL positions are arbitrary, and what a
kernel gives there does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.expressions.arithmetic import Outcome
from cqc.runtime.expressions.expression_kernels import Node

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column

Kernel = Callable[..., Outcome]  # a Column per argument
PartialOutcome = tuple[Any, NDArray[np.bool_] | None, NDArray[np.bool_] | None]
PartialKernel = Callable[..., PartialOutcome]
NodeMaker = Callable[[list[Node], ColumnType], Node]  # the arguments' nodes and the result's type


def elementwise(function: Callable[..., Any]) -> Kernel:
    """The kernel of a NumPy function that has a value for every argument; what NumPy warns of is in its values."""

    def kernel(*columns: Column) -> Outcome:
        with np.errstate(all="ignore"):
            return np.asarray(function(*[column.values for column in columns])), None

    return kernel
