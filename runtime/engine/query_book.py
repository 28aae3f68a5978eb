"""Which queries run in an engine: their names and registrations, and how much those that have left had found.

A name may be used again when its query has left. A handle knows which registration it stands for, so that a handle of the
first query is not taken for one of the second.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.arguments import expect
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_GONE = 10_000  # queries that have left and whose results are still told
_engines = itertools.count(1)


@record
class QueryHandle:
    """A registered query: what `register` gives and `invoke` and `unregister` take."""

    name: str
    number: int = 0  # of the registration, because a name may be used again; 0 stands for whatever has the name
    engine: int = 0  # which engine gave it; 0 stands for any
    warnings: tuple[str, ...] = field(default=(), compare=False)  # what its author should know


@dataclass(slots=True)
class Registration:
    """One query that runs."""

    number: int
    text: str | None  # None for a query of the program, whose node in the graph has it
    since: Mapping[str, int]  # how many tuples of each stream had come, by folded name
    results_before: int = 0  # that its seat had found for others
    seconds_before: float = 0.0  # of work that was credited to its seat
    warnings: tuple[str, ...] = ()  # that were given when it was registered


@dataclass(slots=True)
class QueryBook:
    """The registrations of one engine."""

    running: dict[str, Registration] = field(default_factory=dict)  # by name, in order
    taken: dict[str, str] = field(default_factory=dict)  # folded name -> name; reserved ones too
    gone: dict[str, int] = field(default_factory=dict)  # results of queries that have left, by name
    _engine: int = field(default_factory=lambda: next(_engines))
    _last_number: int = 0

    def add(self, name: str, text: str | None, since: Mapping[str, int]) -> Registration:
        """Note a query that comes."""
        self._last_number += 1
        self.taken[fold(name)] = name
        if self.running:  # queries that come together have one mapping
            newest = next(reversed(self.running.values())).since
            since = newest if newest == since else since
        self.running[name] = made = Registration(self._last_number, text, since)
        return made

    def remove(self, name: str, results: int | None) -> None:
        """Note that a query leaves with so many results; None for one that never began."""
        del self.taken[fold(name)], self.running[name]
        if results is None:
            return
        self.gone[name] = self.gone.pop(name, 0) + results
        if len(self.gone) > _MOST_GONE:
            del self.gone[next(iter(self.gone))]

    def handle(self, name: str) -> QueryHandle:
        """What stands for the query that has a name now."""
        known = self.running[name]
        return QueryHandle(name, known.number, self._engine, known.warnings)

    def name_of(self, query: QueryHandle | str) -> str:
        """The name of a query that runs, as it was registered.

        Raises:
            RunError: when it does not run, or the handle is of another query.
        """
        if type(query) is str:  # a known name is found before anything is checked
            known = self.taken.get(fold(query))
            if known in self.running:
                return known
        expect(
            query,
            str | QueryHandle,
            "the engine",
            "a query's name, or what engine.register gave",
        )
        asked = query.name if isinstance(query, QueryHandle) else query
        if isinstance(query, QueryHandle) and query.engine not in (0, self._engine):
            raise RunError(f"query {asked} was registered with another engine")
        name = self.taken.get(fold(asked))
        if name is None or name not in self.running:
            raise RunError(f"there is no query {asked}")
        if isinstance(query, QueryHandle) and query.number not in (0, self.running[name].number):
            raise RunError(f"query {asked} was unregistered; another one has its name now")
        return name
