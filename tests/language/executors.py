"""Who runs a `.cqt` case: each executor takes the steps one by one and hands back what it found.

An executor is a class with the four methods below; a new way to run programs is one more class in `EXECUTORS`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Protocol

import cqc
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.sinks.protocol import shape_of_query
from tests.language.values import from_datetime, to_datetime
from tests.support.oracle.brute_force import (
    Data,
    alert_answer,
    every_answers,
    latest_us,
    pull_answer,
    push_answer,
)
from tests.support.oracle.scalars import Row, Value

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Query

Timed = tuple[int, Row]
Inputs = Sequence[tuple[str, Row]]  # rows in order of arrival, with their stream or table


class Executor(Protocol):
    """Runs one program."""

    def push(self, inputs: Inputs) -> None: ...
    def register(self, text: str) -> Query: ...
    def unregister(self, name: str) -> None: ...
    def invoke(self, name: str, at_us: int | None) -> list[Row]: ...
    def results(self) -> dict[str, list[Timed]]: ...


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
        if query.alert is not None and last is not None:
            return self.results_of_dropped(query, first, last)
        if query.pull is None:
            data = self.data(first, last)
            return push_answer(query, data.streams, data.tables)
        if query.pull.every_us is not None:
            return every_answers(query, self.data(0, last))
        return []

    def results_of_dropped(self, query: Query, first: int, last: int) -> list[Timed]:
        """An alert that was dropped: the watermark is that of everything that had come by then."""
        everything = self.data(0, last)
        delay_us = max(each.delay_us for each in self.program.streams)
        watermark_us = (latest_us(query, everything) or 0) - delay_us
        told = alert_answer(query, self.data(first, last), dropped_us=watermark_us)
        return [(each.ts_us, (each.state, each.since_us, each.count, *each.row)) for each in told]

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


class EngineExecutor:
    """The in-process engine; rows between two other steps are cut into micro-batches at random."""

    def __init__(self, program: cqc.Program, *, sharing: bool, seed: int) -> None:
        self.program = program
        self.queries = {query.name: query for query in program.queries}
        self.engine = cqc.Engine(program, sharing=sharing)
        self.rng = random.Random(seed)
        self.largest = [1, 2, 4, 1000][seed % 4]

    def push(self, inputs: Inputs) -> None:
        relations = self.program.catalog.relations
        for name, row in inputs:
            if not relations[fold(name)].is_stream:
                self.engine.push(name, [self.named(name, row)])
        waiting = [(name, row) for name, row in inputs if relations[fold(name)].is_stream]
        while waiting:
            size = self.rng.randint(1, self.largest)
            batch: dict[str, list[dict[str, object]]] = {}
            for name, row in waiting[:size]:
                batch.setdefault(fold(name), []).append(self.named(name, row))
            self.engine.push_batch(batch)
            del waiting[:size]

    def named(self, name: str, row: Row) -> dict[str, object]:
        columns = self.program.catalog.relations[fold(name)].columns
        return {
            column.name: shown(value, column.type)
            for column, value in zip(columns, row, strict=True)
        }

    def register(self, text: str) -> Query:
        query = self.program.bind_one(text)
        handle = self.engine.register(text)
        self.queries[handle.name] = query
        return query

    def unregister(self, name: str) -> None:
        self.engine.unregister(name)

    def invoke(self, name: str, at_us: int | None) -> list[Row]:
        at = None if at_us is None else self.instant(self.queries[name], at_us)
        table = self.engine.invoke(name, at=at)
        assert table.column_names == [output.name for output in self.queries[name].outputs]
        columns = [column.to_pylist() for column in table.columns]
        return [tuple(map(plain, row)) for row in zip(*columns, strict=True)]

    def instant(self, query: Query, at_us: int) -> object:
        is_number = shape_of_query(query).time_type is not ColumnType.TIMESTAMP
        return at_us / 1e6 if is_number else to_datetime(at_us)

    def results(self) -> dict[str, list[Timed]]:
        self.engine.finish()
        found: dict[str, list[Timed]] = {name: [] for name in self.queries}
        for result in self.engine.drain():
            time = result.ts if result.at is None else result.at
            row = (*told(result), *map(plain, result.row.values()))
            found[result.query].append((time_us(time), row))
        return found


def told(result: cqc.Result) -> Row:
    """What an alert says before its row: its state, since when, and how often."""
    if result.alert is None:
        return ()
    return result.alert["state"], time_us(result.alert["since"]), result.alert["count"]


def shown(value: Value, type_: ColumnType) -> object:
    """A value as a user would push it."""
    if type_ is ColumnType.TIMESTAMP and isinstance(value, int):
        return to_datetime(value).replace(tzinfo=None)
    if type_ is ColumnType.DATE and isinstance(value, int):
        return to_datetime(value * 86_400_000_000).date()
    return value


def plain(value: object) -> Value:
    if value is None or isinstance(value, int | float | str):
        return value
    if type(value) is date:
        return (value - date(1970, 1, 1)).days
    return from_datetime(value)  # type: ignore[arg-type]  # nothing else comes out


def time_us(time: object) -> int:
    if isinstance(time, int | float):
        return round(time * 1_000_000)
    return from_datetime(time)  # type: ignore[arg-type]  # a datetime


EXECUTORS: Mapping[str, Callable[[cqc.Program, int], Executor]] = {
    "oracle": lambda program, seed: OracleExecutor(program),
    "engine": lambda program, seed: EngineExecutor(program, sharing=True, seed=seed),
    "unshared": lambda program, seed: EngineExecutor(program, sharing=False, seed=seed),
}
