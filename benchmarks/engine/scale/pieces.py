"""What does not shrink when there are more machines, piece by piece: prints processor microseconds as JSON.

    python -m cqc.benchmarks.engine.scale.pieces

A micro-batch sends one blob from each task to each cell, and the driver takes one output of each task and each cell.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

import cqc
from cqc.benchmarks.engine.scale.workload import join_program
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.stages.wire import Output, StreamPart, pack_tuples, unpack_tuples

if TYPE_CHECKING:
    from collections.abc import Callable

TUPLES = 10  # of a blob
REPEATS = 20
AT_ONCE = 200  # blobs of a cell, outputs of a micro-batch


def measured() -> dict[str, float]:
    """The figures."""
    program = cqc.compile(join_program(100))
    coordinator = Coordinator(program, 2, strategy=Strategy())
    values = np.arange(TUPLES)
    columns = tuple(Column(ColumnType.BIGINT, values) for _ in range(9))
    packet = Packet(columns, values * 1_000_000, values)
    blob = pack_tuples({"s": packet})
    blobs, relations = [blob] * AT_ONCE, program.catalog.relations
    output = Output(0)
    output.streams["s"] = StreamPart(TUPLES, 0, 0, Counter(), 0, 5, 5)
    outputs = [output.pack()] * AT_ONCE
    return {
        "blob_bytes": len(blob),
        "pack_us": _us(lambda: [pack_tuples({"s": packet}) for _ in blobs]),
        "unpack_us": _us(lambda: unpack_tuples(blobs, relations, 0)),
        "take_us": _us(lambda: coordinator.take(outputs, 0)),
    }


def _us(work: Callable[[], object]) -> float:
    """Processor microseconds for one of the things that `work` does `AT_ONCE` times."""
    work()
    started = time.process_time()
    for _ in range(REPEATS):
        work()
    return (time.process_time() - started) / REPEATS / AT_ONCE * 1e6


if __name__ == "__main__":
    print(json.dumps(measured()))
