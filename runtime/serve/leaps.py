"""How many instants of queries with EVERY one micro-batch may make due.

A query with EVERY has an answer for each of its instants. One row with a time far in the future makes all instants up to it
due, and nobody else would be served while millions of them are answered. Where there would be too many, either the rows are to
blame or a query is. Rows that are too far ahead even for queries that ask once a second are refused; else the queries that ask
more often than that are stopped, those with most instants first, and all others go on.

    EVERY 1 US and EVERY 1 MINUTE, a row that is an hour ahead: the first would have 3,600,000,000 instants, and is stopped
    EVERY 1 MINUTE, a row that is ten years ahead: 5,259,600 instants; the row is refused
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import declared_beneath
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.intake.typed_batch import TypedBatch

_SECOND_US = 1_000_000


class Leaps:
    """Knows the periods of the queries with EVERY."""

    def __init__(self) -> None:
        self._periods: dict[str, dict[str, int]] = {}  # by folded stream: query -> period

    def add(self, node: QueryNode) -> None:
        """Note the period of a new query."""
        if node.pull is not None and node.pull.every_us is not None:
            for relation in declared_beneath(node.relations):
                self._periods.setdefault(fold(relation.name), {})[node.name] = node.pull.every_us

    def remove(self, name: str) -> None:
        """Forget the period of a query."""
        for periods in self._periods.values():
            periods.pop(name, None)

    def too_many(
        self, engine: Engine, rows: Mapping[str, TypedBatch], most: int, *, may_refuse: bool
    ) -> dict[str, str]:
        """The queries that must be stopped before these rows are processed, each with why.

        Args:
            engine: knows how far everything is.
            rows: a micro-batch, by stream.
            most: so many instants may become due.
            may_refuse: whether the rows can be refused; else every query can be stopped.

        Raises:
            Refusal: when the rows are to blame.
        """
        stopped: dict[str, str] = {}
        for stream, taken in rows.items():
            stopped |= self._of_stream(engine, stream, taken, most, may_refuse=may_refuse)
        return stopped

    def _of_stream(
        self, engine: Engine, stream: str, rows: TypedBatch, most: int, *, may_refuse: bool
    ) -> dict[str, str]:
        periods = self._periods.get(fold(stream))
        if not periods or not len(rows):
            return {}
        span_us = engine.lines[fold(stream)].span_us(rows)
        if span_us is None:
            return {}
        first_us, to_us = span_us
        if (to_us - first_us) // min(periods.values()) * len(periods) <= most:
            return {}
        starts = engine.next_instants()
        ahead_us = {name: max(to_us - starts.get(name, first_us), 0) for name in periods}
        due = {name: ahead_us[name] // every_us for name, every_us in periods.items()}
        by_second = {name: ahead_us[name] // max(periods[name], _SECOND_US) for name in periods}
        if may_refuse and sum(by_second.values()) > most:
            name = max(due, key=lambda each: due[each])
            raise Refusal(
                Status.INVALID,
                f"these rows are too far ahead: query {name} would have {due[name]:,} instants to answer, "
                f"the limit for all queries is {most:,}",
            )
        total = sum(due.values())
        stopped = {}
        for name in sorted(due, key=lambda each: due[each], reverse=True):
            if total <= most:
                break
            if periods[name] < _SECOND_US or not may_refuse:
                total -= due[name]
                stopped[name] = (
                    f"its EVERY had {due[name]:,} instants to answer at once, the limit for all queries is {most:,}"
                )
        return stopped
