"""What any engine on this source must do: take the rows as Arrow, pack some of them, send them, and hand them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from cqc.runtime.spark.session.session import spark_failed

PASSING = 0.01  # of the rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.runtime.spark.session.session import Session


def await_all(query: Any, session: Session) -> None:
    """Wait until a streaming query has taken everything that is there.

    Raises:
        RunError: that says what Spark says.
    """
    try:
        query.processAllAvailable()
    except PySparkException as error:
        raise spark_failed(error, session) from error


class ReadingTask:
    """Takes its rows and says how many they were."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_arrays([pa.array([str(rows).encode()])], names=["blob"])


class PassingTask:
    """Sends a share of its rows as one blob for each key."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = list(batches)
        if not rows:
            return
        table = pa.Table.from_batches(rows)
        some = table.slice(0, round(table.num_rows * PASSING))
        context = TaskContext.get()
        origin = 0 if context is None else context.partitionId()
        blobs = []
        half = some.num_rows // 2
        for part in (some.slice(0, half), some.slice(half)):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_table(part)
            blobs.append(sink.getvalue().to_pybytes())
        yield pa.RecordBatch.from_arrays(
            [pa.array([0, 1], pa.int32()), pa.array([origin] * 2, pa.int64()), pa.array(blobs)],
            names=["key", "origin", "blob"],
        )


class PassingProcessor(StatefulProcessor):
    """Keeps how many bytes came, and hands on a small row."""

    def init(self, handle: Any) -> None:
        """Name the state."""
        self._seen = handle.getValueState("seen", "bytes BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  # Spark's names
        """Count what came."""
        del key, timerValues
        seen = self._seen.get()[0] if self._seen.exists() else 0
        self._seen.update((seen + sum(len(row["blob"]) for row in rows),))
        yield Row(blob=b"")

    def close(self) -> None:
        """Nothing is held."""
