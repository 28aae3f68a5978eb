"""The contestants on Spark with some cores, in a process of its own: prints their figures as JSON.

    python -m cqc.benchmarks.engine.scale.measure CORES FILES ROWS [NAME...]

All of them, or those that are named. They follow one another in one session. The first is run twice, for Java to compile its code, and of each the first few
micro-batches are not measured. Processor time is that of all processes: this one, the JVM, and Spark's Python workers. None of
them may use more processors than there are cores: with one task at a time Java compiles, the driver plans and a worker reads
what the JVM writes side by side, and where that is free one core is as quick as two.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cqc
from cqc.benchmarks.engine.scale.workload import filter_program, join_program
from cqc.benchmarks.engine.spark.workload import SCHEMA, write_files
from cqc.runtime.spark.distributed.floor import (
    PASSING,
    PassingProcessor,
    PassingTask,
    ReadingTask,
    await_all,
)
from cqc.runtime.spark.distributed.worker import FOUND, SENT
from cqc.runtime.spark.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

FILES_PER_TRIGGER = 2
UNMEASURED = 2  # micro-batches
QUERIES = 1_000


def tree_cpu_seconds() -> float:
    """Processor time of this process and all it has started, those that have ended included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    total = 0
    for process in ticks:
        at = process
        while at not in (0, 1, os.getpid()):
            at = parents.get(at, 0)
        if at == os.getpid():
            total += ticks[process]
    return total / os.sysconf("SC_CLK_TCK")


class Clock:
    """Notes processor and wall time after each micro-batch; the wall time of one is a median, since others use the machine too."""

    def __init__(self) -> None:
        self.notes: list[tuple[float, float]] = []

    def note(self) -> None:
        self.notes.append((tree_cpu_seconds(), time.perf_counter()))

    def figures(self, rows: int) -> dict[str, float]:
        first, last = self.notes[UNMEASURED - 1], self.notes[-1]
        tuples = rows * (len(self.notes) - UNMEASURED)
        walls = [after[1] - before[1] for before, after in pairwise(self.notes[UNMEASURED - 1 :])]
        return {
            "cpu_s": last[0] - first[0],
            "wall_s": statistics.median(walls),
            "busy": (last[0] - first[0]) / (last[1] - first[1]),
            "tuples": tuples,
            "batches": len(self.notes) - UNMEASURED,
        }


def source(session: Session, folder: Path, clock: Clock) -> dict[str, Any]:
    """The source alone: rows come to Python as Arrow, and a small row goes back."""
    _follow(session, _stream(session, folder).mapInArrow(ReadingTask(), FOUND), clock)
    return {}


def floor(session: Session, folder: Path, clock: Clock) -> dict[str, Any]:
    """The source and the packed shuffle alone: one row in a hundred goes through, as bytes."""
    _stateful(session)
    sent = _stream(session, folder).mapInArrow(PassingTask(), SENT)
    found = sent.groupBy("key").transformWithState(PassingProcessor(), FOUND, "update", "none")
    _follow(session, found, clock)
    return {"bytes_sent": PASSING}


def _follow(session: Session, found: Any, clock: Clock) -> None:
    def take(batch: Any, number: int) -> None:
        del number
        batch.toArrow()
        clock.note()

    query = found.writeStream.foreachBatch(take).outputMode("update").start()
    await_all(query, session)
    query.stop()


def cells(session: Session, folder: Path, clock: Clock, text: str) -> dict[str, Any]:
    """A program on the executors."""
    handle = cqc.spark.start(
        cqc.compile(text),
        session.spark,
        {"s": _stream(session, folder)},
        on_batch=lambda number, tables: clock.note(),
        keep_past=False,
        collect=False,
        distribute=True,
    )
    handle.process_all_available()
    state = handle.coordinator.state
    read = sum(count.read for count in state.counts.values())
    found = {
        "sent": state.tuples_sent / read,
        "bytes_sent": state.bytes_sent / (read * 9 * 8),
        "results": sum(state.results.values()),
        "rebuilt": state.cells_rebuilt / max(state.cells_met, 1),
    }
    handle.stop()
    return found


CONTESTANTS: dict[str, Callable[[Session, Path, Clock], dict[str, Any]]] = {
    "source": source,
    "floor": floor,
    "filters": lambda session, folder, clock: cells(
        session, folder, clock, filter_program(QUERIES)
    ),
    "joins": lambda session, folder, clock: cells(session, folder, clock, join_program(QUERIES)),
}


def _stream(session: Session, folder: Path) -> Any:
    reader = session.spark.readStream.schema(SCHEMA)
    return reader.option("maxFilesPerTrigger", FILES_PER_TRIGGER).parquet(str(folder))


def _stateful(session: Session) -> None:
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    session.spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)


def main() -> None:
    cores, files, rows = map(int, sys.argv[1:4])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    figures: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(f"local[{cores}]", jvm_options="-XX:TieredStopAtLevel=4") as session,
    ):
        session.spark.conf.set("spark.sql.shuffle.partitions", str(cores))
        session.spark.conf.set("spark.sql.files.openCostInBytes", str(1 << 30))
        write_files(Path(folder), files, rows)
        floor(session, Path(folder), Clock())
        for name in sys.argv[4:] or CONTESTANTS:
            clock = Clock()
            found = CONTESTANTS[name](session, Path(folder), clock)
            figures[name] = {**clock.figures(rows * FILES_PER_TRIGGER), **found}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
