"""One run of a program on Spark Structured Streaming: a single streaming query delivers the input of all its streams.

The engine is in this process, behind `foreachBatch`. Spark starts while the tables are read. The thread that waits for the
end is never inside a call to the JVM, so that Ctrl-C is heard at once.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from cqc.runtime.batch_run import BatchRun
from cqc.runtime.errors import RunError
from cqc.runtime.spark.feed import Feed, ranges_of
from cqc.runtime.spark.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions
    from cqc.runtime.ranges import Range
    from cqc.runtime.run import RunSummary

_TICK_S = 0.2


class SparkRun:
    """A run on Spark.

    Args:
        program: what to run.
        options: how.
        session: a session to use and leave open; one is started (and ended by `close`) without it.

    Raises:
        RunError: when data is missing, or a place to write to cannot be opened.
    """

    def __init__(
        self, program: Program, options: RunOptions, session: Session | None = None
    ) -> None:
        self._options = options
        self._run = BatchRun(program, options)
        self._given = session
        self._session = session
        self._stopping = False
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._working = threading.Lock()
        self._progress: Callable[[int], None] | None = None

    def to_end(self, progress: Callable[[int], None] | None = None) -> None:
        """Run until the input has ended (with `follow`: until somebody interrupts).

        Raises:
            RunError: when the run cannot go on.
        """
        self._progress = progress
        say = getattr(progress, "say", None)
        if say is not None:
            say("starting Spark")
        with ThreadPoolExecutor(1) as starter:
            starting = None if self._session else starter.submit(Session, self._options.master)
            try:
                self._run.read_tables()
                first = self._run.next_ranges()
            finally:
                if starting is not None:
                    self._session = starting.result()
        if first:
            self._stream(first)
        self._run.end_of_input()

    def _stream(self, first: list[Range]) -> None:
        """Let Spark deliver micro-batches until there is no input left."""
        session = self._session
        assert session is not None
        folder = session.new_folder()
        self._feed = Feed(folder / "feed")
        self._feed.put(0, first)
        try:
            query = (
                self._feed.stream(session.spark)
                .writeStream.foreachBatch(self._take_batch)
                .option("checkpointLocation", str(folder / "spark"))
                .trigger(processingTime="0 seconds")
                .start()
            )
        except (PySparkException, Py4JError) as error:
            raise self._spark_failed(error) from error
        waiter = threading.Thread(target=self._wait_for, args=(query,), daemon=True)
        waiter.start()
        try:
            while not self._ended.wait(_TICK_S):
                pass
        finally:
            self._stopping = True
            if self._session is self._given:
                query.stop()
        if self._failure is not None:
            raise self._failure

    def _wait_for(self, query: StreamingQuery) -> None:
        """Hear when Spark ends the query by itself, which only a failure makes it do."""
        try:
            query.awaitTermination()
        except (PySparkException, Py4JError, OSError) as error:
            if self._failure is None and not self._stopping:
                self._failure = self._spark_failed(error)
        self._ended.set()

    def _take_batch(self, batch: DataFrame, batch_id: int) -> None:
        """What Spark calls with each micro-batch, in a thread of its own."""
        with self._working:
            if self._stopping:
                return
            try:
                self._run.process(ranges_of(batch))
                self._go_on(batch_id + 1)
            except BaseException as error:  # it loses its type on the way through the JVM
                self._failure = error
                self._ended.set()
                raise

    def _go_on(self, number: int) -> None:
        if self._progress is not None:
            self._progress(self._run.engine.tuples_read)
        following = self._run.next_ranges()
        if following:
            self._feed.put(number, following)
        else:
            self._ended.set()

    def _spark_failed(self, error: BaseException) -> RunError:
        session = self._session
        log = "" if session is None else f"; its log is {session.keep_log()}"
        return RunError(f"Spark failed: {str(error).strip().partition(chr(10))[0]}{log}")

    def close(self) -> RunSummary:
        """End Spark, close the sink and say what was done."""
        with self._working:
            summary = self._run.close()
        if self._session is not None and self._session is not self._given:
            self._session.close()
        return summary
