"""One measurement: `measure arrow|parquet EVENTS VARIANTS QUERY...`, `measure polars|duckdb EVENTS QUERY`; the last line is JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cqc.benchmarks.engine.nexmark import programs
from cqc.benchmarks.engine.nexmark.batch_sql import QUERIES
from cqc.benchmarks.engine.nexmark.feed import Feed, micro_batches
from cqc.benchmarks.engine.nexmark.generator import events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WARM_EVENTS = 20_000


def measure_engine(source: str, count: int, variants: int, names: Sequence[str]) -> dict[str, Any]:
    """The engine over events in memory (`arrow`) or in files (`parquet`); a small run before it loads what is compiled."""
    text = programs.program(tuple(names), variants)
    Feed(text).measure(micro_batches(events(_WARM_EVENTS), _WARM_EVENTS // 2))
    tables = events(count)
    started = time.process_time()
    feed = Feed(text)
    start_s = time.process_time() - started
    if source == "arrow":
        return {**feed.measure(micro_batches(tables)), "start_s": start_s}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.parquet" for name in tables}
        for name, path in paths.items():
            pq.write_table(tables[name], path)
        started = time.process_time()
        read = {name: pq.read_table(path, use_threads=False) for name, path in paths.items()}
        batches = micro_batches(read)
        read_s = time.process_time() - started
        found = feed.measure(batches)
    return {**found, "cpu_s": found["cpu_s"] + read_s, "start_s": start_s}


def measure_duckdb(count: int, name: str) -> dict[str, Any]:
    """DuckDB over all events at once, with one thread."""
    import duckdb

    tables = _without_zones(events(count))
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for each, table in tables.items():
        connection.register(each, table)
    started = time.process_time()
    rows = len(connection.sql(QUERIES[name]).to_arrow_table())
    return {"cpu_s": time.process_time() - started, "events": count, "results": rows}


def measure_polars(count: int, name: str) -> dict[str, Any]:
    """Polars over all events at once, with one thread."""
    from cqc.benchmarks.engine.nexmark.peers import POLARS, frames

    tables = frames(_without_zones(events(count)))
    started = time.process_time()
    rows = len(POLARS[name](tables).collect())
    return {"cpu_s": time.process_time() - started, "events": count, "results": rows}


def _without_zones(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {
        name: pa.table([_plain(each) for each in table.columns], names=table.column_names)
        for name, table in tables.items()
    }


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column


def main(arguments: Sequence[str]) -> None:
    """Measure what is asked for."""
    kind, count = arguments[0], int(arguments[1])
    if kind == "duckdb":
        found = measure_duckdb(count, arguments[2])
    elif kind == "polars":
        found = measure_polars(count, arguments[2])
    else:
        found = measure_engine(kind, count, int(arguments[2]), arguments[3:])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
