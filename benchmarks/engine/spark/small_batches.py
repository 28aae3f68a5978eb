"""What a micro-batch of one row costs, with the engine behind it and without: prints the medians as JSON.

    python -m cqc.benchmarks.engine.spark.small_batches BATCHES QUERIES

Two streaming queries run in one session, and get a row each in turn; a micro-batch is timed from its file's appearance to
the moment when Spark says that everything is processed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import cqc
from cqc.benchmarks.engine.spark.measure import JVM_OPTIONS
from cqc.benchmarks.engine.spark.workload import SCHEMA, program_text, range_queries, write_files
from cqc.runtime.spark.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

WARM = 20


class Lane:
    """A folder that Spark watches, and how long its micro-batches took."""

    def __init__(self, session: Session, folder: Path) -> None:
        folder.mkdir()
        self.session, self.folder = session, folder
        self.spent: list[tuple[float, float]] = []
        self.files = 0

    def stream(self) -> Any:
        return self.session.spark.readStream.schema(SCHEMA).parquet(str(self.folder))

    def step(self, file: Path, wait: Callable[[], None]) -> None:
        """One micro-batch."""
        aside = self.folder / ".next"
        aside.write_bytes(file.read_bytes())
        cpu, wall = self.session.cpu_seconds(), time.perf_counter()
        aside.replace(self.folder / f"{self.files:06d}.parquet")
        wait()
        self.spent.append((time.perf_counter() - wall, self.session.cpu_seconds() - cpu))
        self.files += 1

    def medians(self) -> tuple[float, float]:
        """Wall and processor time in milliseconds."""
        wall, cpu = zip(*self.spent[WARM:], strict=True)
        return 1000 * median(wall), 1000 * median(cpu)


def main() -> None:
    batches, count = map(int, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name, Session(jvm_options=JVM_OPTIONS) as session:
        folder = Path(name)
        (folder / "row").mkdir()
        write_files(folder / "row", 1, 1)
        (row,) = (folder / "row").iterdir()
        alone, ours = Lane(session, folder / "alone"), Lane(session, folder / "ours")
        query = alone.stream().writeStream.foreachBatch(lambda batch, _: batch.toArrow()).start()
        program = cqc.compile(program_text(range_queries(count)))
        handle = cqc.spark.start(
            program, session.spark, {"s": ours.stream()}, keep_past=False, collect=False
        )
        for _ in range(WARM + batches):
            alone.step(row, query.processAllAvailable)
            ours.step(row, handle.process_all_available)
        pairs = zip(alone.spent[WARM:], ours.spent[WARM:], strict=True)
        more = [(ours[0] - alone[0], ours[1] - alone[1]) for alone, ours in pairs]
        print(
            json.dumps(
                {
                    "alone": alone.medians(),
                    "ours": ours.medians(),
                    "difference": [1000 * median(each) for each in zip(*more, strict=True)],
                }
            )
        )


if __name__ == "__main__":
    main()
