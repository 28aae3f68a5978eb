"""Records: the nodes of all trees, frozen for the type checker and plain at run time, and made for little.

A file of 100,000 queries makes ten million nodes, and a frozen dataclass takes three times as long to make as a plain one: it
sets each field by a call. mypy sees these as frozen, so code that sets a field of one does not pass `make check`; at run
time they are ordinary slotted objects with the equality and the hash of their fields.

A dataclass compiles the text of each of its methods when its module is loaded: a third of a millisecond a class, and there are hundreds, most
of which a small program never makes. A record has its methods compiled when one of them is first called.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable

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
    # A class with a method of its own keeps it, as with a dataclass.
    wanted = [name for name in _MADE if name not in cls.__dict__]
    made: Any = dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    for name in wanted:
        setattr(made, name, _later(made, name))
    kept: Class = made
    return kept


_MADE = {
    "__init__": {"init": True, "repr": False, "eq": False},
    "__repr__": {"init": False, "repr": True, "eq": False},
    "__eq__": {"init": False, "repr": False, "eq": True},
    "__hash__": {"init": False, "repr": False, "eq": False, "unsafe_hash": True},
}
"""The methods of a record, each with what a dataclass is told so that it makes that one."""
_OF_A_FIELD = ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")


def _later(cls: Any, name: str) -> Callable[..., Any]:
    """A method that makes itself when it is first called."""

    def method(*arguments: Any, **named: Any) -> Any:
        made = _method(cls, name)
        setattr(cls, name, made)
        return made(*arguments, **named)

    method.__name__ = name
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _method(cls: Any, name: str) -> Callable[..., Any]:
    """What a dataclass of the same fields has for a method."""
    names: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    names["__annotations__"] = {each.name: each.type for each in fields(cls)}
    for each in fields(cls):
        told = {option: getattr(each, option) for option in _OF_A_FIELD}
        given = {option: value for option, value in told.items() if value is not MISSING}
        names[each.name] = field(**given)
    if hasattr(cls, "__post_init__"):
        names["__post_init__"] = cls.__post_init__
    donor: Any = dataclass(**_MADE[name])(type(cls.__name__, (), names))
    made: Callable[..., Any] = donor.__dict__[name]
    return made
