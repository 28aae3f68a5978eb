"""The theta workload in cqc, once: `python -m cqc.benchmarks.engine.theta.measure KIND MODE QUERIES OVERLAP TUPLES RATE`.

KIND is `mixed` (queries over two to four streams) or `list` (one predicate list), MODE `rows` or `count` (see
`arrow_feed.py`). Micro-batches of 1 s of stream time. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys

from cqc.benchmarks.engine.theta.workload import (
    SECOND_US,
    make_queries,
    make_streams,
    one_list,
    program,
)
from cqc.benchmarks.harness.arrow_feed import Feed, batches_of, beginning, tables_of


def main(kind: str, mode: str, count: int, overlap: int, tuples: int, rate: int) -> None:
    """Answer once and print what it took."""
    queries = one_list(count) if kind == "list" else make_queries(count, overlap)
    tables = tables_of(make_streams(tuples, rate))
    feed = Feed(program(queries), deliver=mode == "rows")
    warm = batches_of(beginning(tables), SECOND_US)
    print(json.dumps(feed.measure(batches_of(tables, SECOND_US), warm)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(argument) for argument in sys.argv[3:7]))
