"""One contestant over the Parquet stream, in a process of its own: prints its figures as JSON.

    python -m cqc.benchmarks.spark.measure CONTESTANT QUERIES FILES ROWS

Two passes over the same files come before the one that is measured: the JVM compiles its code during them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cqc
from cqc.benchmarks.spark.workload import SCHEMA, program_text, range_queries, write_files
from cqc.runtime.spark.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

FILES_PER_TRIGGER = 4
WARM_PASSES = 2
LIMIT_S = 1_500


class Bench:
    """A session, the files, and the queries."""

    def __init__(
        self, session: Session, folder: Path, queries: int, files_per_trigger: int
    ) -> None:
        self.session = session
        self.folder = folder
        self.queries = range_queries(queries)
        self.program = cqc.compile(program_text(self.queries))
        self.files_per_trigger = files_per_trigger

    def stream(self) -> Any:
        """A new stream over the files."""
        reader = self.session.spark.readStream.schema(SCHEMA)
        return reader.option("maxFilesPerTrigger", self.files_per_trigger).parquet(str(self.folder))

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
        """All queries by one engine."""
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


def measured(session: Session, work: Callable[[], int], batches: int) -> dict[str, float]:
    """Processor and wall time of one pass, after those that warm up."""
    for _ in range(WARM_PASSES):
        work()
    cpu, wall = session.cpu_seconds(), time.perf_counter()
    results = work()
    wall, cpu = time.perf_counter() - wall, session.cpu_seconds() - cpu
    return {
        "cpu_s": cpu,
        "wall_s": wall,
        "ms_per_batch": 1000 * wall / batches,
        "cpu_ms_per_batch": 1000 * cpu / batches,
        "results": results,
    }


def main() -> None:
    contestant, queries, files, rows = sys.argv[1], *map(int, sys.argv[2:5])
    per_trigger = 1 if rows == 1 else FILES_PER_TRIGGER
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(jvm_options="-XX:TieredStopAtLevel=4") as session,
    ):
        write_files(Path(folder), files, rows)
        bench = Bench(session, Path(folder), queries, per_trigger)
        figures = measured(session, getattr(bench, contestant), -(-files // per_trigger))
    figures["tuples"] = files * rows
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
