"""Every query of examples/nexmark answers as DuckDB does over the same events."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

import cqc
from cqc.benchmarks.engine.nexmark import programs
from cqc.benchmarks.engine.nexmark.batch_sql import QUERIES
from cqc.benchmarks.engine.nexmark.feed import Feed, micro_batches
from cqc.benchmarks.engine.nexmark.generator import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EVENTS, SEED = 30_000, 3


@lru_cache(maxsize=1)
def data() -> dict[str, pa.Table]:

    return events(EVENTS, SEED)


def judge() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, table in data().items():
        columns = [
            each.cast(pa.timestamp("us")) if pa.types.is_timestamp(each.type) else each
            for each in table.columns
        ]
        connection.register(name, pa.table(columns, names=table.column_names))
    return connection


def plain(row: Iterable[object]) -> tuple[object, ...]:
    found: list[object] = []
    for value in row:
        if isinstance(value, datetime):
            found.append(value.replace(tzinfo=None))
        elif isinstance(value, float):
            found.append(float(f"{value:.9g}"))
        else:
            found.append(value)
    return tuple(found)


def answer(names: Sequence[str], variants: int = 1) -> dict[str, Counter[tuple[object, ...]]]:
    feed = Feed(programs.program(tuple(names), variants))
    rows = feed.rows(micro_batches(data(), 7_000))
    return {name: Counter(map(plain, each)) for name, each in rows.items()}


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_query_answers_as_duckdb_does(name: str) -> None:
    expected = Counter(map(plain, judge().execute(QUERIES[name]).fetchall()))
    assert expected
    assert answer([name])[name] == expected


def test_all_queries_at_once_answer_as_each_alone() -> None:
    together = answer(programs.NAMES)
    connection = judge()
    for name in programs.NAMES:
        expected = Counter(map(plain, connection.execute(QUERIES[name]).fetchall()))
        assert together[name] == expected, name


def test_variants_compile_and_differ() -> None:
    program = cqc.compile(programs.program(variants=3))
    assert len(list(program.queries)) == 3 * len(programs.NAMES)
