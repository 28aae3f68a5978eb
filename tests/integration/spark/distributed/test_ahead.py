"""Rows far ahead of their stream are set aside in a distributed run as on one engine, whatever task reads them.

Driver, tasks and cells are those of `cqc run --distribute`, with the files that go between them; Spark alone is missing.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.spark.distributed import worker
from cqc.runtime.spark.distributed.messages.feed_lines import feed_lines
from cqc.runtime.spark.distributed.messages.spec import Header, Spec, digest
from cqc.runtime.spark.distributed.stages.cell import Cells
from cqc.runtime.spark.distributed.stages.stage_one import StageOne
from cqc.runtime.spark.distributed.work import DurableWork
from tests.integration.spark.distributed.cluster import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.run.finite_run import RunSummary

PROGRAM = """
SET MAX_AHEAD = 50 SEC;
CREATE STREAM A (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 5) WITH (path = 'a.csv');
CREATE STREAM B (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 5) WITH (path = 'b.csv');
CREATE QUERY all_a AS SELECT ts, k FROM A;
CREATE QUERY joined AS SELECT A.ts AS a, B.ts AS b FROM A, B WHERE A.k = B.k MAXWINDOW 3 SEC;
CREATE QUERY last AS SELECT A.ts AS a, B.ts AS b FROM A [ROWS 2], B [ROWS 2] WHERE A.k = B.k;
"""
TASKS = 3


class Driver:
    """Starts of a distributed run, without Spark; what is durable of cells outlives them."""

    def __init__(self, program: cqc.Program, options: RunOptions) -> None:
        self.program, self.options = program, options
        self.stores: dict[int, MemoryStore] = {}

    def start(self, batches: int | None = None) -> RunSummary:
        """Run to the end, or for some micro-batches."""
        self.work = DurableWork(self.program, self.options)
        self.work.read_tables()
        packed = self.work.spread(2).pack()
        self.spec, self.digest = Spec.unpack(packed, digest(packed)), digest(packed)
        worker._specs[self.digest] = self.spec
        worker._ones[self.digest] = StageOne(self.spec)
        self.cells = Cells(self.spec)
        done = 0
        while done != batches and not self.one():
            done += 1
        return self.work.close()

    def one(self) -> bool:
        """One micro-batch; whether it was the last."""
        ranges = self.work.next_ranges()
        ended = not ranges
        header = self.work.header(ended=ended)
        decided = self.work.decide(ranges, ended=ended)
        lines = feed_lines(header, ranges, TASKS, decided=decided).splitlines()
        read = pa.RecordBatch.from_arrays([pa.array(lines)], names=["value"])
        sent: dict[int, list[tuple[int, bytes]]] = {}
        for rows in worker.RangesTask(self.digest)(iter([read])):
            for row in rows.to_pylist():
                content = worker.split_header(row["blob"])[1]
                sent.setdefault(row["key"], []).append((row["origin"], content))
        self.work.take(self.in_cells(header, sent), ended=ended)
        return ended

    def in_cells(self, header: Header, sent: dict[int, list[tuple[int, bytes]]]) -> list[bytes]:
        layout = worker._layout(self.digest, self.spec, header)
        found = []
        for key, blobs in sent.items():
            place = layout.place_of(key)
            if place is None:
                found += [blob for _, blob in blobs]
            else:
                store = self.stores.setdefault(key, MemoryStore())
                found.append(self.cells.process(place, header, blobs, store).pack())
        return found


def told(summary: RunSummary) -> dict[str, tuple[int, int, int, int, dict[str, int]]]:
    return {
        name: (count.read, count.late, count.rejected, count.waiting, dict(count.reasons))
        for name, count in summary.streams.items()
    }


def lines_of(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").splitlines())


def options_of(folder: Path, name: str, rows_per_batch: int) -> RunOptions:
    return RunOptions(
        out=str(folder / f"{name}.out"),
        rejects=str(folder / f"{name}.rejects"),
        checkpoint=str(folder / name),
        rows_per_batch=rows_per_batch,
    )


def check(folder: Path, times: dict[str, list[object]], rows_per_batch: int, stop: int) -> str:
    """Compare the two; the rejected rows."""
    for name, some in times.items():
        rows = [f"{ts},{at % 3}\n" for at, ts in enumerate(some)]
        (folder / f"{name}.csv").write_text("".join(["ts,k\n", *rows]), encoding="utf-8")
    (folder / "p.cq").write_text(PROGRAM, encoding="utf-8")
    program = cqc.compile_files([str(folder / "p.cq")])
    one = DurableRun(program, options_of(folder, "one", rows_per_batch))
    one.to_end()
    driver = Driver(program, options_of(folder, "many", rows_per_batch))
    driver.start(stop)
    assert told(one.close()) == told(driver.start())
    assert lines_of(folder / "many.out") == lines_of(folder / "one.out")
    assert lines_of(folder / "many.rejects") == lines_of(folder / "one.rejects")
    return (folder / "one.rejects").read_text(encoding="utf-8")


STEADY: list[object] = [*range(1, 41)]


@pytest.mark.parametrize("rows_per_batch", [7, 1000])
def test_a_stray_row_waits_and_is_rejected_at_the_end(tmp_path: Path, rows_per_batch: int) -> None:
    strays = {"a": [*STEADY[:9], 900, "none", *STEADY[9:]], "b": STEADY}
    rejects = check(tmp_path, strays, rows_per_batch, 2)
    assert [json.loads(line)["row"]["ts"] for line in rejects.splitlines()] in (
        [900, "none"],
        ["none", 900],
    )


def test_a_stream_that_really_moved_on_counts(tmp_path: Path) -> None:
    moved = {"a": [*STEADY[:9], *range(500, 530)], "b": [*STEADY[:9], *range(500, 530)]}
    assert check(tmp_path, moved, 11, 3) == ""


def test_a_run_far_longer_than_the_guard_needs_no_decision(tmp_path: Path) -> None:
    assert check(tmp_path, {"a": [*range(0, 4000, 40)], "b": [*range(0, 4000, 40)]}, 1000, 1) == ""


@pytest.mark.parametrize("seed", range(4))
def test_random_strays_are_set_aside_alike(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    times: dict[str, list[object]] = {}
    for name in "ab":
        now, some = 0, []
        while len(some) < 120:
            now += rng.randint(0, 3) if rng.random() < 0.97 else rng.randint(60, 90)
            far = rng.randint(40, 300) if rng.random() < 0.06 else -rng.randint(0, 7)
            some.append(max(now + far, 0))
        times[name] = [*some]
    check(tmp_path, times, rng.choice([5, 17, 60]), rng.randint(0, 5))
