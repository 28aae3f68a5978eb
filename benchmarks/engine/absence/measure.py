"""The absence workload in cqc, once: `python -m cqc.benchmarks.engine.absence.measure RULES TUPLES`.

Micro-batches of 1 s of stream time; each rule is handed its rows. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys

from cqc.benchmarks.engine.absence.workload import SECOND_US, make_streams, program
from cqc.benchmarks.harness.arrow_feed import Feed, batches_of, beginning, tables_of


def main(rules: int, tuples: int) -> None:
    """Answer once and print what it took."""
    tables = tables_of(make_streams(tuples))
    feed = Feed(program(rules), deliver=True)
    warm = batches_of(beginning(tables), SECOND_US)
    print(json.dumps(feed.measure(batches_of(tables, SECOND_US), warm)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
