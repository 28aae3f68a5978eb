"""Some contestants over the same Parquet stream, in one session: prints the figures of each as JSON.

    python -m cqc.benchmarks.engine.spark.measure FILES ROWS ROUNDS CONTESTANT:QUERIES...

Every contestant makes the same number of passes that warm up, then the rounds are measured in turn: what the machine does
beside it, and what the JVM compiles late, meets all of them alike. A figure is the median of its rounds.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import cqc
from cqc.benchmarks.engine.spark.workload import SCHEMA, program_text, range_queries, write_files
from cqc.runtime.options import RunOptions
from cqc.runtime.spark.run import SparkRun
from cqc.runtime.spark.session.session import Session

FILES_PER_TRIGGER = 4
WARM_PASSES = 1
LIMIT_S = 3_600
# Rows go through the JVM here, in all contestants: its best code pays.
JVM_OPTIONS = "-XX:TieredStopAtLevel=4"


class Contestant:
    """One way to answer some queries over the files of a folder."""

    def __init__(self, session: Session, folder: Path, kind: str, queries: int) -> None:
        self.session = session
        self.folder = folder
        self.name = f"{kind}:{queries}"
        self.queries = range_queries(queries)
        self.program = cqc.compile(program_text(self.queries)) if queries else None
        self.work = getattr(self, kind)

    def stream(self) -> Any:
        """A new stream over the files."""
        reader = self.session.spark.readStream.schema(SCHEMA)
        return reader.option("maxFilesPerTrigger", FILES_PER_TRIGGER).parquet(str(self.folder))

    def empty(self) -> int:
        """The rows handed over as Arrow, and nothing done with them."""
        batches: list[int] = []
        query = (
            self.stream()
            .writeStream.foreachBatch(
                lambda batch, number: batches.append(batch.toArrow().num_rows)
            )
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(LIMIT_S)
        return sum(batches)

    def cqc(self) -> int:
        """All queries by one engine, over a streaming DataFrame."""
        assert self.program is not None
        handle = cqc.spark.start(
            self.program,
            self.session.spark,
            {"s": self.stream()},
            finite=True,
            keep_past=False,
            collect=False,
        )
        handle.await_end(LIMIT_S)
        return sum(handle.engine.result_counts().values())

    def run(self) -> int:
        """All queries by `cqc run`."""
        assert self.program is not None
        options = RunOptions(binds={"s": str(self.folder)}, engine="spark", sink="none")
        run = SparkRun(self.program, options, self.session)
        run.to_end()
        return sum(run.close().queries.values())

    def native(self) -> int:
        """A streaming query each."""
        found: list[int] = []
        running = [
            self.stream()
            .where(query.condition)
            .writeStream.foreachBatch(lambda batch, number: found.append(batch.count()))
            .trigger(availableNow=True)
            .start()
            for query in self.queries
        ]
        for each in running:
            each.awaitTermination(LIMIT_S)
        return sum(found)

    def broadcast(self) -> int:
        """One streaming query: a join with the table of ranges."""
        spark = self.session.spark
        rows = [
            (
                query.first,
                query.first_low,
                query.first_high,
                query.second,
                query.second_low,
                query.second_high,
            )
            for query in self.queries
        ]
        names = "a string, a_low bigint, a_high bigint, b string, b_low bigint, b_high bigint"
        spark.createDataFrame(rows, names).createOrReplaceTempView("queries")
        self.stream().createOrReplaceTempView("rows")
        inside = " AND ".join(_inside(side) for side in "ab")
        joined = spark.sql(
            f"SELECT /*+ BROADCAST(queries) */ 1 AS one FROM rows JOIN queries ON {inside}"
        )
        found: list[int] = []
        query = (
            joined.writeStream.foreachBatch(lambda batch, number: found.append(batch.count()))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(LIMIT_S)
        return sum(found)


def _inside(side: str) -> str:
    cases = " ".join(f"WHEN '{name}' THEN rows.{name}" for name in (f"c{n}" for n in range(8)))
    return f"(CASE {side} {cases} END BETWEEN {side}_low AND {side}_high)"


def measured(session: Session, contestants: list[Contestant], rounds: int) -> dict[str, Any]:
    """Processor and wall time of a pass of each, and what it found."""
    for _ in range(WARM_PASSES):
        for each in contestants:
            each.work()
    passes: dict[str, list[tuple[float, float]]] = {each.name: [] for each in contestants}
    results = {}
    for _ in range(rounds):
        for each in contestants:
            cpu, wall = session.cpu_seconds(), time.perf_counter()
            results[each.name] = each.work()
            spent = session.cpu_seconds() - cpu, time.perf_counter() - wall
            passes[each.name].append(spent)
    return {
        name: {
            "cpu_s": median(cpu for cpu, _ in spent),
            "wall_s": median(wall for _, wall in spent),
            "results": results[name],
        }
        for name, spent in passes.items()
    }


def main() -> None:
    files, rows, rounds = map(int, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder, Session(jvm_options=JVM_OPTIONS) as session:
        write_files(Path(folder), files, rows)
        asked = [text.split(":") for text in sys.argv[4:]]
        contestants = [Contestant(session, Path(folder), kind, int(count)) for kind, count in asked]
        print(json.dumps(measured(session, contestants, rounds)))


if __name__ == "__main__":
    main()
