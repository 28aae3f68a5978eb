"""A stream of eight whole-number attributes in Parquet files, and range queries over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = tuple(f"c{number}" for number in range(8))
HIGHEST = 1_000_000
SCHEMA = "ts BIGINT, " + ", ".join(f"{name} BIGINT" for name in COLUMNS)


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """`low <= column <= high` for two columns."""

    first: str
    first_low: int
    first_high: int
    second: str
    second_low: int
    second_high: int

    @property
    def condition(self) -> str:
        return (
            f"{self.first} BETWEEN {self.first_low} AND {self.first_high} "
            f"AND {self.second} BETWEEN {self.second_low} AND {self.second_high}"
        )


def write_files(folder: Path, files: int, rows: int) -> None:
    """Files of rows in event-time order."""
    rng = np.random.default_rng(1)
    for number in range(files):
        columns = {"ts": np.arange(number * rows, (number + 1) * rows)}
        columns |= {name: rng.integers(0, HIGHEST, rows) for name in COLUMNS}
        pq.write_table(pa.table(columns), folder / f"{number:05d}.parquet")


def range_queries(count: int, width: float = 0.03) -> list[RangeQuery]:
    """Queries that each want about one row in a thousand."""
    rng = np.random.default_rng(2)
    span = int(HIGHEST * width)
    queries = []
    for _ in range(count):
        first, second = rng.choice(len(COLUMNS), 2, replace=False)
        low, other = rng.integers(0, HIGHEST - span, 2).tolist()
        queries.append(
            RangeQuery(COLUMNS[first], low, low + span, COLUMNS[second], other, other + span)
        )
    return queries


def program_text(queries: list[RangeQuery]) -> str:
    """The queries as a program."""
    selects = [f"SELECT * FROM s WHERE {query.condition};" for query in queries]
    return "\n".join([f"CREATE STREAM s ({SCHEMA});", *selects])
