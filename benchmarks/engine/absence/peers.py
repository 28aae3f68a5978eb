"""The absence workload in Polars: `python -m cqc.benchmarks.engine.absence.peers RULES TUPLES`.

Offline, from the same Arrow input: one statement a rule, filters first, an inner join by key with the bounds of time as a filter,
then an anti-join by the number of the row.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from cqc.benchmarks.engine.absence.workload import make_streams, rule
from cqc.benchmarks.harness.arrow_feed import beginning, tables_of, timed


def run_polars(rules: int, tables: dict[str, Any]) -> int:
    """All rules over everything at once."""
    import polars as pl

    frames = {}
    for name, given in tables.items():
        frame = pl.DataFrame(pl.from_arrow(given)).with_columns(pl.col("ts").to_physical())
        frames[name] = frame.with_row_index("n")
    total = 0
    for number in range(rules):
        least, most, within_us = rule(number, rules)
        ours = frames["A"].lazy().filter(pl.col("x") >= least)
        theirs = frames["B"].lazy().filter(pl.col("y") <= most).select("k", later="ts")
        gap = pl.col("later") - pl.col("ts")
        matched = ours.join(theirs, on="k").filter((gap >= 0) & (gap <= within_us))
        missing = ours.join(matched.select("n"), on="n", how="anti")
        total += missing.select("ts", "k").collect().height
    return total


def main(rules: int, tuples: int) -> None:
    """Answer once and print what it took."""
    tables = tables_of(make_streams(tuples))
    run_polars(min(rules, 3), beginning(tables))
    print(json.dumps(timed(lambda: run_polars(rules, tables), tuples)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
