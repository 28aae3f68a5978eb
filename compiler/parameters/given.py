"""Values that the command line gives (`--set NAME=VALUE`), for every program that this process compiles.

They are texts until a program declares their type. A program that is compiled again while it runs gets the same ones.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Mapping

_given: dict[str, tuple[str, str]] = {}  # by folded name: the name as it was written, and the text


def give(name: str, text: str) -> None:
    """Give the parameter of a name another value than its default."""
    global _given
    _given = {**_given, fold(name): (name, text)}


def given_values() -> Mapping[str, tuple[str, str]]:
    """What is given at this moment, by folded name."""
    return MappingProxyType(_given)


def forget() -> None:
    """Give nothing any more."""
    global _given
    _given = {}
