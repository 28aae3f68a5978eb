"""The theta workload in cqc, once: `python -m cqc.benchmarks.theta.measure KIND QUERIES OVERLAP TUPLES RATE`.

KIND is `mixed` (queries over two to four streams) or `list` (one predicate list). Micro-batches of 1 s of stream time; the
first two are not timed, in them the kernels are loaded. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys

from cqc.benchmarks.side_by_side import micro_batches, run_engine
from cqc.benchmarks.theta.workload import (
    COLUMNS,
    SECOND_US,
    make_queries,
    make_streams,
    one_list,
    program,
)
from cqc.compiler.types import ColumnType


def main(kind: str, count: int, overlap: int, tuples: int, rate: int) -> None:
    """Answer once and print what it took."""
    types = {column: ColumnType.DOUBLE for columns in COLUMNS.values() for column in columns}
    types["ts"] = ColumnType.TIMESTAMP
    queries = one_list(count) if kind == "list" else make_queries(count, overlap)
    batches = micro_batches(make_streams(tuples, rate), types, SECOND_US)
    print(json.dumps(run_engine(program(queries), batches, 2)))


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:6]))
