"""One measurement: `measure filters|alerts COUNT ROWS`; the last line is JSON."""

from __future__ import annotations

import json
import sys
import time

import cqc
from cqc.benchmarks.engine.alerts import workload


def main(kind: str, count: int, rows: int) -> None:
    """Register the queries, give them the readings, and say what that took."""
    text = workload.filters(count) if kind == "filters" else workload.alerts(count)
    started = time.process_time()
    engine = cqc.Engine(cqc.compile(workload.STREAM + text), keep_past=False)
    start_s = time.process_time() - started
    batches = workload.batches(rows)
    warm = max(len(batches) // 10, 1)
    results, cpu_s, timed = 0, 0.0, 0
    for at, batch in enumerate(batches):
        begun = time.process_time()
        engine.push_batch({"readings": batch})
        found = sum(len(block) for blocks in engine.drain_blocks() for block in blocks)
        if at >= warm:
            cpu_s += time.process_time() - begun
            timed += found
        results += found
    told = {"cpu_s": cpu_s, "start_s": start_s, "results": results, "timed": timed}
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
