"""One setting in cqc: `python -m cqc.benchmarks.papers.jit.measure REPEATS SOURCES WINDOW RATE DMAX HOURS WIDE BATCH CONTESTANT...`.

A contestant is JOIN:FEEDBACK, or JOIN:FEEDBACK:loops for nested-loop joins. They take turns, so that what else runs on the machine
is spread over all. Prints one JSON object: for each contestant the median of the CPU seconds, results, partial results made, the
most rows between joins and the most bytes of state at a time.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import cqc
from cqc.benchmarks.papers.jit.workload import Clique
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.metrics.operators import JoinMetrics, TreeMetrics

if TYPE_CHECKING:
    from cqc.runtime.intake.typed_batch import TypedBatch

WARM = 3  # micro-batches in which the kernels are loaded
_LOOK_EVERY = 16  # micro-batches


def measure(
    clique: Clique, batches: list[dict[str, TypedBatch]], contestant: str
) -> dict[str, Any]:
    """Run the setting once."""
    join, feedback, *loops = contestant.split(":")
    strategy = Strategy(join=join, feedback=feedback, nested_loops=bool(loops))
    engine = cqc.Engine(
        cqc.compile(clique.program()), strategy=strategy, collect=False, keep_past=False
    )
    for batch in batches[:WARM]:
        engine.push_typed(batch)
    seconds, peak = 0.0, 0
    for begin in range(WARM, len(batches), _LOOK_EVERY):
        started = time.process_time()
        for batch in batches[begin : begin + _LOOK_EVERY]:
            engine.push_typed(batch)
        seconds += time.process_time() - started
        peak = max(peak, sum(count.bytes for count in engine.measure()))
    (count,) = [each for each in engine.measure() if each.name.startswith("join")]
    partial, peak_rows = 0, 0
    if isinstance(count, TreeMetrics):
        partial, peak_rows = count.work.partial_results, count.peak_rows
    elif isinstance(count, JoinMetrics):
        found = sum(each.found for each in count.inputs)
        partial = found if count.partial_results is None else count.partial_results
    return {
        "cpu_s": seconds,
        "results": sum(engine.result_counts().values()),
        "partial": partial,
        "peak_rows": peak_rows,
        "peak_bytes": peak,
    }


def main(arguments: list[str]) -> None:
    """Measure what the arguments say and print it."""
    repeats, sources, window, rate, dmax, hours, wide, batch_s, *contestants = arguments
    clique = Clique(
        int(sources), float(window), float(rate), int(dmax), float(hours), wide_last=wide == "wide"
    )
    batches = clique.batches(float(batch_s))
    runs: dict[str, list[dict[str, Any]]] = {each: [] for each in contestants}
    for _ in range(int(repeats)):
        for contestant in contestants:
            runs[contestant].append(measure(clique, batches, contestant))
    found = {
        contestant: {**among[0], "cpu_s": median(each["cpu_s"] for each in among)}
        for contestant, among in runs.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
