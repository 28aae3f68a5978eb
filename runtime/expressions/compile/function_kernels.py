"""The kernel of a built-in function by its name in the compiler's registry. A new family is named here once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.expressions import (
    bit_functions,
    choice_functions,
    encoding_functions,
    json_functions,
    mathematics_functions,
    number_functions,
    place_functions,
    search_functions,
    text_functions,
)
from cqc.runtime.expressions.nested import collection_functions, json_of_nested
from cqc.runtime.expressions.times import (
    field_functions,
    move_functions,
)
from cqc.runtime.expressions.times import (
    text_functions as time_text_functions,
)

if TYPE_CHECKING:
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel

_FAMILIES = (
    number_functions,
    mathematics_functions,
    bit_functions,
    choice_functions,
    text_functions,
    search_functions,
    encoding_functions,
    json_functions,
    collection_functions,
    json_of_nested,
    field_functions,
    move_functions,
    time_text_functions,
    place_functions,
)

KERNELS: dict[str, Kernel] = {
    name: kernel for family in _FAMILIES for name, kernel in family.KERNELS.items()
}
PARTIAL_KERNELS: dict[str, PartialKernel] = {
    name: kernel for family in _FAMILIES for name, kernel in family.PARTIAL_KERNELS.items()
}
NODES: dict[str, NodeMaker] = {
    name: maker for family in _FAMILIES for name, maker in family.NODES.items()
}
