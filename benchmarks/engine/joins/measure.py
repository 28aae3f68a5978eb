"""The join workload in cqc, once: `python -m cqc.benchmarks.engine.joins.measure MODE QUERIES TUPLES RATE WINDOW TIMED`.

MODE is `rows` or `count` (see `arrow_feed.py`). Micro-batches of 1 s of stream time. With TIMED 0 the whole input is timed,
else only the last TIMED tuples of each stream. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys

from cqc.benchmarks.engine.joins.workload import SECOND_US, make_queries, make_streams, program
from cqc.benchmarks.harness.arrow_feed import Feed, batches_of, beginning, tables_of


def main(mode: str, count: int, tuples: int, rate: int, window_s: int, timed: int) -> None:
    """Answer once and print what it took."""
    tables = tables_of(make_streams(tuples, rate, window_s))
    batches = batches_of(tables, SECOND_US)
    feed = Feed(program(make_queries(count, window_s)), deliver=mode == "rows")
    if timed:
        found = feed.measure_last(batches, timed // rate)
    else:
        found = feed.measure(batches, batches_of(beginning(tables), SECOND_US))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:7]))
