"""The functions that users registered.

They are registered for the whole process, are vectorised (arrays in, an array of the same length out) and have one
declared result type. Their arguments may have any column's type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cqc.compiler.catalog import fold
from cqc.compiler.functions.registry import is_built_in
from cqc.compiler.types import TYPE_NAMES, ColumnType

# Arrays in, an array out. The compiler never calls it, so it knows no array type.
VectorFunction = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A registered function; `arity` is None when its signature does not say how many arguments it takes."""

    name: str
    callable: VectorFunction
    returns: ColumnType
    arity: int | None


_registered: dict[str, UserFunction] = {}


def function(name: str, callable: VectorFunction, returns: str = "DOUBLE") -> None:  # noqa: A002 - the public name of the parameter
    """Register a function for use in queries, in this process; a second one of the same name replaces the first.

    Args:
        name: How queries call it; matches case-insensitively.
        callable: Takes one NumPy array per argument and returns an array of the same length.
        returns: The type of its result, one of the language's type names.

    Example:
        cqc.function("celsius", lambda fahrenheit: (fahrenheit - 32) / 1.8)
    """
    folded = fold(name)
    if not folded.isidentifier():
        raise ValueError(f"{name!r} cannot be called in a query: use letters, digits and _")
    if is_built_in(folded):
        raise ValueError(f"{name} is a built-in function")
    result = TYPE_NAMES.get(returns.upper())
    if result is None:
        raise ValueError(f"{returns} is not a type; there are {', '.join(TYPE_NAMES)}")
    _registered[folded] = UserFunction(folded, callable, result, _arity(callable))


def user_functions() -> Mapping[str, UserFunction]:
    """What is registered, by folded name. A view: functions registered later appear in it."""
    return MappingProxyType(_registered)


def _arity(callable: VectorFunction) -> int | None:  # noqa: A002 - as in function()
    inputs = getattr(callable, "nin", None)  # NumPy's universal functions say so this way
    if isinstance(inputs, int):
        return inputs
    try:
        parameters = inspect.signature(callable).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    counted = [p for p in parameters if p.kind in positional]
    return None if any(p.default is not p.empty for p in counted) else len(counted)
