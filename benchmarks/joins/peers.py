"""The join workload in DuckDB and Polars: `python -m cqc.benchmarks.joins.peers FORM QUERIES TUPLES RATE WINDOW`.

Runs in the environment of the peers. Prints one JSON object: CPU seconds of the process while it answers, and the number of
results. Forms: `duckdb-offline` and `polars-offline` answer each query by a statement over the whole input;
`polars-shared` is what a careful person writes by hand for many queries: one join per 10 s of stream time, shared by all
queries, whose conditions are columns of one select.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from cqc.benchmarks.joins.workload import SECOND_US, Query, make_queries, make_streams, sql

Streams = dict[str, Any]


def run_duckdb(queries: list[Query], streams: Streams) -> int:
    """One statement a query over everything."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, columns in streams.items():
        connection.register("given", pa.table(dict(columns)))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return sum(int(connection.execute(sql(query)).fetchall()[0][0]) for query in queries)


def run_polars(queries: list[Query], streams: Streams) -> int:
    """One lazy query each over everything."""
    import polars as pl

    frames = _frames(streams)
    total = 0
    for query in queries:
        r, s, t = (
            frames[name].lazy().filter(pl.col(f"{name}_x") >= least)
            for name, least in zip("RST", query.least, strict=True)
        )
        joined = _joined(r, s, t, query.window_s * SECOND_US).filter(_relative(query))
        total += int(joined.select(pl.len()).collect().item())
    return total


def run_polars_shared(queries: list[Query], streams: Streams, batch_us: int) -> int:
    """One join a batch, shared by all queries."""
    import polars as pl

    frames = _frames(streams)
    window_us = queries[0].window_s * SECOND_US
    last = max(int(columns["ts"][-1]) for columns in streams.values())
    conditions = [_all_of(query).sum().alias(str(at)) for at, query in enumerate(queries)]
    total = 0
    for begin in range(0, last + 1, batch_us):
        parts: dict[str, Any] = {}
        for name in "RST":
            edges = np.searchsorted(streams[name]["ts"], (begin - window_us, begin + batch_us))
            parts[name] = frames[name].slice(int(edges[0]), int(edges[1] - edges[0])).lazy()
        joined = _joined(parts["R"], parts["S"], parts["T"], window_us)
        fresh = joined.filter(pl.max_horizontal("R_ts", "S_ts", "T_ts") >= begin)
        total += int(fresh.select(conditions).collect().sum_horizontal().item() or 0)
    return total


def _frames(streams: Streams) -> dict[str, Any]:
    import polars as pl

    return {
        name: pl.DataFrame({f"{name}_{column}": values for column, values in columns.items()})
        for name, columns in streams.items()
    }


def _joined(r: Any, s: Any, t: Any, window_us: int) -> Any:
    import polars as pl

    pairs = r.join(s, left_on="R_a", right_on="S_a").filter(
        (pl.col("S_ts") - pl.col("R_ts")).abs() <= window_us
    )
    inside = ((pl.col("T_ts") - pl.col("S_ts")).abs() <= window_us) & (
        (pl.col("T_ts") - pl.col("R_ts")).abs() <= window_us
    )
    return pairs.join(t, left_on="S_b", right_on="T_b").filter(inside)


def _relative(query: Query) -> Any:
    import polars as pl

    return (pl.col("S_ts") - pl.col("R_ts") <= query.s_after_r_s * SECOND_US) & (
        pl.col("T_ts") - pl.col("S_ts") <= query.t_after_s_s * SECOND_US
    )


def _all_of(query: Query) -> Any:
    import polars as pl

    condition = _relative(query)
    for name, least in zip("RST", query.least, strict=True):
        condition = condition & (pl.col(f"{name}_x") >= least)
    return condition


def main(form: str, count: int, tuples: int, rate: int, window_s: int) -> None:
    """Answer once and print what it took."""
    queries, streams = make_queries(count, window_s), make_streams(tuples, rate, window_s)
    started = time.process_time()
    match form:
        case "duckdb-offline":
            results = run_duckdb(queries, streams)
        case "polars-offline":
            results = run_polars(queries, streams)
        case _:
            results = run_polars_shared(queries, streams, 10 * SECOND_US)
    print(json.dumps({"cpu_s": time.process_time() - started, "results": results}))


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:6]))
