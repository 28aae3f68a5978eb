"""The queries in force while a run goes on: registered, replaced and removed as their files change.

The wanted set is compared with the running one by name and text; only the difference is registered or unregistered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.engine.snapshot import QueryState, same_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler import Program
    from cqc.runtime.engine.query_book import QueryHandle


class Registrar(Protocol):
    """Where queries are registered: an engine, or what stands for many."""

    def register(self, text: str, name: str | None = None) -> QueryHandle: ...

    def unregister(self, query: QueryHandle | str) -> None: ...


class QuerySet:
    """The running queries by name and text, in the order of their registration."""

    def __init__(self, registrar: Registrar, running: Sequence[QueryState]) -> None:
        self._registrar = registrar
        self._running = {fold(query.name): query for query in running}

    @property
    def running(self) -> list[QueryState]:
        return list(self._running.values())

    def add(self, text: str, name: str | None = None) -> QueryHandle:
        """Register a query.

        Raises:
            CompileError: when the text has errors.
        """
        handle = self._registrar.register(text, name)
        self._running[fold(handle.name)] = QueryState(handle.name, text, {})
        return handle

    def remove(self, query: QueryHandle | str) -> None:
        """Unregister a query."""
        self._registrar.unregister(query)
        self._running.pop(fold(query if isinstance(query, str) else query.name), None)

    def change_to(
        self, wanted: dict[str, str], between: Callable[[], None] = lambda: None
    ) -> list[str]:
        """Let the queries of these names and texts run, and no others; what changed, in words.

        `between` is called when those that go have gone.

        Raises:
            CompileError: when a text has errors.
        """
        changes: list[str] = []
        for query in self.running:
            text = wanted.get(query.name)
            if text is None or not same_text(text, query.text):
                self.remove(query.name)
                if text is None:
                    changes.append(f"query {query.name} removed")
        between()
        replaced = {query.name for query in self._running.values()}
        for name, text in wanted.items():
            if name not in replaced:
                self.add(text, name)
                changes.append(f"query {name} registered")
        return changes


def texts_of(program: Program, only: Sequence[str]) -> dict[str, str]:
    """The queries of a program by name, each as text."""
    chosen = {fold(name) for name in only}
    return {
        node.name: program.text_of(node.name)
        for node in program.graph.queries.values()
        if not chosen or fold(node.name) in chosen
    }


def first_set(registrar: Registrar, program: Program, only: Sequence[str]) -> QuerySet:
    """The queries that an engine was made with."""
    texts = texts_of(program, only)
    return QuerySet(registrar, [QueryState(name, text, {}) for name, text in texts.items()])
