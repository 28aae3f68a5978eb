"""One setting in cqc, once: `python -m cqc.benchmarks.jit.measure JOIN FEEDBACK SOURCES WINDOW RATE DMAX HOURS WIDE BATCH [PROBE]`.

Prints one JSON object: CPU seconds, results, partial results made, the most rows and bytes of state between joins.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import cqc
from cqc.benchmarks.jit.workload import Clique
from cqc.runtime.options import Strategy

WARM = 3  # micro-batches in which the kernels are loaded


def measure(
    clique: Clique, join: str, feedback: str, batch_s: float, *, nested_loops: bool = False
) -> dict[str, Any]:
    """Run the setting once."""
    batches = clique.batches(batch_s)
    strategy = Strategy(join=join, feedback=feedback, nested_loops=nested_loops)
    engine = cqc.Engine(
        cqc.compile(clique.program()), strategy=strategy, collect=False, keep_past=False
    )
    for batch in batches[:WARM]:
        engine.push_taken(batch)
    started = time.process_time()
    peak = 0
    for number, batch in enumerate(batches[WARM:]):
        engine.push_taken(batch)
        if number % 32 == 0:
            peak = max(peak, sum(count.bytes for count in engine.measure()))
    seconds = time.process_time() - started
    (count,) = [each for each in engine.measure() if each.name.startswith("join")]
    probes = sum(n for name, n in count.detail.items() if name.endswith(" found"))
    return {
        "cpu_s": seconds,
        "results": sum(engine.result_counts().values()),
        "partial": count.detail.get("partial results", probes),
        "peak_rows": count.detail.get("peak rows", 0),
        "peak_bytes": peak,
    }


def main(arguments: list[str]) -> None:
    """Measure what the arguments say and print it."""
    join, feedback, sources, window, rate, dmax, hours, wide, batch_s, *probe = arguments
    clique = Clique(
        int(sources), float(window), float(rate), int(dmax), float(hours), wide_last=wide == "wide"
    )
    loops = probe == ["nested-loops"]
    print(json.dumps(measure(clique, join, feedback, float(batch_s), nested_loops=loops)))


if __name__ == "__main__":
    main(sys.argv[1:])
