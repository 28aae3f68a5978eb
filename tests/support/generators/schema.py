"""Random declarations: a few streams and a table whose columns cover every type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

SECOND_US = 1_000_000


@dataclass(frozen=True)
class ColumnDeclared:
    name: str
    type: str


@dataclass(frozen=True)
class Declared:
    """A stream (with its delay) or a table (delay None)."""

    name: str
    columns: tuple[ColumnDeclared, ...]
    delay_us: int | None

    @property
    def is_stream(self) -> bool:
        return self.delay_us is not None

    @property
    def text(self) -> str:
        kind = "STREAM" if self.is_stream else "TABLE"
        parts = [f"{column.name} {column.type}" for column in self.columns]
        if self.delay_us:
            parts.append(f"WATERMARK FOR ts AS ts - INTERVAL '{self.delay_us // 1000}' MS")
        return f"CREATE {kind} {self.name} ({', '.join(parts)});"


# k is a join key of few values, x holds boundary values, d is exact in binary, w is anything.
VALUE_COLUMNS = (
    ColumnDeclared("k", "BIGINT"),
    ColumnDeclared("x", "BIGINT"),
    ColumnDeclared("d", "DOUBLE"),
    ColumnDeclared("w", "DOUBLE"),
    ColumnDeclared("s", "STRING"),
    ColumnDeclared("f", "BOOLEAN"),
    ColumnDeclared("u", "TIMESTAMP"),
    ColumnDeclared("y", "DATE"),
)


def random_schema(rng: Random) -> list[Declared]:
    """Streams A to D and the table P; event times are all TIMESTAMP, or all numbers."""
    numeric = rng.random() < 0.3
    declared = []
    for name in "ABCD":
        time_type = rng.choice(["BIGINT", "DOUBLE"]) if numeric else "TIMESTAMP"
        delay_us = rng.choice([0, 0, SECOND_US, 2_500_000])
        declared.append(Declared(name, random_columns(rng, time_type), delay_us))
    return [*declared, Declared("P", (*VALUE_COLUMNS[:3], VALUE_COLUMNS[4]), None)]


def random_columns(rng: Random, time_type: str) -> tuple[ColumnDeclared, ...]:
    columns = [VALUE_COLUMNS[0], *rng.sample(VALUE_COLUMNS[1:], rng.randint(3, 6))]
    columns.insert(rng.randint(0, 2), ColumnDeclared("ts", time_type))
    return tuple(columns)
