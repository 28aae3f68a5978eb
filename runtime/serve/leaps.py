"""How far a client's rows may carry event time at once.

A query with EVERY has an answer for each of its instants. One row with a time far in the future makes all instants up to it
due, and nobody else would be served while millions of them are answered; such rows are refused before the engine sees them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.catalog import fold
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from cqc.compiler.graph.nodes import QueryNode
    from cqc.runtime.engine import Engine
    from cqc.runtime.intake import Taken


class Leaps:
    """Knows the periods of the queries with EVERY."""

    def __init__(self) -> None:
        self._periods: dict[str, dict[str, int]] = {}  # by folded stream: query -> period

    def add(self, node: QueryNode) -> None:
        """A query has come."""
        if node.pull is not None and node.pull.every_us is not None:
            for relation in node.body.relations:
                self._periods.setdefault(fold(relation.name), {})[node.name] = node.pull.every_us

    def remove(self, name: str) -> None:
        """A query has gone."""
        for periods in self._periods.values():
            periods.pop(name, None)

    def check(self, engine: Engine, stream: str, rows: Taken, most: int) -> None:
        """Whether rows of a stream make no more than so many instants due.

        Raises:
            Refusal: when they make more.
        """
        periods = self._periods.get(fold(stream))
        if not periods or not len(rows):
            return
        to_us = int(rows.ts_us.max())
        line = engine.lines[fold(stream)]
        first_us = int(rows.ts_us.min()) if line.first_us is None else line.first_us
        if (to_us - first_us) // min(periods.values()) * len(periods) <= most:
            return
        starts = engine.next_instants()
        due = {
            name: max(to_us - starts.get(name, first_us), 0) // every_us
            for name, every_us in periods.items()
        }
        if sum(due.values()) > most:
            name = max(due, key=lambda each: due[each])
            raise Refusal(
                Status.INVALID,
                f"these rows are too far ahead: query {name} would have {due[name]:,} instants to answer, "
                f"the limit for all queries is {most:,}",
            )
