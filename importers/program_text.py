"""Names, texts and patterns as a program has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cqc.compiler.meaning.times.durations import UNITS
from cqc.compiler.meaning.types import TYPE_NAMES
from cqc.compiler.syntax.tokens import CONTEXTUAL, FOREIGN, RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_WORDS = {
    word.upper() for group in (RESERVED, CONTEXTUAL, FOREIGN, TYPE_NAMES, UNITS) for word in group
}
LONGEST_NAME = 120
_UNITS = (
    (86_400_000_000, "DAY"),
    (3_600_000_000, "HOUR"),
    (60_000_000, "MINUTE"),
    (1_000_000, "SECOND"),
    (1_000, "MILLISECOND"),
    (1, "MICROSECOND"),
)


def identifier(name: str) -> str:
    """A name as it is written, in quotes where it must be."""
    if _PLAIN.fullmatch(name) and name.upper() not in _WORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text literal."""
    return "'" + value.replace("'", "''") + "'"


def pattern_part(value: str) -> str:
    """Text inside a LIKE pattern that stands for itself."""
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def duration(span_us: int) -> str:
    """A duration in the largest unit in which it is a whole number."""
    for size, unit in _UNITS:
        if span_us % size == 0:
            count = span_us // size
            return f"{count} {unit}{'' if count == 1 else 'S'}"
    raise AssertionError(span_us)  # a microsecond divides everything


def plain_name(title: str) -> str:
    """A title in lower case, with `_` for everything that is neither a letter of ASCII nor a digit."""
    return _NOT_IN_NAMES.sub("_", title.lower()).strip("_")[:LONGEST_NAME].rstrip("_")


def with_clause(texts: Mapping[str, str]) -> str:
    """The WITH of a query, empty where there is nothing to say."""
    given = [f"{identifier(key)} = {text(value)}" for key, value in texts.items() if value]
    return f"WITH ({', '.join(given)})" if given else ""


def comment(lines: Iterable[str]) -> str:
    """Lines of comment; line ends inside a line are spaces."""
    return "".join(f"-- {' '.join(line.split())}\n" for line in lines)
