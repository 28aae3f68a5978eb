"""Records: the nodes of all trees, frozen for the type checker and plain at run time.

A file of 100,000 queries makes ten million nodes, and a frozen dataclass takes three times as long to make as a plain one: it
sets each field by a call. mypy sees these as frozen, so code that sets a field of one does not pass `make check`; at run
time they are ordinary slotted objects with the equality and the hash of their fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Class) -> Class:
    """Make a class a record of its fields.

    Example:
        @record
        class Name:
            text: str
            span: Span = field(compare=False, repr=False)
    """
    # A class with a hash of its own keeps it; the dataclass would refuse to replace it.
    made: Class = dataclass(slots=True, unsafe_hash="__hash__" not in cls.__dict__)(cls)  # type: ignore[assignment]
    return made
