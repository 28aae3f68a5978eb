"""One measurement: `measure RULES SECONDS`; the last line is JSON."""

from __future__ import annotations

import json
import sys
import time

import cqc
from cqc.benchmarks.engine.thresholds import workload


def main(rules: int, seconds: int) -> None:
    """Register the rules, give them the events, and say what that took."""
    started = time.process_time()
    engine = cqc.Engine(cqc.compile(workload.STREAM + workload.rules(rules)), keep_past=False)
    start_s = time.process_time() - started
    batches = workload.batches(seconds)
    warm = max(len(batches) // 10, 1)
    results, cpu_s = 0, 0.0
    for at, batch in enumerate(batches):
        begun = time.process_time()
        engine.push_batch({"logs": batch})
        found = sum(len(block) for blocks in engine.drain_blocks() for block in blocks)
        if at >= warm:
            cpu_s += time.process_time() - begun
        results += found
    print(json.dumps({"cpu_s": cpu_s, "start_s": start_s, "results": results}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
