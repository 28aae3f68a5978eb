"""What an EQL query says: conditions over one event, and steps of events one after the other."""

from __future__ import annotations

from dataclasses import dataclass

ANY = "any"  # the category of all events


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the event, by its path."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number, truth value or null."""

    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers and the sign between them."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function; `~` after its name makes it blind to case."""

    name: str
    blind: bool
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """`==`, `!=` and the orders."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Matched:
    """A value against patterns: `seems` is the colon, then `like` and `regex`."""

    how: str
    blind: bool
    value: Expression
    patterns: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """`in`."""

    blind: bool
    value: Expression
    choices: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """`not`."""

    inner: Expression


@dataclass(frozen=True, slots=True)
class AllOf:
    """`and`."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`or`."""

    parts: tuple[Expression, ...]


Expression = (
    Field | Literal | Arithmetic | Call | Compared | Matched | OneOf | Negated | AllOf | AnyOf
)


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Events of a category for which a condition holds."""

    category: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Key:
    """What the events of a sequence have in common; an optional one may be missing in all of them."""

    name: str
    is_optional: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a sequence, or so many of them, or one that must not come."""

    query: EventQuery
    keys: tuple[Key, ...]
    runs: int = 1
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps one after the other, with the keys that all of them have first."""

    steps: tuple[Step, ...]
    span_us: int | None
    until: Step | None


Query = EventQuery | Sequence
