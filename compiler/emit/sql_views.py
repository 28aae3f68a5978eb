"""Views as common table expressions of the statement that reads them.

A view with event time is a table of its rows. One whose rows are those of a window has a column `@at` beside its outputs: its
rows for each instant that the reading statement asks about, found in that statement's `@instants`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_nested import unnested_text
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.meaning.bound import Pull, Query
    from cqc.compiler.meaning.catalog import Relation

    WriteBranch = Callable[[Query, Relation, Pull | None], str]


class ViewTables:
    """The views that one statement reads, each with its name there."""

    def __init__(
        self, query: Query, words: Dialect, write: WriteBranch, window: Pull | None = None
    ) -> None:
        """`write` makes the text of a branch of a view; `window` is that of the statement."""
        self._words = words
        self._names: dict[int, str] = {}
        self.parts: list[str] = []
        taken: set[str] = set()
        for item in query.items:
            relation = item.relation
            if relation.view is None or id(relation) in self._names:
                continue
            name = f"@{relation.name}"
            while fold(name) in taken:
                name += "'"
            taken.add(fold(name))
            self._names[id(relation)] = name
            branches = [write(branch, relation, window) for branch in relation.view.branches]
            text = "\nUNION ALL\n".join(
                branches
                if len(branches) == 1
                else [f"SELECT * FROM (\n{each}\n)" for each in branches]
            )
            if relation.view.unnest is not None:
                text = unnested_text(relation, relation.view.unnest, text, words)
            self.parts.append(f"{words.identifier(name)} AS (\n{text}\n)")

    def table(self, relation: Relation) -> str:
        """What a relation is called in the statement."""
        return self._words.identifier(self._names.get(id(relation), relation.name))


def with_views(tables: ViewTables, text: str) -> str:
    """A statement after the views that it reads."""
    return f"WITH {','.join(tables.parts)}\n{text}" if tables.parts else text


def base_streams(query: Query) -> Iterator[Relation]:
    """The declared streams beneath a query."""
    for item in query.items:
        if item.relation.view is not None:
            for branch in item.relation.view.branches:
                yield from base_streams(branch)
        elif item.relation.is_stream:
            yield item.relation


def asked_in(pull: Pull, window: Pull | None) -> Pull:
    """The clauses of a view with the window of its reader, where it has none of its own."""
    if not pull.inherits or window is None:
        return pull
    return replace(pull, begin=window.begin, end=window.end)


def cast_time(words: Dialect, text: str, given: Sequence[ColumnType], wanted: ColumnType) -> str:
    """A result time as the column of a view."""
    if all(each is wanted for each in given):
        return text
    return words.cast(text, ColumnType.BIGINT, wanted)
