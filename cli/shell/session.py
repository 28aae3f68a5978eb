"""What a shell talks to: this process (`local_session`) or a service (`service_session`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic


class ShellError(click.ClickException):
    """A statement or command that cannot be done; the shell goes on."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to show: texts by column, and which columns are numbers. `more` rows were found and are not among them."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    more: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """What can be named in a statement, for completion: columns by stream or table, and queries."""

    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    queries: tuple[str, ...] = ()


class Session(Protocol):
    """Takes statements, and knows what there is."""

    def execute(self, statement: str, limit: int | None) -> Table | str:
        """Do what a statement says; a table, or a sentence about what was done.

        Raises:
            CompileError, RunError, ShellError, ServiceError: when that cannot be done.
        """

    def run(self, name: str, limit: int | None) -> Table | str:
        """The results of a query that has a name."""

    def describe(self, name: str | None) -> Table | str:
        """What there is, or what one stream, table or query is."""

    def plan(self, query: str) -> str:
        """How a query, by its name or its text, is answered."""

    def drop(self, name: str) -> str:
        """Forget a query."""

    def bind(self, name: str, path: str) -> str:
        """Read a stream or table from a file or folder."""

    def diagnose(self, text: str) -> Sequence[Diagnostic]:
        """What is wrong with a text, without doing anything."""

    def names(self) -> Names:
        """What can be completed."""
