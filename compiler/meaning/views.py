"""What a view is: a stream, or the rows of a window, made by a query.

A view, a sub-query in FROM and an entry of WITH are the same thing under different names: a `Relation` with the bound queries
that make it. Normalised, it is a `DerivedStream`, which the runtime feeds; views of equal content have one name then.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.compiler.meaning.window_columns import WindowColumn
    from cqc.compiler.syntax.tree import CreateView

TIME_COLUMN = "ts"
"""The column that stands before the others where no output is the event time."""


@record
class Unnest:
    """One row for each element of the array (or map) at an output, which the element replaces; NULL where there is none and `outer`."""

    output: int
    outer: bool
    ordinality: bool  # the number of the element, from 1, is one more column


@record
class View:
    """The queries that make a view, one a branch of UNION ALL; their outputs agree in number and type.

    `adds_time`: the first column is the event time, and no output is. `declaration`: CREATE VIEW, where it is checked too.
    """

    branches: tuple[Query, ...]
    adds_time: bool
    is_windowed: bool
    declaration: CreateView | None = field(compare=False, repr=False)
    numeric_time: bool | None  # whether the streams beneath count seconds; None over tables alone
    unnest: Unnest | None = None  # its rows are those of its one branch, with one for each element

    @property
    def is_declared(self) -> bool:
        """Whether CREATE VIEW made it."""
        return self.declaration is not None

    @property
    def query(self) -> Query:
        """The only branch."""
        (only,) = self.branches
        return only


@record
class DerivedStream:
    """A view as the runtime makes it: what feeds it, and which declared streams are beneath it."""

    title: str
    branches: tuple[NormalQuery, ...]
    adds_time: bool
    is_windowed: bool
    bases: tuple[str, ...]  # folded names of the declared streams beneath
    level: int  # 1 over declared streams alone
    inner: tuple[Relation, ...] = field(repr=False, default=())  # the derived ones it reads
    numeric_time: bool | None = None  # as in `View`
    windows: tuple[tuple[int, WindowColumn], ...] = ()  # the window columns it passes on
    unnest: Unnest | None = None  # as in `View`
    is_kind: bool = (
        False  # the rows of several views, with the number of its view in one column more
    )
