"""One measurement of the compile benchmark, printed as JSON."""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
import time
from pathlib import Path

from cqc.benchmarks.compile.workload import (
    join_program,
    range_program,
    range_query,
    wide_or_program,
)
from cqc.compiler import compile  # noqa: A004  the public name
from cqc.compiler.pipeline import normalise

_MORE = 50
_PAGE_KB = resource.getpagesize() / 1024


def measure_program(ranges: int, joins: int) -> dict[str, float]:
    """Compile many queries; then register and remove one more, several times."""
    compile(range_program(10) + join_program(10))  # the parser reads its grammar once a process
    text = range_program(ranges) + "\n" + join_program(joins)
    gc.collect()
    before_kb = _resident_kb()
    started = time.perf_counter()
    program = compile(text)
    seconds = time.perf_counter() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gc.collect()
    kept_kb = _resident_kb() - before_kb
    added, removed = [], []
    chooser = random.Random(99)
    for _ in range(_MORE):
        query_text = range_query(chooser)
        started = time.perf_counter()
        query = program.bind_one(query_text)
        program.graph.add(normalise(query))
        added.append(time.perf_counter() - started)
        started = time.perf_counter()
        program.graph.remove(query.name)
        removed.append(time.perf_counter() - started)
    return {
        "ranges": ranges,
        "joins": joins,
        "seconds": seconds,
        "peak_mb": peak_mb,
        "kept_bytes": kept_kb * 1024 / (ranges + joins),
        "one_more_ms": sorted(added)[_MORE // 2] * 1e3,
        "remove_ms": sorted(removed)[_MORE // 2] * 1e3,
    }


def measure_wide_or(literals: int) -> dict[str, float]:
    """Compile one query of many literals."""
    compile(range_program(10))
    text = wide_or_program(literals)
    started = time.perf_counter()
    compile(text)
    return {"seconds": time.perf_counter() - started}


def _resident_kb() -> float:
    """What the process holds now; where the system does not say, the most it held."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * _PAGE_KB
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    kind, *numbers = sys.argv[1:]
    measure = {"program": measure_program, "wide_or": measure_wide_or}[kind]
    print(json.dumps(measure(*map(int, numbers))))
