"""Arguments of public calls that are of the wrong kind get a sentence: what was wanted, and what came.

>>> expect(5, str, "cqc.compile", "the text of a program")
Traceback (most recent call last):
TypeError: cqc.compile takes the text of a program (str), not int
"""

from __future__ import annotations

from collections.abc import Iterable
from types import UnionType

Kinds = type | UnionType


def expect(value: object, kinds: Kinds, call: str, what: str, hint: str = "") -> None:
    """Raise a TypeError when a value is of none of the kinds.

    Args:
        value: what came.
        kinds: what is fine; None only where `X | None` says so.
        call: the public call, such as `cqc.compile`, and where it helps the parameter.
        what: what is wanted, in words.
        hint: what to do instead, for values of this kind.
    """
    if not isinstance(value, kinds):
        raise TypeError(f"{call} takes {what} ({_names(kinds)}), not {kind_of(value)}{hint}")


def expect_names(value: object, call: str, what: str) -> tuple[str, ...]:
    """A list of names as a tuple; a single text is no list, though one can walk over its letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{call} takes {what} (a list of str), not {kind_of(value)}")
    names = tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{call} takes {what} (a list of str), not a list with {kind_of(name)}")
    return names


def kind_of(value: object) -> str:
    """How a value of the wrong kind is called."""
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _names(kinds: Kinds) -> str:
    members = kinds.__args__ if isinstance(kinds, UnionType) else (kinds,)
    return " or ".join("None" if each is type(None) else each.__name__ for each in members)
