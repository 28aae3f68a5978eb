"""The theta workload in Polars and DuckDB: `python -m cqc.benchmarks.engine.theta.peers FORM MODE QUERIES OVERLAP TUPLES RATE`.

Runs in the environment of the peers, from the same Arrow input and over the same stretch as cqc (`arrow_feed.py`). FORM is
`polars-offline`, `polars-batch` (6 s of stream time at a time, with the 6 s before it kept) or `duckdb-offline`. Each query
is one statement, filters first; Polars joins by its inequality join. MODE `rows` hands each query its rows by column, `count`
counts them.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from cqc.benchmarks.engine.theta.workload import SECOND_US, Query, make_queries, make_streams
from cqc.benchmarks.harness.arrow_feed import batches_of, beginning, tables_of, timed

if TYPE_CHECKING:
    import pyarrow as pa

    Tables = dict[str, pa.Table]
    Batches = list[dict[str, pa.RecordBatch]]

_BATCH_US = 6 * SECOND_US


def polars_answer(query: Query, frames: dict[str, Any], since_us: int, *, rows: bool) -> int:
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
    fresh = joined.filter(latest >= since_us)
    if rows:
        return int(fresh.select([f"{item}_ts" for item in query.items]).collect().height)
    return int(fresh.select(pl.len()).collect().item())


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


def run_polars(queries: list[Query], tables: Tables, *, rows: bool) -> int:
    """All queries over everything at once."""
    frames = {name: _frame(name, given).lazy() for name, given in tables.items()}
    return sum(polars_answer(query, frames, -1, rows=rows) for query in queries)


def run_polars_batched(queries: list[Query], batches: Batches, *, rows: bool) -> int:
    """All queries batch by batch; the batch before is kept, as long as the longest window."""
    import polars as pl

    before: dict[str, Any] = {}
    total = 0
    for at, batch in enumerate(batches):
        new = {name: _frame(name, given) for name, given in batch.items()}
        both = {
            name: (pl.concat([before[name], frame]) if name in before else frame).lazy()
            for name, frame in new.items()
        }
        total += sum(polars_answer(query, both, at * _BATCH_US, rows=rows) for query in queries)
        before = new
    return total


def _frame(name: str, given: Any) -> Any:
    """An Arrow table or batch as a frame; event times as numbers, which compare faster."""
    import polars as pl

    frame = pl.DataFrame(pl.from_arrow(given))
    physical = [
        pl.col(each).to_physical() if each == "ts" else pl.col(each) for each in frame.columns
    ]
    return frame.select(
        [
            each.alias(f"{name}_{column}")
            for each, column in zip(physical, frame.columns, strict=True)
        ]
    )


def run_duckdb(queries: list[Query], tables: Tables, *, rows: bool) -> int:
    """All queries over everything at once."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, given in tables.items():
        connection.register(name, given)
        connection.execute(
            f"CREATE TABLE t_{name} AS SELECT epoch_us(ts) AS ts, * EXCLUDE (ts) FROM {name}"
        )
    total = 0
    for query in queries:
        answer = connection.execute(_sql(query, rows=rows))
        if rows:
            total += len(answer.fetchnumpy()[f"{query.items[0]}_ts"])
        else:
            total += int(answer.fetchall()[0][0])
    return total


def _sql(query: Query, *, rows: bool) -> str:
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
    selected = ", ".join(f"{item}.ts AS {item}_ts" for item in query.items) if rows else "count(*)"
    return f"SELECT {selected} FROM {tables} WHERE {' AND '.join(where)}"


def main(form: str, mode: str, count: int, overlap: int, tuples: int, rate: int) -> None:
    """Answer once and print what it took."""
    queries, tables = make_queries(count, overlap), tables_of(make_streams(tuples, rate))
    rows, all_tuples = mode == "rows", len(tables) * tuples
    if form == "polars-batch":
        run_polars_batched(queries, batches_of(beginning(tables), _BATCH_US), rows=rows)
        batches = batches_of(tables, _BATCH_US)
        found = timed(lambda: run_polars_batched(queries, batches, rows=rows), all_tuples)
    else:
        answer = run_duckdb if form == "duckdb-offline" else run_polars
        answer(queries, beginning(tables), rows=rows)
        found = timed(lambda: answer(queries, tables, rows=rows), all_tuples)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(argument) for argument in sys.argv[3:7]))
