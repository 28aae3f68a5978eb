"""What a large state costs a cell: a micro-batch over an empty cell, over one with many tuples at hand, and after a rebuild.

    python -m cqc.benchmarks.engine.scale.state TUPLES BATCH

Runs in one process without Spark: the cell's durable part is in memory, so the figures are those of a warm cache, and of a miss
without the time that the state store itself takes to read.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

import cqc
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.stages.cell import Cells
from cqc.runtime.spark.distributed.stages.wire import pack_tuples

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM b (ts BIGINT, k BIGINT, x BIGINT);
SELECT a.x, b.x AS y FROM a, b WHERE a.k = b.k MAXWINDOW {window} SEC;
"""
KEYS = 50_000_000
BATCHES = 9


class Memory:
    """What is durable of a cell."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.blobs: dict[int, bytes] = {}

    def record(self) -> str | None:
        return self.text

    def set_record(self, text: str) -> None:
        self.text = text

    def entries(self) -> Iterator[tuple[int, bytes]]:
        yield from self.blobs.items()

    def put(self, batch: int, blob: bytes) -> None:
        self.blobs[batch] = blob

    def remove(self, batch: int) -> None:
        del self.blobs[batch]


class Cell:
    """One cell with a driver beside it."""

    def __init__(self, window: int) -> None:
        self.coordinator = Coordinator(
            cqc.compile(PROGRAM.format(window=window)), 1, strategy=Strategy()
        )
        self.cells = Cells(self.coordinator.spec({}, collect=True, shuffle_partitions=1))
        self.store = Memory()
        self.batch = 0
        self.rng = np.random.default_rng(1)

    def process(self, rows: int) -> float:
        """Processor seconds of one micro-batch of so many tuples, half of each stream."""
        blob = pack_tuples({name: self.packet(rows // 2) for name in ("a", "b")})
        for clock in self.coordinator.state.clocks.values():
            clock.largest_us = clock.watermark_us = self.batch * 1_000_000
            clock.first_us = 0
        header = self.coordinator.header(self.batch)
        started = time.process_time()
        self.cells.process((0, 0), header, [(0, blob)], self.store)
        self.batch += 1
        return time.process_time() - started

    def packet(self, rows: int) -> Packet:
        times = np.full(rows, self.batch)
        keys, values = self.rng.integers(0, KEYS, (2, rows))
        columns = tuple(Column(ColumnType.BIGINT, each) for each in (times, keys, values))
        return Packet(columns, times * 1_000_000, np.arange(rows))


def measured(tuples: int, batch: int) -> dict[str, float]:
    """The figures."""
    small, large = Cell(0), Cell(1_000_000)
    for cell in (small, large):
        cell.process(batch)
    for _ in range(10):
        large.process(tuples // 10)
    pairs = [(small.process(batch), large.process(batch)) for _ in range(BATCHES)]
    empty = statistics.median(pair[0] for pair in pairs)
    warm = statistics.median(pair[1] for pair in pairs)
    large.cells.forget()
    return {"empty_s": empty, "warm_s": warm, "miss_s": large.process(batch)}


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), int(sys.argv[2]))))
