"""One measurement: `measure views|hand SECONDS`; the last line is JSON."""

from __future__ import annotations

import json
import sys
import time

import cqc
from cqc.benchmarks.engine.views import workload


def main(form: str, seconds: int) -> None:
    """Register the queries, give them the input, and say what that took."""
    text = workload.STREAMS
    text += workload.views() + workload.over_views() if form == "views" else workload.by_hand()
    started = time.process_time()
    engine = cqc.Engine(cqc.compile(text), keep_past=False)
    start_s = time.process_time() - started
    batches = workload.batches(seconds)
    warm = max(len(batches) // 10, 1)
    found = sum(_push(engine, batch) for batch in batches[:warm])
    begun = time.process_time()
    found += sum(_push(engine, batch) for batch in batches[warm:])
    cpu_s = time.process_time() - begun
    print(json.dumps({"cpu_s": cpu_s, "start_s": start_s, "results": found}))


def _push(engine: cqc.Engine, batch: dict[str, object]) -> int:
    engine.push_batch(batch)
    return sum(len(block) for blocks in engine.drain_blocks() for block in blocks)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
