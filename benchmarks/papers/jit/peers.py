"""The clique joins in other engines: `python -m cqc.benchmarks.papers.jit.peers FORM SOURCES WINDOW RATE DMAX HOURS BATCH`.

Runs in the environment of the peers; CPU seconds of the process while it answers, as one JSON object. Forms: `polars-batches` and
`duckdb-batches` join, for every micro-batch, what the windows reach, and keep the combinations that have a tuple of the
batch, which is what a careful person writes by hand; `duckdb-offline` answers the whole input with one statement.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.benchmarks.papers.jit.workload import SECOND_US, Clique

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def run_polars(clique: Clique, streams: dict[str, Any], batch_us: int) -> int:
    """One lazy join a batch."""
    import polars as pl

    frames = {
        name: pl.DataFrame({f"{name}_{column}": values for column, values in columns.items()})
        for name, columns in streams.items()
    }
    total = 0
    for begin, parts in _stretches(clique, streams, batch_us):
        joined = None
        times = [pl.col(f"{name}_ts") for name in clique.names]
        for at, name in enumerate(clique.names):
            frame = frames[name].slice(*parts[name]).lazy()
            if joined is None:
                joined = frame
                continue
            before = clique.names[:at]
            joined = joined.join(
                frame,
                left_on=[f"{one}_{one}{name}" for one in before],
                right_on=[f"{name}_{one}{name}" for one in before],
                coalesce=False,
            )
            spread = pl.max_horizontal(times[: at + 1]) - pl.min_horizontal(times[: at + 1])
            joined = joined.filter(spread <= int(clique.window_s * SECOND_US))
        assert joined is not None
        fresh = joined.filter(pl.max_horizontal(times) >= begin)
        total += int(fresh.select(pl.len()).collect().item())
    return total


def run_duckdb_batches(clique: Clique, streams: dict[str, Any], batch_us: int) -> int:
    """One statement a batch, over slices of Arrow tables."""
    import duckdb
    import pyarrow as pa

    tables = {name: pa.table(dict(columns)) for name, columns in streams.items()}
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    total = 0
    for begin, parts in _stretches(clique, streams, batch_us):
        for name, table in tables.items():
            connection.register(name, table.slice(*parts[name]))
        total += int(connection.execute(clique.sql(fresh_us=begin)).fetchall()[0][0])
    return total


def run_duckdb(clique: Clique, streams: dict[str, Any], batch_us: int) -> int:
    """One statement over everything."""
    import duckdb
    import pyarrow as pa

    del batch_us
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, columns in streams.items():
        connection.register(name, pa.table(dict(columns)))
    return int(connection.execute(clique.sql()).fetchall()[0][0])


def _stretches(
    clique: Clique, streams: dict[str, Any], batch_us: int
) -> Iterator[tuple[int, dict[str, tuple[int, int]]]]:
    """For every micro-batch its begin, and by stream the offset and length of what its windows reach."""
    window_us = int(clique.window_s * SECOND_US)
    last = max(int(columns["ts"][-1]) for columns in streams.values())
    for begin in range(0, last + 1, batch_us):
        parts = {}
        for name, columns in streams.items():
            low, high = np.searchsorted(columns["ts"], (begin - window_us, begin + batch_us))
            parts[name] = (int(low), int(high - low))
        yield begin, parts


FORMS: dict[str, Callable[[Clique, dict[str, Any], int], int]] = {
    "polars-batches": run_polars,
    "duckdb-batches": run_duckdb_batches,
    "duckdb-offline": run_duckdb,
}


def main(arguments: list[str]) -> None:
    """Answer once and print what it took."""
    form, sources, window, rate, dmax, hours, batch_s = arguments
    clique = Clique(int(sources), float(window), float(rate), int(dmax), float(hours))
    streams = clique.streams()
    run = FORMS[form]
    if form != "duckdb-offline":  # what loads once
        run(
            clique,
            {name: {c: v[:64] for c, v in each.items()} for name, each in streams.items()},
            10**12,
        )
    started = time.process_time()
    results = run(clique, streams, int(float(batch_s) * SECOND_US))
    print(json.dumps({"cpu_s": time.process_time() - started, "results": results}))


if __name__ == "__main__":
    main(sys.argv[1:])
