"""Rules over a long stream of Arrow batches: `python -m cqc.benchmarks.engine.rules.steady FOLDER`.

What a service does for days: batches of 10,000 rows, stream by stream in the order of time, pushed into one engine. The start
(compiling the rules, and the first twentieth of the events) is timed apart. Reading the files is not timed. Prints one JSON
object.
"""

from __future__ import annotations

import heapq
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import cqc
from cqc.benchmarks.engine.rules.workload.streams import PACKET, STREAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_SHARE = 20


def batches_of(folder: Path) -> Iterator[tuple[str, Any]]:
    """Batches of all streams, by the event time of their first row."""

    def of(name: str) -> Iterator[tuple[int, str, Any]]:
        file = pq.ParquetFile(folder / "several" / f"{name}.parquet")
        for number, batch in enumerate(file.iter_batches(PACKET, use_threads=False)):
            yield (batch.column("ts")[0].value, f"{name}\0{number}", batch)

    for _, name, batch in heapq.merge(
        *(of(each.name) for each in STREAMS), key=lambda each: each[:2]
    ):
        yield name.partition("\0")[0], batch


def main(folder: Path) -> dict[str, float]:
    """Push everything; CPU seconds of the start and of the rest, and events per CPU-second."""
    total = sum(
        pq.ParquetFile(folder / "several" / f"{each.name}.parquet").metadata.num_rows
        for each in STREAMS
    )
    started = time.process_time()
    engine = cqc.Engine(
        cqc.compile_files([str(folder / "several_parquet.cq"), str(folder / "rules.cq")])
    )
    start_s, steady_s = time.process_time() - started, 0.0
    seen = counted = results = 0
    for name, batch in batches_of(folder):
        before = time.process_time()
        engine.push(name, batch)
        results += sum(1 for _ in engine.drain())
        spent = time.process_time() - before
        if seen < total // _START_SHARE:
            start_s += spent
        else:
            steady_s += spent
            counted += batch.num_rows
        seen += batch.num_rows
    return {
        "events": seen,
        "start_s": start_s,
        "cpu_s": start_s + steady_s,
        "steady_s": steady_s,
        "results": results,
        "rate": counted / steady_s,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
