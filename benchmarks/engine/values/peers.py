"""The peers' part: `python -m cqc.benchmarks.engine.values.peers SECONDS`; prints one JSON object.

DuckDB answers `SELECT f(x) FROM packet` to an Arrow table, Polars `frame.select(f(x))`, one thread each, and the better of both counts. DuckDB's time includes
what it takes to plan, which for 10,000 rows is part of what a packet costs.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import Any

from cqc.benchmarks.engine.values.timing import typical_ns
from cqc.benchmarks.engine.values.workload import ROWS, cases, packet


def main(seconds: float) -> dict[str, Any]:
    """Nanoseconds a value by peer and call; a call that a version of a peer does not have is left out and named."""
    import duckdb
    import polars as pl

    table = packet()
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SET TimeZone = 'UTC'")
    connection.register("arrow", table)
    connection.execute("CREATE TABLE packet AS SELECT * FROM arrow")
    frame = pl.DataFrame(pl.from_arrow(table))

    def asked(text: str) -> object:
        return connection.sql(text).to_arrow_table()

    found: dict[str, dict[str, float]] = {"duckdb": {}, "polars": {}}
    missing: list[str] = []
    for case in cases():
        if case.duckdb:
            text = f"SELECT {case.duckdb} AS r FROM packet"
            try:
                found["duckdb"][case.name] = typical_ns(partial(asked, text), ROWS, seconds)
            except duckdb.Error as error:
                missing.append(f"DuckDB {case.name}: {str(error).splitlines()[0]}")
        if case.polars:
            try:
                expression = eval(case.polars, {"pl": pl})  # text of this module's own
                found["polars"][case.name] = typical_ns(
                    partial(frame.select, expression), ROWS, seconds
                )
            except (pl.exceptions.PolarsError, AttributeError, TypeError, ValueError) as error:
                missing.append(f"Polars {case.name}: {str(error).splitlines()[0]}")
    return {"ns": found, "missing": missing}


if __name__ == "__main__":
    began = time.process_time()
    made = main(float(sys.argv[1]))
    print(json.dumps({"cpu_s": time.process_time() - began, **made}))
