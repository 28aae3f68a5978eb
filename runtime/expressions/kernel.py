"""The two forms in which a built-in function can be written for the runtime.

A kernel is the usual one. Its caller sees to NULL and counts failures, so that no kernel has to: it gets the columns of its
arguments and gives the values with a mask of failed evaluations. A function to which NULL is a value like others, or which
does not ask for all its arguments on all rows, is a node instead: it is made from the nodes of its arguments and says itself
on which rows they are asked.
"""

from __future__ import annotations

from collections.abc import Callable

from cqc.compiler.types import ColumnType
from cqc.runtime.arithmetic import Outcome
from cqc.runtime.nodes import Node

Kernel = Callable[..., Outcome]  # a Column per argument
NodeMaker = Callable[[list[Node], ColumnType], Node]  # the arguments' nodes and the result's type
