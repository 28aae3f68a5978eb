"""The theta workload in Polars and DuckDB: `python -m cqc.benchmarks.theta.peers FORM QUERIES OVERLAP TUPLES RATE`.

Runs in the environment of the peers. Prints one JSON object: CPU seconds of the whole process while it answers, and the
number of results. FORM is `polars-offline`, `polars-batch` (6 s of stream time at a time, with the 6 s before it kept) or
`duckdb-offline`. Each query is one statement, filters first; Polars joins by its inequality join.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from cqc.benchmarks.theta.workload import SECOND_US, Query, make_queries, make_streams

_BATCH_US = 6 * SECOND_US


def polars_answer(query: Query, frames: dict[str, Any], since_us: int) -> int:
    """Results of a query whose latest tuple is at or after `since_us`."""
    import polars as pl

    first, *others = query.items
    joined = _polars_item(query, frames, first)
    bound = {first}
    for item in others:
        joined = joined.join_where(
            _polars_item(query, frames, item), *_polars_conditions(query, bound, item)
        )
        bound.add(item)
    latest = pl.max_horizontal([f"{item}_ts" for item in query.items])
    return int(joined.filter(latest >= since_us).select(pl.len()).collect().item())


def _polars_item(query: Query, frames: dict[str, Any], item: str) -> Any:
    import polars as pl

    frame = frames[item]
    for each in query.filters:
        if each.item == item:
            column = pl.col(f"{item}_{each.column}")
            frame = frame.filter(_compare(column, each.op, each.constant))
    return frame


def _polars_conditions(query: Query, bound: set[str], item: str) -> list[Any]:
    import polars as pl

    conditions = []
    for theta in query.thetas:
        if item in (theta.left, theta.right) and {theta.left, theta.right} <= bound | {item}:
            left = pl.col(f"{theta.left}_{theta.left_column}")
            right = pl.col(f"{theta.right}_{theta.right_column}") * theta.scale + theta.offset
            conditions.append(_compare(left, theta.op, right))
    for order in query.orders:
        if item in (order.early, order.late) and {order.early, order.late} <= bound | {item}:
            early, late = pl.col(f"{order.early}_ts"), pl.col(f"{order.late}_ts")
            conditions += [early <= late, late <= early + order.within_us]
    for other in bound:
        mine, theirs = pl.col(f"{item}_ts"), pl.col(f"{other}_ts")
        conditions += [mine <= theirs + query.max_window_us, theirs <= mine + query.max_window_us]
    return conditions


def _compare(left: Any, op: str, right: Any) -> Any:
    match op:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def run_polars(queries: list[Query], streams: dict[str, Any], *, batched: bool) -> int:
    """All queries, over everything at once or batch by batch."""
    import polars as pl

    frames = {
        name: pl.DataFrame({f"{name}_{column}": values for column, values in columns.items()})
        for name, columns in streams.items()
    }
    if not batched:
        lazy = {name: frame.lazy() for name, frame in frames.items()}
        return sum(polars_answer(query, lazy, -1) for query in queries)
    last = max(int(columns["ts"][-1]) for columns in streams.values())
    total = 0
    for begin in range(0, last + 1, _BATCH_US):
        part = {}
        for name, frame in frames.items():
            edges = np.searchsorted(streams[name]["ts"], (begin - _BATCH_US, begin + _BATCH_US))
            part[name] = frame.slice(int(edges[0]), int(edges[1] - edges[0])).lazy()
        total += sum(polars_answer(query, part, begin) for query in queries)
    return total


def run_duckdb(queries: list[Query], streams: dict[str, Any]) -> int:
    """All queries over everything at once."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, columns in streams.items():
        connection.register(name, pa.table(dict(columns)))
        connection.execute(f"CREATE TABLE t_{name} AS SELECT * FROM {name}")
    total = 0
    for query in queries:
        (row,) = connection.execute(_sql(query)).fetchall()
        total += int(row[0])
    return total


def _sql(query: Query) -> str:
    where = [f"{each.item}.{each.column} {each.op} {each.constant!r}" for each in query.filters]
    where += [
        f"{each.left}.{each.left_column} {each.op} {each.scale!r} * {each.right}.{each.right_column} + {each.offset!r}"
        for each in query.thetas
    ]
    for order in query.orders:
        where.append(f"{order.late}.ts >= {order.early}.ts")
        where.append(f"{order.late}.ts <= {order.early}.ts + {order.within_us}")
    for at, one in enumerate(query.items):
        where += [
            f"abs({one}.ts - {two}.ts) <= {query.max_window_us}" for two in query.items[at + 1 :]
        ]
    tables = ", ".join(f"t_{item} AS {item}" for item in query.items)
    return f"SELECT count(*) FROM {tables} WHERE {' AND '.join(where)}"


def main(form: str, count: int, overlap: int, tuples: int, rate: int) -> None:
    """Answer once and print what it took."""
    queries, streams = make_queries(count, overlap), make_streams(tuples, rate)
    started = time.process_time()
    if form == "duckdb-offline":
        results = run_duckdb(queries, streams)
    else:
        results = run_polars(queries, streams, batched=form == "polars-batch")
    print(json.dumps({"cpu_s": time.process_time() - started, "results": results}))


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:6]))
