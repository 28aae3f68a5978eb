"""What a program declares: streams, tables, settings.

Names match case-insensitively everywhere; `fold` is the one place that says how.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import StructType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Literal
    from cqc.compiler.meaning.types import ColumnType
    from cqc.compiler.meaning.views import DerivedStream, View
    from cqc.compiler.syntax.tree import CreateQuery


def fold(name: str) -> str:
    """The form in which names are compared."""
    return name.lower()


@record
class Column:
    """A declared column, shown as it was written; `path` is where its value is in a row that has parts (FROM)."""

    name: str
    type: ColumnType
    path: tuple[str, ...] | None = None
    inside: tuple[int, int] | None = None  # of a field of a STRUCT: the column it is in, and which

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that lead to its value in a row."""
        return (self.name,) if self.path is None else self.path


def with_fields(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with a column for each field of a STRUCT after them, and so on inward: fields are filtered and joined as columns."""
    found = list(columns)
    at = 0
    while at < len(found):
        column = found[at]
        if isinstance(column.type, StructType):
            found += [
                Column(f"{column.name}.{name}", inner, (*column.keys, name), (at, number))
                for number, (name, inner) in enumerate(column.type.fields)
            ]
        at += 1
    return tuple(found)


@record
class Relation:
    """A declared stream or table.

    For a stream `event_time` is the position of its event-time column and `delay_us` how late a tuple may be;
    for a table `event_time` is None.
    """

    name: str
    columns: tuple[Column, ...]
    event_time: int | None
    delay_us: int
    options: Mapping[str, str] = field(
        hash=False
    )  # keys folded; relative paths are relative to `folder`
    folder: str = field(compare=False)  # where the declaring file is ("." for text)
    span: Span = field(compare=False, repr=False)
    view: View | None = field(default=None, compare=False, repr=False)  # the query that makes it
    made_by: DerivedStream | None = field(default=None, compare=False, repr=False)  # normalised

    @property
    def title(self) -> str:
        """How people call it: a view that was normalised has a name made of its content."""
        return self.name if self.made_by is None else self.made_by.title

    @property
    def is_windowed(self) -> bool:
        """Whether it is a view without event time, whose rows are those of the window of the query that asks."""
        made = self.made_by or self.view
        return made is not None and made.is_windowed

    def __post_init__(self) -> None:
        if self.event_time is not None and not 0 <= self.event_time < len(self.columns):
            raise InternalError(f"event time of {self.name} is not one of its columns")

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns without those that are fields of others."""
        return tuple(column for column in self.columns if column.inside is None)

    def path(self, column: int) -> tuple[str, ...]:
        """The names that lead to a column: of a field that of the column it is in first."""
        own = self.columns[column]
        if own.inside is None:
            return (own.name,)
        whole = self.columns[own.inside[0]].type
        assert isinstance(whole, StructType)
        return (*self.path(own.inside[0]), whole.fields[own.inside[1]][0])

    def field(self, column: int, number: int) -> int | None:
        """Where the column of a field of a STRUCT column is, if there is one."""
        place = (column, number)
        for at in range(len(self.columns) - 1, -1, -1):
            inside = self.columns[at].inside
            if inside is not None and inside == place:
                return at
        return None

    @property
    def is_stream(self) -> bool:
        return self.event_time is not None

    @property
    def time_type(self) -> ColumnType:
        """The type of the event-time column: TIMESTAMP, BIGINT or DOUBLE (numbers count seconds)."""
        if self.event_time is None:
            raise InternalError(f"table {self.name} has no event time")
        return self.columns[self.event_time].type

    def position(self, column: str) -> int | None:
        """Where a column of this name is, matching case-insensitively."""
        wanted = fold(column)
        for at, candidate in enumerate(self.columns):
            if fold(candidate.name) == wanted:
                return at
        return None


@record
class Settings:
    """SET statements; None where the program says nothing.

    How much past is kept, after how much silence a stream stops holding others back, how far ahead of its stream a row
    may be (0: any distance), and after how much silence a key of OVER starts anew.
    """

    retention_us: int | None = None
    idle_us: int | None = None
    max_ahead_us: int | None = None
    key_idle_us: int | None = None


@record
class SinkDeclaration:
    """A declared sink: its type and its options, keys folded; secrets are places, not values."""

    name: str
    type: str
    options: Mapping[str, str] = field(hash=False)
    folder: str = field(compare=False)
    span: Span = field(compare=False, repr=False)


@record
class Catalog:
    """Everything a query can name, by folded name."""

    relations: Mapping[str, Relation]
    settings: Settings = Settings()
    views: Mapping[str, Relation] = field(default_factory=dict)
    sinks: Mapping[str, SinkDeclaration] = field(default_factory=dict)
    parameters: Mapping[str, Literal] = field(default_factory=dict)
    templates: Mapping[str, CreateQuery] = field(default_factory=dict)  # queries with parameters

    @property
    def readable(self) -> dict[str, Relation]:
        """What FROM can name: streams, tables and views."""
        return {**self.relations, **self.views}

    def find(self, name: str) -> Relation | None:
        return self.relations.get(fold(name))
