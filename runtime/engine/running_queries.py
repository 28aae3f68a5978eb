"""Queries come and go: what is built for one, what is dropped when it leaves, and what it found and cost so far.

Queries that ask the same share a seat at an operator, which counts for all of them together; what a seat had found and cost
before a query came is not the query's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.engine.query_book import QueryBook
from cqc.runtime.engine.snapshot import QueryState
from cqc.runtime.errors import RunError
from cqc.runtime.join.execute.bounded_queues import TooMuchFound
from cqc.runtime.join.execute.result_limits import Flood

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.deliver.deliver import Deliveries
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.pull.pull_queries import PullQueries


class RunningQueries:
    """The queries of one engine, in its operators and in its book."""

    def __init__(self, circuit: Circuit, deliveries: Deliveries, pulls: PullQueries) -> None:
        self.book = QueryBook()
        self._circuit = circuit
        self._deliveries = deliveries
        self._pulls = pulls

    def add(self, query: NormalQuery, text: str | None, since: Mapping[str, int]) -> None:
        """Answer a query from now on.

        Args:
            query: under a name that is free.
            text: as it was written; None for one of the program.
            since: how many tuples of each stream have come.

        Raises:
            RunError: when the retained past has too much for it; nothing changes then.
        """
        watch = self._circuit.watch
        watch.forget(query.name)
        node, seat = self._circuit.add(query)
        added = self.book.add(node.name, text, since)
        added.seconds_before = self._circuit.seconds(node.name)
        if node.pull is None:
            self._deliveries.add(node, seat)
            added.results_before = seat.results
            return
        try:
            self._pulls.add(node, seat, self._circuit)
        except (TooMuchFound, Flood) as error:
            self._circuit.remove(node.name)
            self.book.remove(node.name, None)
            watch.forget(node.name)
            why = (
                f"would make more than {self._pulls.most_past:,} combinations of the retained past"
            )
            if isinstance(error, Flood):
                why = f"was given up while it was joined with the retained past: {error.why}"
            raise RunError(f"query {node.name} {why}") from error

    def remove(self, name: str) -> None:
        """Drop a query and what only it used."""
        self._circuit.watch.forget(name)
        results, node = self.results(name), self._circuit.query(name)
        if node.pull is None:
            self._deliveries.remove(node, self._circuit.seat(name))
        else:
            self._pulls.remove(node)
        self._circuit.remove(name)
        self.book.remove(name, results)

    def results(self, name: str) -> int:
        """What a query has found since it came."""
        if self._circuit.query(name).pull is not None:
            return self._pulls.results_of(name)
        return self._circuit.seat(name).results - self.book.running[name].results_before

    def seconds(self, name: str) -> float:
        """Work for a query that was measured since it came."""
        joined = self._circuit.seconds(name) - self.book.running[name].seconds_before
        return max(joined, 0.0) + self._pulls.seconds_of(name)

    # What a snapshot holds

    def states(self) -> list[QueryState]:
        """The queries in the order in which they came."""
        return [
            QueryState(
                name,
                self._circuit.query(name).span.text if each.text is None else each.text,
                each.since,
                self.results(name),
            )
            for name, each in self.book.running.items()
        ]

    def count_from(self, name: str, results: int) -> None:
        """Let a query have so many results now."""
        if self._circuit.query(name).pull is not None:
            self._pulls.set_results(name, results)
        else:
            self.book.running[name].results_before += self.results(name) - results
