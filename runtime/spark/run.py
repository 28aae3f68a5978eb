"""One run of a program on Spark Structured Streaming: a single streaming query delivers the input of all its streams.

The engine is in this process, behind `foreachBatch`. Spark starts while the tables are read. The thread that waits for the
end is never inside a call to the JVM, so that Ctrl-C is heard at once. A micro-batch that takes long then is given up by the
engine, between two calls of a kernel: it does not count, and Spark hears nothing of it.
"""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cqc.runtime.errors import Halted, RunError
from cqc.runtime.run.batch_run import LOOK_S, BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.spark.session.feed import Feed
from cqc.runtime.spark.session.session import SPARK_ERRORS, spark_failed
from cqc.runtime.spark.session.starting import Starting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from cqc.compiler import Program
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import RunSummary
    from cqc.runtime.sources.range import Range
    from cqc.runtime.spark.session.session import Session

BATCHES_PER_QUERY = 2_000
_GRACE_S = 0.25  # for the micro-batch under way, when the run is to stop


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
        make = BatchRun if options.checkpoint is None else DurableRun
        self._run = make(program, options)
        self._session = session
        self._starting: Starting | None = None
        self._feed: Feed | None = None
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._batches = 0  # of the streaming query that runs
        self._next: list[Range] = []  # what the one after it begins with
        self._hungry = False  # Spark has had everything there was to read
        self._stopping = False
        self._working = threading.Lock()
        self._progress: Callable[[int], None] | None = None

    @property
    def engine(self) -> Engine:
        """The engine, for its counters."""
        return self._run.engine

    def to_end(self, progress: Callable[[int], None] | None = None) -> None:
        """Run until the input has ended (with `follow`: until somebody interrupts).

        Raises:
            RunError: when the run cannot go on.
        """
        self._progress = progress
        say = getattr(progress, "say", None)
        if say is not None:
            say("starting Spark")
        if self._session is None:
            self._starting = Starting(self._options.master)
        self._run.read_tables()
        first = self._run.next_ranges()
        while not first and self._run.awaits_more():
            time.sleep(LOOK_S)
            first = self._run.next_ranges()
        if first:
            if self._starting is not None:
                self._session = self._starting.result()
            self._stream(first)
        self._run.end_of_input()

    def give_up(self) -> None:
        """Let the micro-batch under way stop in the middle."""
        self._run.give_up()

    def close(self) -> RunSummary:
        """Let the micro-batch under way finish if it does so soon, end Spark, close the sink and say what was done."""
        with self._let_finish():
            return self._run.close()

    def abandon(self) -> RunSummary:
        """The same after a failure."""
        with self._let_finish():
            return self._run.abandon()

    @contextmanager
    def _let_finish(self) -> Iterator[None]:
        self._stop_soon()
        with self._working:
            if self._starting is not None:
                self._starting.close()
            yield

    def _stop_soon(self) -> None:
        """Nothing begins any more; what is under way has a moment to finish."""
        self._stopping = True
        if self._working.acquire(timeout=_GRACE_S):
            self._working.release()
        else:
            self.give_up()

    def _stream(self, first: list[Range]) -> None:
        """Let Spark deliver micro-batches until there is no input left.

        Spark remembers every file of a feed for as long as its query runs, so that a query is followed by another one.
        """
        while first:
            self._next = []
            self._deliver(first)
            first = self._next

    def _deliver(self, first: list[Range]) -> None:
        """Let one streaming query deliver micro-batches."""
        assert self._session is not None
        self._ended = ended = threading.Event()
        self._batches = 0
        folder = self._session.new_folder()
        self._feed = Feed(folder / "feed")
        self._feed.put(first)
        try:
            query = (
                self._feed.stream(self._session.spark)
                .writeStream.foreachBatch(self._take_batch)
                .option("checkpointLocation", str(folder / "spark"))
                .trigger(processingTime="0 seconds")
                .start()
            )
        except SPARK_ERRORS as error:
            raise self._lost(spark_failed(error, self._session)) from error
        threading.Thread(target=self._wait_for, args=(query, ended), daemon=True).start()
        try:
            while not ended.wait(LOOK_S):
                if self._hungry:
                    with self._working:
                        self._go_on()
        except BaseException:
            self._stop_soon()  # else Spark waits for the micro-batch to finish when it is stopped
            raise
        finally:
            self._stopping = self._stopping or not self._next
            if self._starting is None or self._next:
                with suppress(*SPARK_ERRORS):  # it may have ended by itself, or its JVM
                    query.stop()
        if self._failure is not None:
            raise self._failure
        shutil.rmtree(folder, ignore_errors=True)

    def _wait_for(self, query: StreamingQuery, ended: threading.Event) -> None:
        """Hear when Spark ends the query by itself, which only a failure makes it do."""
        try:
            query.awaitTermination()
        except SPARK_ERRORS as error:
            if self._failure is None and not self._stopping and not ended.is_set():
                self._failure = self._lost(spark_failed(error, self._session))
        finally:
            ended.set()

    def _take_batch(self, batch: DataFrame, number: int) -> None:
        """What Spark calls with each micro-batch, in a thread of its own."""
        del number  # micro-batches are numbered by the run, whose checkpoint outlives Spark's
        with self._working:
            if self._stopping:
                return
            try:
                self._run.process(self._taken(batch))
                if self._progress is not None:
                    self._progress(self._run.engine.tuples_read)
                self._go_on()
            except Halted:
                pass  # the run is stopping, and this micro-batch does not count
            except BaseException as error:  # it loses its type on the way through the JVM
                self._failure = error
                self._ended.set()
                raise

    def _taken(self, batch: DataFrame) -> list[Range]:
        assert self._feed is not None
        try:
            return self._feed.taken(batch, self._session)
        except RunError as error:
            raise self._lost(error) from error

    def _lost(self, failure: RunError) -> RunError:
        """A failure of Spark's, with what to do: what counts is in our checkpoint, and nothing of Spark's outlives a run."""
        if self._options.checkpoint is None:
            return failure
        return RunError(f"{failure}; start again to go on from the last micro-batch that counts")

    def _go_on(self) -> None:
        """Give Spark the next micro-batch, if there is one."""
        assert self._feed is not None
        ranges = self._run.next_ranges()
        self._hungry = not ranges
        if ranges and self._batches >= BATCHES_PER_QUERY:
            self._next = ranges
            self._ended.set()
        elif ranges:
            self._batches += 1
            self._feed.put(ranges)
        elif not self._run.awaits_more():
            self._ended.set()
