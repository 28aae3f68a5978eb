"""The one place where a function is looked up, by its name or by another name that is accepted for it.

A family is a module with a tuple of entries. A function that joins a family is an entry there and a kernel in the
runtime's module of the same family (`runtime/expressions/`), and nothing else; a new family is named here once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.functions.aggregates import AGGREGATES
from cqc.compiler.functions.bits import BITS
from cqc.compiler.functions.choice import CHOICE
from cqc.compiler.functions.collections import COLLECTIONS, NESTED_JSON
from cqc.compiler.functions.encoding import ENCODINGS
from cqc.compiler.functions.json_text import JSON_TEXTS
from cqc.compiler.functions.mathematics import MATHEMATICS
from cqc.compiler.functions.numbers import NUMBERS
from cqc.compiler.functions.places import PLACES
from cqc.compiler.functions.search import SEARCHES
from cqc.compiler.functions.text import TEXTS
from cqc.compiler.functions.time_fields import TIME_FIELDS
from cqc.compiler.functions.time_moves import TIME_MOVES
from cqc.compiler.functions.time_texts import TIME_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.functions.entry import FunctionEntry, ScalarEntry

Entry = TypeVar("Entry", bound="FunctionEntry")

SCALAR_FAMILIES: dict[str, tuple[ScalarEntry, ...]] = {
    "Numbers": NUMBERS,
    "Powers, logarithms and angles": MATHEMATICS,
    "Bits and bases": BITS,
    "Choice": CHOICE,
    "Text": TEXTS,
    "Searching and splitting text": SEARCHES,
    "Codes, digests and URLs": ENCODINGS,
    "JSON in text": JSON_TEXTS,
    "Arrays, maps and structs": COLLECTIONS,
    "Nested values as JSON": NESTED_JSON,
    "Parts of times": TIME_FIELDS,
    "Moving and making times": TIME_MOVES,
    "Times as text, and zones": TIME_TEXTS,
    "Networks and places": PLACES,
}


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    named: dict[str, Entry] = {}
    for entry in entries:
        for name in (entry.name, *entry.aliases):
            if name in named:
                raise InternalError(f"two functions are called {name}")
            named[name] = entry
    return named


SCALAR_FUNCTIONS = _by_name(entry for family in SCALAR_FAMILIES.values() for entry in family)
AGGREGATE_FUNCTIONS = _by_name(AGGREGATES)
AGGREGATE_ENTRIES = {entry.function or entry.name: entry for entry in reversed(AGGREGATES)}
"""The entry whose SQL form an aggregate of a name in `AggregateFunction` has."""


def is_built_in(name: str) -> bool:
    """Whether a folded name is that of a function or an aggregate of the language."""
    return name in SCALAR_FUNCTIONS or name in AGGREGATE_FUNCTIONS


def function_names() -> list[str]:
    """Every name that a query can call, for suggestions."""
    return [*SCALAR_FUNCTIONS, *AGGREGATE_FUNCTIONS]
