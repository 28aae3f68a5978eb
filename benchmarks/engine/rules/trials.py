"""What trying other shapes costs a micro-batch: `python -m cqc.benchmarks.engine.rules.trials SHAPE MICRO_BATCHES`.

Three-way joins for ten queries in micro-batches of 1 s, with `--join SHAPE`. Prints one JSON object: CPU seconds of all of them,
and the median, the 99th percentile and the most that one took, in milliseconds. The first hundred are the start and do not count.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import cqc
from cqc.benchmarks.engine.joins.workload import SECOND_US, make_queries, make_streams, program
from cqc.benchmarks.harness.side_by_side import micro_batches
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.strategy import Strategy

SHAPES = ("auto", "flat", "left-deep", "bushy")
_QUERIES, _RATE, _WINDOW_S, _START = 10, 100, 10, 100


def main(shape: str, count: int) -> dict[str, float]:
    """Push so many micro-batches, each timed."""
    streams = make_streams((count + _START) * _RATE, _RATE, _WINDOW_S)
    types = {"ts": ColumnType.TIMESTAMP, **dict.fromkeys("abx", ColumnType.BIGINT)}
    compiled = cqc.compile(program(make_queries(_QUERIES, _WINDOW_S)))
    engine = cqc.Engine(compiled, strategy=Strategy(join=shape), collect=False, keep_past=False)
    spent = []
    for batch in micro_batches(streams, types, SECOND_US)[: count + _START]:
        before = time.process_time_ns()
        engine.push_typed(batch)
        spent.append(time.process_time_ns() - before)
    milliseconds = np.array(spent[_START:]) / 1e6
    return {
        "cpu_s": float(milliseconds.sum()) / 1e3,
        "median_ms": float(np.median(milliseconds)),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "most_ms": float(milliseconds.max()),
        "results": sum(engine.result_counts().values()),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
