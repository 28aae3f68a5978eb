"""Queries come and go: what is built for one, what is dropped when it leaves, and what it found and cost so far.

Queries that ask the same share a seat at an operator, which counts for all of them together; what a seat had found and cost
before a query came is not the query's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import parts_of
from cqc.runtime.engine.query_book import QueryBook
from cqc.runtime.engine.snapshot import QueryState
from cqc.runtime.errors import RunError
from cqc.runtime.join.execute.bounded_queues import TooMuchFound
from cqc.runtime.join.execute.result_limits import Flood

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.engine.parts import EngineParts


def is_put_together(query: NormalQuery) -> bool:
    """Whether a query with BEGIN-END has no operators of its own: it reads views, or joins tables alone beside what it lacks."""
    parts = parts_of(query)
    if any(item.relation.made_by for part in parts for item in part.items):
        return True
    return any(
        len(part.items) > 1 and not any(item.relation.is_stream for item in part.items)
        for part in parts
    )


class RunningQueries:
    """The queries of one engine, in its operators and in its book."""

    def __init__(self, parts: EngineParts, changed: Callable[[], None]) -> None:
        """`changed` is called when a query has come or gone."""
        self.book = QueryBook()
        self._changed = changed
        self._views = parts.views
        self._absent = parts.absent
        self._asked: dict[str, QueryNode] = {}  # pull queries with outer joins or EXISTS
        self._circuit = parts.circuit
        self._deliveries = parts.deliveries
        self._pulls = parts.pulls
        self._decided = parts.decided
        self._alerts = parts.alerts

    def add(self, query: NormalQuery, text: str | None, since: Mapping[str, int]) -> None:
        """Answer a query from now on.

        Args:
            query: under a name that is free.
            text: as it was written; None for one of the program.
            since: how many tuples of each stream have come.

        Raises:
            RunError: when the retained past has too much for it; nothing changes then.
        """
        try:
            self._add(query, text, since)
        finally:
            self._changed()

    def _add(self, query: NormalQuery, text: str | None, since: Mapping[str, int]) -> None:
        watch = self._circuit.watch
        watch.forget(query.name)
        if query.pull is not None and is_put_together(query):
            self._add_nested(query, text, since)
            return
        if query.patterns:
            self._add_absent(query, text, since)
            return
        if query.pull is None:
            query = self._views.attach(query, since)
        node, seat = self._circuit.add(query)
        added = self.book.add(node.name, text, since)
        added.seconds_before = self._circuit.seconds(node.name)
        if node.decided is not None:
            self._decided.add(node, seat, since)
            return
        if node.alert is not None:
            self._alerts.add(node, seat, since)
            return
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
            raise self._too_much(node.name, error) from error

    def _too_much(self, name: str, error: TooMuchFound | Flood) -> RunError:
        why = f"would make more than {self._pulls.most_past:,} combinations of the retained past"
        if isinstance(error, Flood):
            why = f"was given up while it was joined with the retained past: {error.why}"
        return RunError(f"query {name} {why}")

    def _add_absent(self, query: NormalQuery, text: str | None, since: Mapping[str, int]) -> None:
        """Answer a query with outer joins or EXISTS, whose patterns sit at operators under names of their own."""
        if query.pull is None:
            self._absent.add(self._views.attach(query, since))
        else:
            try:
                self._asked[query.name] = self._pulls.add_absent(query, self._circuit)
            except (TooMuchFound, Flood) as error:
                raise self._too_much(query.name, error) from error
        self.book.add(query.name, text, since)

    def _add_nested(self, query: NormalQuery, text: str | None, since: Mapping[str, int]) -> None:
        """Answer a pull query over views."""
        node = self._circuit.add_aside(query)
        self.book.add(node.name, text, since)
        try:
            self._pulls.add_nested(node, query, self._circuit)
        except (TooMuchFound, Flood, RunError) as error:
            self._circuit.remove(node.name)
            self.book.remove(node.name, None)
            if isinstance(error, RunError):
                raise
            raise RunError(
                f"query {node.name} would make too many combinations of the past"
            ) from error

    def remove(self, name: str, watermarks: Mapping[str, int]) -> list[ResultBlock]:
        """Drop a query and what only it used; an alert that fires is resolved by that at its watermark."""
        try:
            return self._remove(name, watermarks)
        finally:
            self._changed()

    def _remove(self, name: str, watermarks: Mapping[str, int]) -> list[ResultBlock]:
        self._circuit.watch.forget(name)
        if name in self._absent:
            results, node = self.results(name), self.node(name)
            self._absent.remove(name)
            self._views.leave(node)
            self.book.remove(name, results)
            return []
        if name in self._asked:
            results = self.results(name)
            self._pulls.remove_absent(name, self._circuit)
            del self._asked[name]
            self.book.remove(name, results)
            return []
        results, node = self.results(name), self._circuit.query(name)
        told: list[ResultBlock] = []
        if node.decided is not None:
            self._decided.remove(node)
        elif node.alert is not None:
            told = self._alerts.remove(node, watermarks)
            results += sum(map(len, told))
        elif node.pull is None:
            self._deliveries.remove(node, self._circuit.seat(name))
        else:
            self._pulls.remove(node, self._circuit)
        self._circuit.remove(name)
        self._views.leave(node)
        self.book.remove(name, results)
        return told

    def node(self, name: str) -> QueryNode:
        """How a query stands in the shared graph."""
        if name in self._absent:
            return self._absent.queries[name].node
        if name in self._asked:
            return self._asked[name]
        return self._circuit.query(name)

    def results(self, name: str) -> int:
        """What a query has found since it came."""
        if name in self._absent:
            return self._absent.queries[name].results - self.book.running[name].results_before
        node = self.node(name)
        if node.decided is not None:
            return self._decided.results_of(name)
        if node.alert is not None:
            return self._alerts.results_of(name)
        if node.pull is not None:
            return self._pulls.results_of(name)
        return self._circuit.seat(name).results - self.book.running[name].results_before

    def seconds(self, name: str) -> float:
        """Work for a query that was measured since it came."""
        if name in self._absent:
            return sum(self._circuit.seconds(part) for part in self._absent.parts(name))
        if name in self._asked:
            return self._pulls.seconds_of(name)
        joined = self._circuit.seconds(name) - self.book.running[name].seconds_before
        return max(joined, 0.0) + self._pulls.seconds_of(name)

    # What a snapshot holds

    def states(self) -> list[QueryState]:
        """The queries in the order in which they came."""
        return [
            QueryState(
                name,
                self.node(name).span.text if each.text is None else each.text,
                each.since,
                self.results(name),
            )
            for name, each in self.book.running.items()
        ]

    def count_from(self, name: str, results: int) -> None:
        """Let a query have so many results now."""
        node = self.node(name)
        if node.decided is not None:
            self._decided.set_results(name, results)
        elif node.alert is not None:
            self._alerts.set_results(name, results)
        elif node.pull is not None:
            self._pulls.set_results(name, results)
        else:
            self.book.running[name].results_before += self.results(name) - results
