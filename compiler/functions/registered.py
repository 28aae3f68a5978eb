"""The functions that users registered.

They are registered for the whole process, are vectorised (arrays in, an array of the same length out) and have one
declared result type. Their arguments may have any column's type.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Any

from cqc.compiler.diagnostics.arguments import expect, kind_of
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.functions.registry import is_built_in
from cqc.compiler.meaning.bound import Aggregate, UserCall
from cqc.compiler.meaning.catalog import Relation, fold
from cqc.compiler.meaning.types import TYPE_NAMES, ColumnType
from cqc.compiler.syntax.tokens import RESERVED

is_callable = callable  # the parameter of `function` has its name
# Arrays in, an array out. The compiler never calls it, so it knows no array type.
VectorFunction = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class AggregateSteps:
    """The four steps of a registered aggregate."""

    init: Callable[[], Any]
    update: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A registered function; `arity` is None when its signature does not say how many arguments it takes."""

    name: str
    callable: VectorFunction
    returns: ColumnType
    arity: int | None
    steps: AggregateSteps | None = None  # of an aggregate, whose `callable` is its update

    @property
    def is_aggregate(self) -> bool:
        return self.steps is not None


_registered: dict[str, UserFunction] = {}  # replaced and never changed: somebody may be reading it
_registering = threading.Lock()


def function(name: str, callable: VectorFunction, returns: str = "DOUBLE") -> None:  # noqa: A002 - the public name of the parameter
    """Register a function for use in queries, in this process; a second one of the same name replaces the first.

    Args:
        name: How queries call it; matches case-insensitively.
        callable: Takes one NumPy array per argument and returns an array of the same length.
        returns: The type of its result, one of the language's type names.

    Raises:
        TypeError: for arguments of another kind.
        ValueError: for a name that no query can call, or something that is no type.

    Example:
        >>> import cqc
        >>> cqc.function("to_celsius", lambda fahrenheit: (fahrenheit - 32) / 1.8)
        >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, f DOUBLE); SELECT to_celsius(f) AS c FROM s"))
        >>> engine.push("s", [{"ts": 1, "f": 212.0}])
        >>> [result.row for result in engine.drain()]
        [{'c': 100.0}]
    """
    expect(name, str, "cqc.function", "the name of the function first")
    if not is_callable(callable):
        raise TypeError(f"cqc.function takes what can be called second, not {kind_of(callable)}")
    expect(returns, str, "cqc.function", "the name of the type it returns, such as 'DOUBLE'")
    adopt([UserFunction(_name(name), callable, _type(returns), _arity(callable))])


def aggregate(
    name: str,
    init: Callable[[], Any],
    update: Callable[..., Any],
    merge: Callable[[Any, Any], Any],
    finish: Callable[[Any], Any],
    returns: str = "DOUBLE",
) -> None:
    """Register an aggregate for use in queries, in this process; a second one of the same name replaces the first.

    A group begins as `init()`, each of its rows makes it `update(state, value, ...)`, by event time and then by arrival, and its value
    is `finish(state)`. Rows with a NULL argument do not count. States of parts of a group are put together by `merge(state, later)`.

    Args:
        name: How queries call it; matches case-insensitively.
        init: Gives the state of no rows.
        update: Takes a state and one value an argument, and returns the new state.
        merge: Takes the states of rows and of later rows, and returns that of both together.
        finish: Takes a state and returns the value, or None for NULL.
        returns: The type of its value, one of the language's type names.

    Raises:
        TypeError: for arguments of another kind.
        ValueError: for a name that no query can call, or something that is no type.

    Example:
        >>> import cqc
        >>> times = lambda a, b: a * b
        >>> cqc.aggregate("product", lambda: 1, times, times, lambda state: state, returns="BIGINT")
        >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY q AS SELECT product(x) AS p FROM s BEGIN 0 END NOW;"))
        >>> engine.push("s", [{"ts": 1, "x": 2}, {"ts": 2, "x": 5}])
        >>> engine.invoke("q").to_pylist()
        [{'p': 10}]
    """
    expect(name, str, "cqc.aggregate", "the name of the aggregate first")
    for step, given in (("init", init), ("update", update), ("merge", merge), ("finish", finish)):
        if not is_callable(given):
            raise TypeError(
                f"cqc.aggregate takes what can be called as {step}, not {kind_of(given)}"
            )
    expect(returns, str, "cqc.aggregate", "the name of the type it returns, such as 'DOUBLE'")
    arity = _arity(update)
    if arity is not None and arity < 2:
        raise ValueError("update of cqc.aggregate takes a state and at least one value")
    steps = AggregateSteps(init, update, merge, finish)
    values = None if arity is None else arity - 1
    adopt([UserFunction(_name(name), update, _type(returns), values, steps)])


def _name(name: str) -> str:
    """The folded name under which a query can call it."""
    folded = fold(name)
    if not folded.isidentifier():
        raise ValueError(f"{name!r} cannot be called in a query: use letters, digits and _")
    if is_built_in(folded):
        raise ValueError(f"{name} is a built-in function")
    if name.upper() in RESERVED:
        raise ValueError(f"{name} cannot be called in a query: it is a word of the language")
    return folded


def _type(returns: str) -> ColumnType:
    known = {n: t for n, t in TYPE_NAMES.items() if t is ColumnType.STRING or not t.held_as_text}
    result = known.get(returns.upper())
    if result is None:
        raise ValueError(
            f"{returns} is not a type that a function can return; there are {', '.join(known)}"
        )
    return result


def adopt(functions: Iterable[UserFunction]) -> None:
    """Register functions as another process did."""
    global _registered
    with _registering:
        _registered = {**_registered, **{each.name: each for each in functions}}


def user_functions() -> Mapping[str, UserFunction]:
    """What is registered at this moment, by folded name."""
    return MappingProxyType(_registered)


def functions_in(what: object) -> tuple[UserFunction, ...]:
    """The registered functions that a query calls, in whatever form it is: what another process needs to run it."""
    if not _registered:
        return ()
    known = _registered
    return tuple(known[name] for name in sorted(_called_in(what)) if name in known)


def missing_functions(what: object) -> tuple[str, ...]:
    """The names of functions that a query calls and nobody has registered in this process."""
    return tuple(sorted(_called_in(what) - _registered.keys()))


def _called_in(what: object) -> set[str]:
    """The names of users' functions in something that is made of dataclasses and lists of them."""
    names: set[str] = set()
    waiting = [what]
    while waiting:
        each = waiting.pop()
        if isinstance(each, UserCall):
            names.add(each.name)
        elif isinstance(each, Aggregate) and each.user:
            names.add(each.user)
        if isinstance(each, tuple | list | frozenset):
            waiting += each
        elif is_dataclass(each) and not isinstance(each, Span | Relation):
            waiting += [getattr(each, part.name) for part in fields(each)]
    return names


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
