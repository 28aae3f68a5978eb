"""The compiler's entries and the runtime's kernels go together, one for one."""

from __future__ import annotations

from cqc.compiler.functions.registry import SCALAR_FAMILIES
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
from cqc.runtime.expressions.compile.function_kernels import KERNELS, NODES, PARTIAL_KERNELS
from cqc.runtime.expressions.compile.scalar_functions import UNNAMED_KERNELS
from cqc.runtime.expressions.nested import collection_functions, json_of_nested
from cqc.runtime.expressions.times import field_functions, move_functions
from cqc.runtime.expressions.times import text_functions as time_text_functions

ENTRIES = [entry for family in SCALAR_FAMILIES.values() for entry in family]
MODULES = {
    "Numbers": number_functions,
    "Powers, logarithms and angles": mathematics_functions,
    "Bits and bases": bit_functions,
    "Choice": choice_functions,
    "Text": text_functions,
    "Searching and splitting text": search_functions,
    "Codes, digests and URLs": encoding_functions,
    "JSON in text": json_functions,
    "Arrays, maps and structs": collection_functions,
    "Nested values as JSON": json_of_nested,
    "Parts of times": field_functions,
    "Moving and making times": move_functions,
    "Times as text, and zones": time_text_functions,
    "Networks and places": place_functions,
}


def test_every_function_has_a_kernel_and_every_kernel_is_of_a_function() -> None:
    assert sorted([*KERNELS, *PARTIAL_KERNELS]) == sorted(
        entry.name for entry in ENTRIES if not entry.takes_null
    )


def test_every_function_that_takes_null_has_a_node_and_every_node_is_of_one() -> None:
    assert sorted(NODES) == sorted(entry.name for entry in ENTRIES if entry.takes_null)


def test_entry_and_kernel_are_in_the_same_family() -> None:
    assert {
        family: sorted(entry.name for entry in entries)
        for family, entries in SCALAR_FAMILIES.items()
    } == {
        family: sorted([*module.KERNELS, *module.PARTIAL_KERNELS, *module.NODES])
        for family, module in MODULES.items()
    }


def test_what_no_query_can_name_has_no_name_of_a_function() -> None:
    assert not set(UNNAMED_KERNELS) & {
        name for entry in ENTRIES for name in (entry.name, *entry.aliases)
    }
