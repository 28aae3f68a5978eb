"""CACQ's input: a source of random whole numbers with queries over its fields, and stock quotes with news articles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import cqc
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.intake.typed_batch import TypedBatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

FIELDS = "abcde"
BATCH = 8192
_STEP_US = 100

# The queries of the routing comparison (table 3): the first field's condition is in all of them.
NESTED = ("a > 90", "b > 70", "c > 50", "d > 30", "e > 10")
# Queries as they arrive, one after the other: independent ones, some that share filters, and overlapping conjunctions.
WORKLOADS = {
    "1: independent": ("a > 10", "b > 30", "c > 50", "d > 70", "e > 90"),
    "2: shared filters": (
        "a > 50", "a > 60 AND b > 50", "a > 70 AND b > 60", "a > 80 AND b > 70 AND c > 50", "a > 90 AND b > 80 AND c > 60",
    ),
    "3: overlapping": (
        "a > 90", "a > 90 AND b > 70", "b > 70 AND c > 50", "c > 50 AND d > 30", "d > 30 AND e > 10",
    ),
}  # fmt: skip


def source(names: Sequence[str] = ("S",)) -> str:
    """The declarations of sources with five fields each."""
    fields = ", ".join(f"{field} BIGINT" for field in FIELDS)
    return "".join(f"CREATE STREAM {name} (ts TIMESTAMP, {fields});\n" for name in names)


def nested_queries() -> list[str]:
    """Each query has the conditions of the one before it, and one more."""
    return [f"SELECT ts FROM S WHERE {' AND '.join(NESTED[: at + 1])}" for at in range(len(NESTED))]


def random_queries(count: int, sources: Sequence[str] = ("S",), seed: int = 7) -> list[str]:
    """Queries with a condition on about half of the fields, as in the paper's scaling experiments."""
    random = np.random.default_rng(seed)
    queries = []
    for at in range(count):
        chosen = [field for field in FIELDS if random.random() < 0.5] or ["a"]
        conditions = [
            f"{field} {'<>'[int(random.integers(2))]} {int(random.integers(100))}"
            for field in chosen
        ]
        name = sources[at % len(sources)]
        queries.append(f"SELECT ts FROM {name} WHERE {' AND '.join(conditions)}")
    return queries


def field_batches(
    count: int, names: Sequence[str] = ("S",), batch: int = BATCH, seed: int = 1
) -> list[dict[str, TypedBatch]]:
    """So many micro-batches of uniform values in 0..99 for each source."""
    random = np.random.default_rng(seed)
    batches = []
    for number in range(count):
        ts_us = (np.arange(batch, dtype=np.int64) + number * batch) * _STEP_US
        columns = [random.integers(0, 100, (len(FIELDS), batch)) for _ in names]
        batches.append(
            {name: _taken(ts_us, list(own)) for name, own in zip(names, columns, strict=True)}
        )
    return batches


def turned(batches: Sequence[Mapping[str, TypedBatch]]) -> list[dict[str, TypedBatch]]:
    """The same tuples with the fields in the opposite order."""
    found = []
    for batch in batches:
        ts, *fields = batch["S"].columns
        found.append({"S": TypedBatch((ts, *fields[::-1]), batch["S"].ts_us, len(batch["S"]))})
    return found


def swapping_batches(count: int, every: int, batch: int = BATCH) -> list[dict[str, TypedBatch]]:
    """The source whose fields a and b take turns, every so many micro-batches, in who passes its conditions."""
    random = np.random.default_rng(3)
    batches = []
    for number in range(count):
        ts_us = (np.arange(batch, dtype=np.int64) + number * batch) * _STEP_US
        values = random.integers(0, 100, (len(FIELDS), batch))
        passes = number // every % 2
        values[passes] = 90 + values[passes] // 10
        batches.append({"S": _taken(ts_us, list(values))})
    return batches


def _taken(ts_us: NDArray[np.int64], values: Sequence[NDArray[np.int64]]) -> TypedBatch:
    columns = [Column(ColumnType.TIMESTAMP, ts_us)]
    columns += [Column(ColumnType.BIGINT, each) for each in values]
    return TypedBatch(tuple(columns), ts_us, len(ts_us))


# Stocks and articles

STOCKS = """
CREATE STREAM stocks (ts TIMESTAMP, symbol BIGINT, price DOUBLE);
CREATE STREAM articles (ts TIMESTAMP, symbol BIGINT, article BIGINT);
"""
JOINED = "CREATE STREAM joined (ts TIMESTAMP, price DOUBLE, article BIGINT);\n"
_JOIN = "stocks.symbol = articles.symbol MAXWINDOW 2 SEC"


def stock_queries(limits: Sequence[str]) -> str:
    """Quotes below a limit (or that meet another condition) with their articles."""
    return "".join(
        f"SELECT stocks.price, articles.article FROM stocks, articles WHERE {limit} AND {_JOIN};\n"
        for limit in limits
    )


def pulled_up(limits: Sequence[str]) -> tuple[str, str]:
    """The join without selections, and the selections over what it gives."""
    join = f"SELECT stocks.price, articles.article FROM stocks, articles WHERE {_JOIN};\n"
    selections = "".join(f"SELECT price, article FROM joined WHERE {limit};\n" for limit in limits)
    return STOCKS + join, JOINED + selections


def stock_batches(count: int, fan_out: int, batch: int = 2000) -> list[dict[str, TypedBatch]]:
    """Each quote has a symbol of its own within the window, and so many articles about it."""
    random = np.random.default_rng(9)
    batches = []
    for number in range(count):
        ts_us = np.arange(batch, dtype=np.int64) * (1_000_000 // batch) + number * 1_000_000
        symbols = random.permutation(batch).astype(np.int64)
        quotes = (symbols, random.uniform(0, 100, batch))
        symbols_of_articles = np.repeat(random.permutation(batch), fan_out).astype(np.int64)
        article_ts = np.repeat(ts_us, fan_out)
        numbers = np.arange(len(article_ts), dtype=np.int64)
        batches.append(
            {
                "articles": TypedBatch(
                    (
                        Column(ColumnType.TIMESTAMP, article_ts),
                        Column(ColumnType.BIGINT, symbols_of_articles + number * batch),
                        Column(ColumnType.BIGINT, numbers),
                    ),
                    article_ts,
                    len(article_ts),
                ),
                "stocks": TypedBatch(
                    (
                        Column(ColumnType.TIMESTAMP, ts_us),
                        Column(ColumnType.BIGINT, quotes[0] + number * batch),
                        Column(ColumnType.DOUBLE, quotes[1]),
                    ),
                    ts_us,
                    batch,
                ),
            }
        )
    return batches


def slow_condition(rounds: int = 120) -> None:
    """Register `worth(x)`, which takes about as long as so many square roots."""

    def worth(values: NDArray[np.float64]) -> NDArray[np.float64]:
        held = np.asarray(values, np.float64)
        for _ in range(rounds):
            held = np.sqrt(held * held + 0.0)
        return held

    cqc.function("worth", worth, returns="DOUBLE")
