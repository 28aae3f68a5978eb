"""Runs `.cqt` cases on Spark: each stream is a folder of JSON lines that Spark watches."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.cases.cells import Value, to_datetime
from cqc.runtime.cases.executor import Inputs, Row, Timed, plain, row_of, time_us
from cqc.runtime.sinks.protocol import shape_of_query
from cqc.runtime.spark.handle import Handle, start

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler import Program
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.spark.session.session import Session


class SparkExecutor:
    """The streaming query starts with the first rows of a stream, when the tables are known."""

    def __init__(self, program: Program, session: Session, folder: Path) -> None:
        self.program = program
        self.session = session
        self.folder = folder
        self.queries = {query.name: query for query in program.queries}
        self.tables: dict[str, list[Row]] = {}
        self.handle: Handle | None = None
        self.files = 0

    def push(self, inputs: Inputs) -> None:
        rows: dict[str, list[Row]] = {}
        for name, row in inputs:
            if self.program.catalog.relations[fold(name)].is_stream:
                rows.setdefault(fold(name), []).append(row)
            else:
                self.tables.setdefault(fold(name), []).append(row)
        handle = self.started()
        for name, some in rows.items():
            self.write(self.program.catalog.relations[name], some)
        if rows:
            handle.process_all_available()

    def started(self) -> Handle:
        if self.handle is None:
            relations = self.program.catalog.relations.values()
            self.handle = start(
                self.program,
                self.session.spark,
                {relation.name: self.source(relation) for relation in relations},
            )
        return self.handle

    def source(self, relation: Relation) -> Any:  # a DataFrame
        spark = self.session.spark
        columns = ", ".join(f"`{each.name}` {each.type.value}" for each in relation.declared)
        if not relation.is_stream:
            rows = self.tables.get(fold(relation.name), [])
            typed = [tuple(map(shown, row, types(relation))) for row in rows]
            return spark.createDataFrame(typed, columns)
        place = self.folder / fold(relation.name)
        place.mkdir()
        reader = spark.readStream.schema(columns).option("allowNonNumericNumbers", "true")
        return reader.json(str(place))

    def write(self, relation: Relation, rows: list[Row]) -> None:
        self.files += 1
        names = [column.name for column in relation.declared]
        lines = [
            json.dumps(
                dict(zip(names, map(text_of, row, types(relation)), strict=True)), default=str
            )
            for row in rows
        ]
        aside = self.folder / "next"
        aside.write_text("\n".join(lines) + "\n", encoding="utf-8")
        aside.replace(self.folder / fold(relation.name) / f"{self.files:05d}.json")

    def register(self, text: str) -> Query:
        query = self.program.bind_one(text)
        handle = self.started().register(text)
        self.queries[handle.name] = query
        return query

    def unregister(self, name: str) -> None:
        self.started().unregister(name)

    def invoke(self, name: str, at_us: int | None) -> list[Row]:
        query = self.queries[name]
        at: object = None
        if at_us is not None:
            numeric = shape_of_query(query).time_type is not ColumnType.TIMESTAMP
            at = at_us / 1e6 if numeric else to_datetime(at_us)
        table = self.started().invoke(name, at=at)
        columns = [column.to_pylist() for column in table.columns]
        return [tuple(map(plain, row)) for row in zip(*columns, strict=True)]

    def results(self) -> dict[str, list[Timed]]:
        handle = self.started()
        handle.stop()
        handle.engine.finish()
        found: dict[str, list[Timed]] = {name: [] for name in self.queries}
        for result in handle.results():
            time = result.ts if result.at is None else result.at
            found[result.query].append((time_us(time), row_of(result)))
        return found


def types(relation: Relation) -> list[ColumnType]:
    return [column.type for column in relation.declared]


def shown(value: Value, type_: ColumnType) -> object:
    if type_ is ColumnType.DATE and isinstance(value, int):
        return date(1970, 1, 1) + timedelta(days=value)
    return to_datetime(value) if type_ is ColumnType.TIMESTAMP and isinstance(value, int) else value


def text_of(value: Value, type_: ColumnType) -> object:
    if type_ is ColumnType.TIMESTAMP and isinstance(value, int):
        return to_datetime(value).isoformat()
    if type_ is ColumnType.DATE and isinstance(value, int):
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    return value
