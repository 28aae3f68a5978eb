"""The join workload in cqc, once: `python -m cqc.benchmarks.joins.measure QUERIES TUPLES RATE WINDOW TIMED`.

Micro-batches of 1 s of stream time. The last TIMED tuples of each stream are timed (0: all but the first 2 s, in which the
kernels are loaded). Prints one JSON object.
"""

from __future__ import annotations

import json
import sys

from cqc.benchmarks.joins.workload import (
    COLUMNS,
    SECOND_US,
    make_queries,
    make_streams,
    program,
)
from cqc.benchmarks.side_by_side import micro_batches, run_engine
from cqc.compiler.types import ColumnType


def main(count: int, tuples: int, rate: int, window_s: int, timed: int) -> None:
    """Answer once and print what it took."""
    types = {column: ColumnType.BIGINT for columns in COLUMNS.values() for column in columns}
    types["ts"] = ColumnType.TIMESTAMP
    text = program(make_queries(count, window_s))
    batches = micro_batches(make_streams(tuples, rate, window_s), types, SECOND_US)
    warm = len(batches) - timed // rate if timed else 2
    print(json.dumps(run_engine(text, batches, warm)))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:6]))
