"""Who judges and runs a `.cqt` case here: the oracle, and the engine with and without sharing.

`cqc.runtime.cases` has the runner and the executors that users have; a new way to run programs is one more entry in `EXECUTORS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.cases.executor import (
    EngineExecutor,
    Executor,
    Inputs,
    Timed,
    plain,
    shown,
    time_us,
)
from tests.support.oracle.brute_force import (
    Data,
    alert_answer,
    every_answers,
    latest_us,
    pull_answer,
    push_answer,
    shown_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import cqc
    from cqc.compiler.meaning.bound import Query
    from tests.support.oracle.scalars import Row

__all__ = [
    "EXECUTORS",
    "EngineExecutor",
    "Inputs",
    "OracleExecutor",
    "Timed",
    "plain",
    "shown",
    "time_us",
]


class OracleExecutor:
    """The brute-force oracle over everything that arrived while a query was there."""

    def __init__(self, program: cqc.Program) -> None:
        self.program = program
        self.arrived: list[tuple[str, Row]] = []
        self.since: dict[str, tuple[Query, int]] = {
            query.name: (query, 0) for query in program.queries
        }
        self.left: dict[str, int] = {}

    def push(self, inputs: Inputs) -> None:
        self.arrived.extend(inputs)

    def register(self, text: str) -> Query:
        query = self.program.bind_one(text)
        self.since[query.name] = (query, len(self.arrived))
        return query

    def unregister(self, name: str) -> None:
        self.left[name] = len(self.arrived)

    def invoke(self, name: str, at_us: int | None) -> list[Row]:
        return pull_answer(self.since[name][0], self.data(0, None), at_us)

    def results(self) -> dict[str, list[Timed]]:
        return {name: self.results_of(name) for name in self.since}

    def results_of(self, name: str) -> list[Timed]:
        query, first = self.since[name]
        last = self.left.get(name)
        if query.alert is not None:
            return self.results_of_alert(query, first, last)
        if query.pull is None:
            data = self.data(first, last)
            return push_answer(query, data.streams, data.tables)
        if query.pull.every_us is not None:
            return every_answers(query, self.data(0, last))
        return []

    def results_of_alert(self, query: Query, first: int, last: int | None) -> list[Timed]:
        """What an alert tells; one that was dropped stands at the watermark of everything that had come by then."""
        dropped_us = None
        if last is not None:
            delay_us = query.items[0].relation.delay_us
            dropped_us = (latest_us(query, self.data(0, last)) or 0) - delay_us
        found = alert_answer(query, self.data(first, last), dropped_us=dropped_us)
        relation = query.items[0].relation
        return [
            (
                each.ts_us,
                (each.state, shown_time(relation, each.since_us), each.count, *each.row),
            )
            for each in found
        ]

    def data(self, first: int, last: int | None) -> Data:
        streams: dict[str, list[tuple[Row, int]]] = {}
        tables: dict[str, list[Row]] = {}
        for position, (name, row) in enumerate(self.arrived[:last]):
            if not self.program.catalog.relations[fold(name)].is_stream:
                tables.setdefault(fold(name), []).append(row)
            elif position >= first:
                rows = streams.setdefault(fold(name), [])
                rows.append((row, len(rows)))
        return Data(streams, tables)


EXECUTORS: Mapping[str, Callable[[cqc.Program, int], Executor]] = {
    "oracle": lambda program, seed: OracleExecutor(program),
    "engine": lambda program, seed: EngineExecutor(program, sharing=True, seed=seed),
    "unshared": lambda program, seed: EngineExecutor(program, sharing=False, seed=seed),
}
