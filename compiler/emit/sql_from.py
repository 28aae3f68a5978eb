"""The parts of a SELECT that push and pull queries have in common: event times, conditions, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.emit.sql_expression import Writer
    from cqc.compiler.meaning import bound
    from cqc.compiler.meaning.catalog import Relation


def select(outputs: Sequence[str], sources: Sequence[str], conditions: Sequence[str]) -> str:
    text = "SELECT " + ",\n       ".join(outputs) + "\nFROM   " + ",\n       ".join(sources)
    return text + ("\nWHERE  " + "\n  AND  ".join(conditions) if conditions else "")


def write_outputs(query: bound.Query, writer: Writer) -> list[str]:
    return [
        f"{writer.write(output.expression)} AS {writer.dialect.identifier(output.name)}"
        for output in query.outputs
    ]


def time_column(query: bound.Query, item: int) -> int:
    """The event-time column of a stream item."""
    position = query.items[item].relation.event_time
    if position is None:
        raise InternalError(f"{query.items[item].alias} is no stream")
    return position


def time_us(words: Dialect, query: bound.Query, item: int, qualifier: str | None = None) -> str:
    """The event time of an item in microseconds."""
    relation = query.items[item].relation
    return relation_time_us(words, relation, qualifier or words.identifier(query.items[item].alias))


def relation_time_us(words: Dialect, relation: Relation, qualifier: str) -> str:
    """The event time of a stream in microseconds."""
    assert relation.event_time is not None
    column = f"{qualifier}.{words.identifier(relation.columns[relation.event_time].name)}"
    return instant_us(words, column, relation.time_type)


def instant_us(words: Dialect, column: str, type_: ColumnType) -> str:
    """A column of instants in microseconds."""
    match type_:
        case ColumnType.TIMESTAMP:
            return words.timestamp_us(column)
        case ColumnType.BIGINT:
            return f"({column} * 1000000)"
        case _:
            return words.double_seconds_us(column)


def largest(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"greatest({', '.join(parts)})"


def smallest(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"least({', '.join(parts)})"


def conditions_of(query: bound.Query, writer: Writer) -> list[str]:
    """Rules 1 to 3, and no tuple without an event time."""
    words = writer.dialect
    streams = query.stream_items
    times = {at: time_us(words, query, at) for at in streams}
    conditions = [f"({writer.column(at, time_column(query, at))} IS NOT NULL)" for at in streams]
    conditions += [writer.write(part) for part in (query.where, query.window) if part is not None]
    newest, oldest = largest(list(times.values())), smallest(list(times.values()))
    if query.max_window_us is not None and len(streams) > 1:
        conditions.append(f"({newest} - {oldest} <= {query.max_window_us})")
    for at in streams:
        range_us = query.items[at].range_us
        if range_us is not None and len(streams) > 1:
            conditions.append(f"({newest} <= {times[at]} + {range_us})")
    return conditions


def numbered(words: Dialect, table: str) -> str:
    """A table whose rows know the order in which they arrived."""
    return f"(SELECT *, {words.arrival()} AS {words.identifier('@arrival')} FROM {table})"
