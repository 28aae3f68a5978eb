"""Compiled queries as text and back: data, which cannot do anything when it is read.

What a distributed run keeps in its checkpoint includes queries as the compiler has left them. Pickled they would be code: whoever can
write to the folder could have anything done by the next start. As JSON they name classes of the compiler and the values of their
fields; a name that is none of these is refused. An object that is met again is written once, by its number.

    {"is": "cqc.compiler.meaning.normal.NormalQuery", "with": {"name": "q", "items": {"tuple": [...]}, ...}}
"""

from __future__ import annotations

import importlib
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from cqc.compiler.meaning.types import ColumnType, type_of_text

_TYPE = (
    "cqc.compiler.meaning.types.ColumnType"  # written as text: there is one object for each type
)
_SPEC = "cqc.runtime.spark.distributed.messages.spec."
_FOLDERS = ("cqc.compiler.", _SPEC)
_ONCE = "cqc.runtime.spark.distributed.spec."  # where `spec` was: checkpoints of then are read as before
_PLAIN = (type(None), bool, int, float, str)


def to_text(value: object) -> str:
    """A value made of frozen dataclasses, enums, tuples, lists, sets, dicts and what JSON has.

    Raises:
        TypeError: when something else is in it.
    """
    return json.dumps(_Writer().plain(value), separators=(",", ":"))


def from_text(text: str) -> Any:
    """What `to_text` was given.

    Raises:
        ValueError: when the text is something else.
    """
    try:
        return _Reader().value(json.loads(text))
    except (KeyError, TypeError, AttributeError, ImportError) as error:
        raise ValueError(f"it does not say what it should ({error})") from error


class _Writer:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._met: list[object] = []  # so that no other object can have the id of one

    def plain(self, value: object) -> Any:
        if type(value) in _PLAIN:
            return value
        match value:
            case ColumnType():
                return {"is": _TYPE, "one": value.name}
            case Enum():
                return {"is": _name(value), "one": value.name}
            case tuple():
                return {"tuple": [self.plain(each) for each in value]}
            case list():
                return [self.plain(each) for each in value]
            case frozenset():
                return {"set": [self.plain(each) for each in sorted(value, key=repr)]}
            case dict():
                pairs = [[self.plain(key), self.plain(inner)] for key, inner in value.items()]
                return {"dict": pairs}
            case _:
                return self._dataclass(value)

    def _dataclass(self, value: object) -> Any:
        if not is_dataclass(value) or isinstance(value, type):
            raise TypeError(f"{type(value).__name__} cannot be written as data")
        if id(value) in self._numbers:
            return {"again": self._numbers[id(value)]}
        given = {
            field.name: self.plain(getattr(value, field.name))
            for field in fields(value)
            if field.init
        }
        self._numbers[id(value)] = len(self._met)
        self._met.append(value)
        return {"is": _name(value), "with": given}


class _Reader:
    def __init__(self) -> None:
        self._met: list[object] = []

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(each) for each in plain]
        if not isinstance(plain, dict):
            return plain
        if "again" in plain:
            return self._met[plain["again"]]
        if "tuple" in plain:
            return tuple(self.value(each) for each in plain["tuple"])
        if "set" in plain:
            return frozenset(self.value(each) for each in plain["set"])
        if "dict" in plain:
            return {self.value(key): self.value(inner) for key, inner in plain["dict"]}
        if plain["is"] == _TYPE:
            return type_of_text(plain["one"])
        kind = _class(plain["is"])
        if issubclass(kind, Enum):
            return kind[plain["one"]]
        made = kind(**{name: self.value(inner) for name, inner in plain["with"].items()})
        self._met.append(made)
        return made


def _name(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _class(name: str) -> Any:
    """A class of the compiler's by its name, and nothing else."""
    if name.startswith(_ONCE):
        name = _SPEC + name.removeprefix(_ONCE)
    module, _, own = name.rpartition(".")
    if not name.startswith(_FOLDERS):
        raise ValueError(f"{name} is not a part of a query")
    kind = getattr(importlib.import_module(module), own)
    is_part = isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum))
    if not is_part or kind.__module__ != module:
        raise ValueError(f"{name} is not a part of a query")
    return kind
