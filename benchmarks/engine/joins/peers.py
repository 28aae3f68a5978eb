"""The join workload in DuckDB and Polars: `python -m cqc.benchmarks.engine.joins.peers FORM MODE QUERIES TUPLES RATE WINDOW`.

Runs in the environment of the peers, from the same Arrow input and over the same stretch as cqc (`arrow_feed.py`). Forms:
`duckdb-offline` and `polars-offline` answer each query by a statement over the whole input; `polars-shared` is what a careful
person writes by hand for many queries: one join per 10 s of stream time, shared by all queries. MODE `rows` hands each query
its rows by column, `count` counts them; the shared form counts by one select over all queries' conditions.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from cqc.benchmarks.engine.joins.workload import SECOND_US, Query, make_queries, make_streams, sql
from cqc.benchmarks.harness.arrow_feed import batches_of, beginning, tables_of, timed

if TYPE_CHECKING:
    import pyarrow as pa

    Tables = dict[str, pa.Table]
    Batches = list[dict[str, pa.RecordBatch]]

_SHARED_BATCH_US = 10 * SECOND_US
_COLUMNS = ("R_x", "S_x", "T_x")


def run_duckdb(queries: list[Query], tables: Tables, *, rows: bool) -> int:
    """One statement a query over everything."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, given in tables.items():
        connection.register("given", given)
        connection.execute(
            f"CREATE TABLE {name} AS SELECT epoch_us(ts) AS ts, * EXCLUDE (ts) FROM given"
        )
    total = 0
    for query in queries:
        answer = connection.execute(sql(query, rows=rows))
        total += len(answer.fetchnumpy()["rx"]) if rows else int(answer.fetchall()[0][0])
    return total


def run_polars(queries: list[Query], tables: Tables, *, rows: bool) -> int:
    """One lazy query each over everything."""
    import polars as pl

    frames = {name: _frame(name, given).lazy() for name, given in tables.items()}
    total = 0
    for query in queries:
        r, s, t = (
            frames[name].filter(pl.col(f"{name}_x") >= least)
            for name, least in zip("RST", query.least, strict=True)
        )
        joined = _joined(r, s, t, query.window_s * SECOND_US).filter(_relative(query))
        if rows:
            total += joined.select(_COLUMNS).collect().height
        else:
            total += int(joined.select(pl.len()).collect().item())
    return total


def run_polars_shared(queries: list[Query], batches: Batches, *, rows: bool) -> int:
    """One join a batch, shared by all queries; tuples of the last window are kept from batch to batch."""
    import polars as pl

    window_us = queries[0].window_s * SECOND_US
    conditions = [_all_of(query) for query in queries]
    counts = [condition.sum().alias(str(at)) for at, condition in enumerate(conditions)]
    kept: dict[str, Any] = {}
    total = 0
    for at, batch in enumerate(batches):
        begin = at * _SHARED_BATCH_US
        for name, given in batch.items():
            new = _frame(name, given)
            kept[name] = pl.concat([kept[name], new]) if name in kept else new
        r, s, t = (kept[name].lazy() for name in "RST")
        joined = _joined(r, s, t, window_us)
        fresh = joined.filter(pl.max_horizontal("R_ts", "S_ts", "T_ts") >= begin)
        if rows:
            found = fresh.collect().lazy()
            answers = [found.filter(condition).select(_COLUMNS) for condition in conditions]
            total += sum(answer.height for answer in pl.collect_all(answers))
        else:
            total += int(fresh.select(counts).collect().sum_horizontal().item() or 0)
        needed = begin + _SHARED_BATCH_US - window_us
        for name, frame in kept.items():
            kept[name] = frame.filter(pl.col(f"{name}_ts") >= needed)
    return total


def _frame(name: str, given: Any) -> Any:
    """An Arrow table or batch as a frame; event times as numbers, which compare faster."""
    import polars as pl

    frame = pl.DataFrame(pl.from_arrow(given))
    columns = [
        pl.col(column).to_physical().alias(f"{name}_{column}")
        if column == "ts"
        else pl.col(column).alias(f"{name}_{column}")
        for column in frame.columns
    ]
    return frame.select(columns)


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


def main(form: str, mode: str, count: int, tuples: int, rate: int, window_s: int) -> None:
    """Answer once and print what it took."""
    queries = make_queries(count, window_s)
    tables = tables_of(make_streams(tuples, rate, window_s))
    rows = mode == "rows"
    if form == "polars-shared":
        warm = batches_of(beginning(tables), _SHARED_BATCH_US)
        batches = batches_of(tables, _SHARED_BATCH_US)
        run_polars_shared(queries, warm, rows=rows)
        found = timed(lambda: run_polars_shared(queries, batches, rows=rows), 3 * tuples)
    else:
        answer = run_duckdb if form == "duckdb-offline" else run_polars
        answer(queries, beginning(tables), rows=rows)
        found = timed(lambda: answer(queries, tables, rows=rows), 3 * tuples)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(argument) for argument in sys.argv[3:7]))
