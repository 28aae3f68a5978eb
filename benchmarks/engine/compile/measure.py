"""One measurement of the compile benchmark, printed as JSON."""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
import time
import tracemalloc

from cqc.benchmarks.engine.compile.workload import (
    join_program,
    range_program,
    range_query,
    wide_or_program,
)
from cqc.compiler import compile  # noqa: A004  the public name
from cqc.compiler.pipeline import normalise

_MORE = 50


def measure_program(ranges: int, joins: int) -> dict[str, float]:
    """Compile many queries; then register and remove one more, several times."""
    compile(range_program(10) + join_program(10))  # the parser reads its grammar once a process
    text = range_program(ranges) + "\n" + join_program(joins)
    started = time.process_time()
    program = compile(text)
    seconds = time.process_time() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    added, removed = [], []
    chooser = random.Random(99)
    for _ in range(_MORE):
        query_text = range_query(chooser)
        started = time.process_time()
        query = program.bind_one(query_text)
        program.graph.add(normalise(query))
        added.append(time.process_time() - started)
        started = time.process_time()
        program.graph.remove(query.name)
        removed.append(time.process_time() - started)
    return {
        "ranges": ranges,
        "joins": joins,
        "seconds": seconds,
        "peak_mb": peak_mb,
        "one_more_ms": sorted(added)[_MORE // 2] * 1e3,
        "remove_ms": sorted(removed)[_MORE // 2] * 1e3,
    }


def measure_wide_or(literals: int) -> dict[str, float]:
    """Compile one query of many literals."""
    compile(range_program(10))
    text = wide_or_program(literals)
    started = time.process_time()
    compile(text)
    return {"seconds": time.process_time() - started}


def measure_kept(ranges: int) -> dict[str, float]:
    """Compile range queries and count the bytes that stay, per query."""
    compile(range_program(10))
    text = range_program(ranges)
    gc.collect()
    tracemalloc.start()
    program = compile(text)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"kept_bytes": kept / len(program.queries)}


def main(kind: str, numbers: list[int]) -> dict[str, float]:
    """The measurement of a kind."""
    if kind == "program":
        return measure_program(numbers[0], numbers[1])
    return measure_wide_or(numbers[0]) if kind == "wide_or" else measure_kept(numbers[0])


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], [int(each) for each in sys.argv[2:]])))
