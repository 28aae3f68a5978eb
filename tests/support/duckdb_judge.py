"""A second judge: the SQL that cqc emits for a query, run by DuckDB over the same rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import duckdb

from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType, StructType

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import Relation
    from tests.support.oracle.brute_force import Data
    from tests.support.oracle.scalars import Row, Value

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TYPE_NAMES = {
    ColumnType.BIGINT: "BIGINT",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.STRING: "VARCHAR",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.TIMESTAMP: "TIMESTAMP",
    ColumnType.DATE: "DATE",
    ColumnType.BINARY: "BLOB",
}


def type_name(type_: ColumnType) -> str:
    """The type in DuckDB's words."""
    match type_:
        case ArrayType():
            return f"{type_name(type_.element)}[]"
        case MapType():
            return f"MAP({type_name(type_.key)}, {type_name(type_.item)})"
        case StructType():
            fields = ", ".join(f'"{name}" {type_name(of)}' for name, of in type_.fields)
            return f"STRUCT({fields})"
        case _:
            return TYPE_NAMES.get(type_, type_.value)


class DuckDbJudge:
    """Holds the input in DuckDB and answers queries over it."""

    def __init__(self, relations: dict[str, Relation], data: Data) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        for name, relation in relations.items():
            rows = [row for row, _ in data.streams.get(name, [])] or data.tables.get(name, [])
            self.load(relation, rows)

    def load(self, relation: Relation, rows: list[Row]) -> None:
        columns = [f'"{c.name}" {type_name(c.type)}' for c in relation.declared]
        self.connection.execute(f'CREATE TABLE "{relation.name}" ({", ".join(columns)})')
        if not rows:
            return
        special = {
            ColumnType.TIMESTAMP: "make_timestamp(CAST(? AS BIGINT))",
            ColumnType.DATE: "(DATE '1970-01-01' + CAST(? AS INTEGER))",
        }
        marks = [special.get(c.type, "?") for c in relation.declared]
        values = ", ".join([f"({', '.join(marks)})"] * len(rows))
        flat = [value for row in rows for value in row]
        self.connection.execute(f'INSERT INTO "{relation.name}" VALUES {values}', flat)

    def answer(self, sql: str) -> list[tuple[int | None, Row]]:
        """Rows with their result time, or the instant asked about, in the order DuckDB gives them."""
        found = self.connection.execute(sql).fetchall()
        return [(time_us(time), tuple(map(plain, row))) for time, *row in found]

    def close(self) -> None:
        self.connection.close()


def plain(value: object) -> Value:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    if isinstance(value, tuple):  # a struct of Spark's
        return value.asDict(recursive=True)  # type: ignore[attr-defined, no-any-return]
    assert value is None or isinstance(value, int | float | str | list | dict), repr(value)
    return value  # type: ignore[return-value]  # lists and dicts are those of nested values


def time_us(value: object) -> int | None:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, int | float):
        return round(value * 1_000_000)
    return None
