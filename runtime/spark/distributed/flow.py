"""The two stages as one streaming DataFrame, and the settings it needs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkFiles

from cqc.runtime.errors import RunError
from cqc.runtime.spark.distributed.messages.spec import digest
from cqc.runtime.spark.distributed.messages.stop_flag import StopFlag
from cqc.runtime.spark.distributed.worker import FOUND, SENT, CellProcessor, found_blob, spec_name
from cqc.runtime.spark.session.session import SPARK_ERRORS, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from cqc.runtime.spark.distributed.messages.spec import Spec

    Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_STATE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Flow:
    """A spec that was sent to the executors of a session."""

    def __init__(self, spark: SparkSession, spec: Spec) -> None:
        packed = spec.pack()
        self.digest = digest(packed)
        # As a file, which each executor fetches once: Spark has no broadcast variables where a stateful operator starts.
        # It lives as long as the session: every job of it, also those of others, fetches what an executor does not have.
        folder = Path(SparkFiles.getRootDirectory()) / "cqc"
        folder.mkdir(exist_ok=True)
        file = folder / spec_name(self.digest)
        file.write_bytes(packed)
        spark.sparkContext.addFile(str(file))
        self.has_cells = bool(spec.groups) or spec.keeps_past is not None
        self._settings = {
            "spark.sql.streaming.stateStore.providerClass": _STATE,
            # Else the whole of what changed in RocksDB's files is written again with every micro-batch.
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.sql.shuffle.partitions": str(spec.shuffle_partitions),
        }
        self._spark = spark
        self._stop = StopFlag(Path(SparkFiles.get(spec_name(self.digest))))
        server = getattr(spark.sparkContext, "_accumulatorServer", None)
        if server is not None:
            server.handle_error = lambda *request: (
                None
            )  # it complains when the JVM goes, to the user
        self._before: dict[str, Any] = {}

    def configure(self) -> None:
        """Set what the streaming query needs when it starts."""
        for name, value in self._settings.items():
            self._before[name] = self._spark.conf.get(name, None)
            self._spark.conf.set(name, value)

    def end(self, query: StreamingQuery | None) -> None:
        """Stop the query, if it did start, and leave the session as it was."""
        with suppress(OSError):  # they stop without it too, a little later
            self._stop.show()
        with suppress(*SPARK_ERRORS):  # it may have ended by itself, or its JVM
            if query is not None:
                query.stop()
            self.restore()

    def restore(self) -> None:
        """Leave the session's settings as they were."""
        for name, value in self._before.items():
            if value is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, value)

    def through(self, source: DataFrame, task: Task, *, cells: bool) -> DataFrame:
        """What tasks and cells find in the source, as blobs."""
        sent = source.mapInArrow(task, SENT)
        if not cells:
            return sent.select("blob")
        processor = CellProcessor(self.digest)
        return sent.groupBy("key").transformWithState(processor, FOUND, "update", "none")


def worker_failed(error: BaseException) -> RunError | None:
    """What a worker has to say to the user, when it was one of ours that could not go on."""
    marker = f"{RunError.__module__}.{RunError.__name__}: "
    told = [line for line in text_of(error).splitlines() if line.startswith(marker)]
    return RunError(told[-1].removeprefix(marker)) if told else None


def found_in(batch: DataFrame, *, cells: bool) -> list[bytes]:
    """What a micro-batch's tasks and cells found."""
    blobs = [bytes(blob) for blob in batch.toArrow()["blob"].to_pylist()]
    return blobs if cells else [found_blob(blob) for blob in blobs]
