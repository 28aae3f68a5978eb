"""One measurement: `measure CONSUMERS SECONDS`; the last line is JSON."""

from __future__ import annotations

import json
import sys
import time

import cqc
from cqc.benchmarks.engine.shuffle import workload


def main(consumers: int, seconds: int) -> None:
    """Register the consumers, give them the records, and say what that took."""
    started = time.process_time()
    program = cqc.compile(workload.STREAM + workload.consumers(consumers))
    engine = cqc.Engine(program, keep_past=False)
    start_s = time.process_time() - started
    batches = workload.batches(seconds)
    warm = max(len(batches) // 10, 1)
    results, records, cpu_s = 0, 0, 0.0
    for at, batch in enumerate(batches):
        begun = time.process_time()
        engine.push_batch({"records": batch})
        results += sum(len(block) for blocks in engine.drain_blocks() for block in blocks)
        if at >= warm:
            cpu_s += time.process_time() - begun
            records += batch.num_rows
    found = {"cpu_s": cpu_s, "records": records, "start_s": start_s, "results": results}
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
