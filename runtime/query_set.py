"""The queries in force while a run goes on: registered, replaced and removed as their files change.

The wanted set is compared with the running one by name and text; only the difference is registered or unregistered, and each
registration remembers its place in the input, so that a checkpoint can repeat it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.catalog import fold
from cqc.runtime.engine_state import QueryState, arrivals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler import Program
    from cqc.runtime.engine import Engine


class QuerySet:
    """The running queries of an engine, in the order of their registration."""

    def __init__(self, engine: Engine, running: Sequence[QueryState]) -> None:
        self._engine = engine
        self._running = {fold(query.name): query for query in running}

    @property
    def running(self) -> list[QueryState]:
        return list(self._running.values())

    def change_to(self, wanted: dict[str, str]) -> list[str]:
        """Let the queries of these names and texts run, and no others; what changed, in words.

        Raises:
            CompileError: when a text has errors.
        """
        changes: list[str] = []
        for key, query in list(self._running.items()):
            text = wanted.get(query.name)
            if text is None or text.split() != query.text.split():
                self._engine.unregister(query.name)
                del self._running[key]
                if text is None:
                    changes.append(f"query {query.name} removed")
        replaced = {query.name for query in self._running.values()}
        for name, text in wanted.items():
            if name not in replaced:
                self._engine.register(text, name)
                self._running[fold(name)] = QueryState(name, text, arrivals(self._engine))
                changes.append(f"query {name} registered")
        return changes


def texts_of(program: Program, only: Sequence[str]) -> dict[str, str]:
    """The queries of a program by name, each as text."""
    chosen = {fold(name) for name in only}
    return {
        node.name: node.span.text
        for node in program.graph.queries.values()
        if not chosen or fold(node.name) in chosen
    }


def first_set(engine: Engine, program: Program, only: Sequence[str]) -> QuerySet:
    """The queries that an engine was made with."""
    texts = texts_of(program, only)
    return QuerySet(engine, [QueryState(name, text, {}) for name, text in texts.items()])
