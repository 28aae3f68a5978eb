"""Who runs a case: an executor takes the steps one by one and hands back what it found.

`EngineExecutor` is the engine of this process; `spark_executor` has the one on Spark.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.cases.cells import Value, from_datetime, to_datetime
from cqc.runtime.engine.engine import Engine
from cqc.runtime.sinks.protocol import shape_of_query

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.compiler.meaning.bound import Query
    from cqc.runtime.deliver.results import Result

Row = tuple[Value, ...]
Timed = tuple[int, Row]
Inputs = Sequence[tuple[str, Row]]  # rows in order of arrival, with their stream or table


class Executor(Protocol):
    """Runs one program."""

    def push(self, inputs: Inputs) -> None: ...
    def register(self, text: str) -> Query: ...
    def unregister(self, name: str) -> None: ...
    def invoke(self, name: str, at_us: int | None) -> list[Row]: ...
    def results(self) -> dict[str, list[Timed]]: ...


class EngineExecutor:
    """The in-process engine; rows between two other steps are cut into micro-batches at random."""

    def __init__(self, program: Program, *, sharing: bool = True, seed: int = 0) -> None:
        self.program = program
        self.queries = {query.name: query for query in program.queries}
        self.engine = Engine(program, sharing=sharing)
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
        named: dict[str, object] = {}
        columns = self.program.catalog.relations[fold(name)].declared
        for column, value in zip(columns, row, strict=True):
            inside = named
            for key in column.keys[:-1]:
                inside = inside.setdefault(key, {})  # type: ignore[assignment]  # only objects there
            inside[column.keys[-1]] = shown(value, column.type)
        return named

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
            found[result.query].append((time_us(time), row_of(result)))
        return found


def row_of(result: Result) -> Row:
    """The values of a result; those of an alert come after its state, since when, and how often."""
    row = tuple(map(plain, result.row.values()))
    if result.alert is None:
        return row
    told = result.alert
    return (told["state"], plain(told["since"]), told["count"], *row)


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
    if isinstance(value, datetime):
        return from_datetime(value)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    return value  # a DECIMAL, bytes, or a nested value, whose parts are told as they are


def time_us(time: object) -> int:
    if isinstance(time, int | float):
        return round(time * 1_000_000)
    return from_datetime(time)  # type: ignore[arg-type]  # a datetime
