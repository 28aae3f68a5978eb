"""One run of a program on Spark's executors: what `cqc run --distribute` starts."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cqc.runtime.errors import Halted, RunError
from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import ADVICE
from cqc.runtime.run.driver import LOOK_S, Observer
from cqc.runtime.sources.range import Range
from cqc.runtime.spark.distributed.flow import Flow, found_in, worker_failed
from cqc.runtime.spark.distributed.messages.feed_lines import feed_lines, opened_line
from cqc.runtime.spark.distributed.messages.files import write_whole
from cqc.runtime.spark.distributed.messages.spec import Header
from cqc.runtime.spark.distributed.moving import MovingTask, move
from cqc.runtime.spark.distributed.work import DurableWork, Work
from cqc.runtime.spark.distributed.worker import RangesTask
from cqc.runtime.spark.session.session import SPARK_ERRORS, spark_failed, text_of
from cqc.runtime.spark.session.starting import Starting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import RunSummary
    from cqc.runtime.spark.session.session import Session


_PATIENCE_S = 60.0  # for Spark to end a query
_STOPPING = "the run is stopping"


class DistributedRun:
    """A run on Spark's executors.

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
        self._work: Work = (Work if options.checkpoint is None else DurableWork)(program, options)
        self._session = session
        self._starting: Starting | None = None
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._first: list[Range] = []
        self._hungry = False  # Spark has had everything there was to read
        self._stopping = False
        self._working = threading.Lock()
        self._progress: Callable[[int], None] | None = None
        self._feed: Path | None = None
        self._flow: Flow | None = None

    @property
    def coordinator(self) -> object:
        """The driver's knowledge, for those who measure."""
        return self._work.coordinator

    @property
    def rows_before(self) -> int:
        """Of the rows that are counted, those that were read before this start."""
        return self._work.rows_before

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
        self._work.read_tables()
        if isinstance(self._work, DurableWork) and self._work.has_ended:
            first = self._work.next_ranges()
            if not first and not self._work.awaits_more():
                self._spread_without_spark()
                return
            self._first = first
        if self._starting is not None:
            self._session = self._starting.result()
        self._stream()

    def give_up(self) -> None:
        """Joins are done by executors, which stop when Spark does or when they are told (`stop_flag`)."""

    def close(self) -> RunSummary:
        """Let the micro-batch under way finish, end Spark, close the sink and say what was done."""
        with self._let_finish():
            return self._work.close()

    def abandon(self) -> RunSummary:
        """The same after a failure."""
        with self._let_finish():
            return self._work.abandon()

    @contextmanager
    def _let_finish(self) -> Iterator[None]:
        self._stopping = True
        with self._working:
            if self._starting is not None:
                self._starting.close()
            yield

    def _spread_without_spark(self) -> None:
        """There is nothing to do, but counters to tell."""
        assert isinstance(self._work, DurableWork)
        self._work.spread(self._work.partitions_before or 1)

    def _stream(self) -> None:
        assert self._session is not None
        spark = self._session.spark
        self._tasks = spark.sparkContext.defaultParallelism
        partitions = self._options.partitions or self._tasks
        folder = self._session.new_folder()
        checkpoint, self._feed, first = folder / "spark", folder / "feed", 0
        if isinstance(self._work, DurableWork):
            partitions = self._options.partitions or self._work.partitions_before or partitions
        spec = self._work.spread(partitions)
        if isinstance(self._work, DurableWork):
            checkpoint, self._feed = self._work.spark, self._work.feed
            first = self._work.era.first
        private_folder(self._feed)
        self._flow = Flow(spark, spec)
        self._has_cells = self._flow.has_cells or self._options.is_live
        self._move()
        if self._file(self._work.next_number).exists():
            self._give_again(self._file(self._work.next_number))
        else:
            self._go_on()
        self._wait_for_input()
        source = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        lines = source.load(str(self._feed)).repartition(self._tasks)
        task = RangesTask(self._flow.digest)
        found = self._flow.through(lines, task, cells=self._has_cells)
        self._flow.configure()
        try:
            query = (
                found.writeStream.foreachBatch(
                    lambda batch, number: self._take_batch(batch, first + number)
                )
                .outputMode("update")
                .option("checkpointLocation", str(checkpoint))
                .trigger(processingTime="0 seconds")
                .start()
            )
        except SPARK_ERRORS as error:
            failure = self._spark_failed(error)
            self._flow.end(None)
            raise failure from error
        observer = Observer.of(self._progress)
        waiter = threading.Thread(target=self._wait_for, args=(query,), daemon=True)
        waiter.start()
        try:
            while not self._ended.wait(LOOK_S):
                if self._hungry:
                    with self._working:
                        self._go_on()
                observer.idle()
        except BaseException:
            self._stopping = True
            if self._starting is not None:  # the JVM and all its workers, wherever they are
                self._starting.close()
            raise
        finally:
            self._stopping = True
            self._flow.end(query)
            waiter.join(_PATIENCE_S)
        if self._failure is not None:
            raise self._failure

    def _move(self) -> None:
        """Deal out anew what cells hold, when their number has changed."""
        work = self._work
        if not isinstance(work, DurableWork):
            return
        work.forget_eras()
        if work.cut_before is None or not self._has_cells:
            return
        assert self._session is not None
        assert self._flow is not None
        header = work.header(ended=False).to_json()
        cut, target = work.cut_before, work.moved_to
        task = MovingTask(self._flow.digest, header, cut, str(target.absolute()))
        self._flow.configure()
        try:
            move(self._session.spark, work.spark_before, work.last_before, task, cut, target)
        except SPARK_ERRORS as error:
            raise worker_failed(error) or self._spark_failed(error, work.spark_before) from error
        finally:
            self._flow.restore()

    def _wait_for_input(self) -> None:
        """Spark is not asked to start before there is something to do."""
        while self._hungry and not self._ended.is_set():
            time.sleep(LOOK_S)
            self._go_on()

    def _wait_for(self, query: StreamingQuery) -> None:
        """Hear when Spark ends the query by itself, which only a failure makes it do."""
        try:
            query.awaitTermination()
        except SPARK_ERRORS as error:
            if self._failure is None and not self._stopping:
                self._failure = self._spark_failed(error)
        self._ended.set()

    def _take_batch(self, batch: DataFrame, number: int) -> None:
        """What Spark calls with each micro-batch, in a thread of its own.

        Whatever does not count ends in an exception: after a return Spark would count it, and the next run would miss it.
        """
        with self._working:
            if self._stopping:
                raise Halted(_STOPPING)
            try:
                found = self._found_in(batch)
                if number < self._work.next_number:
                    return  # it counts already; only the cells had to see it again
                ended = self._is_last(number)
                self._work.take(found, ended=ended)
                self._file(number - 1).unlink(missing_ok=True)
                if self._progress is not None:
                    self._progress(self._work.tuples_read)
                if ended:
                    self._ended.set()
                else:
                    self._go_on()
            except Halted:
                raise
            except BaseException as error:  # it loses its type on the way through the JVM
                self._failure = error
                self._ended.set()
                raise

    def _found_in(self, batch: DataFrame) -> list[bytes]:
        try:
            return found_in(batch, cells=self._has_cells)
        except SPARK_ERRORS as error:
            if self._stopping:
                raise Halted(_STOPPING) from error
            raise worker_failed(error) or self._spark_failed(error) from error

    def _spark_failed(self, error: BaseException, checkpoint: Path | None = None) -> RunError:
        """What went wrong inside Spark; where it has not come beyond its checkpoint, that is perhaps the reason."""
        failure = spark_failed(error, self._session)
        work = self._work
        if not isinstance(work, DurableWork):
            return failure
        place = checkpoint or work.spark
        if work.has_only_begun or str(place.absolute()) in text_of(error):
            return RunError(f"{failure}; if that comes again, {place} is damaged: {ADVICE}")
        return failure

    def _go_on(self) -> None:
        """Give Spark the next micro-batch, if there is one; the last one has no tuples and ends the input."""
        ranges = self._first or self._work.next_ranges()
        self._first = []
        ended = not ranges and not self._work.awaits_more()
        self._hungry = not ranges and not ended
        if self._hungry:
            return
        assert self._feed is not None
        header = self._work.header(ended=ended)
        decided = self._work.decide(ranges, ended=ended)
        lines = feed_lines(header, ranges, self._tasks, decided=decided)
        write_whole(self._file(self._work.next_number), lines.encode("utf-8"))

    def _give_again(self, file: Path) -> None:
        """Let a micro-batch that was under way be repeated: with the same ranges, and with the queries that there are now.

        It counts nowhere, so the one that it was stuck in may have been taken out of the program.
        """
        texts = file.read_text(encoding="utf-8", errors="replace").splitlines()
        lines = [opened_line(text) for text in texts]
        ranges = [Range(**each) for line in lines for each in line["ranges"]]
        ended = Header.from_json(lines[0]["header"]).ended
        header = self._work.header(ended=ended)
        decided = self._work.decide(ranges, ended=ended)
        folder = lines[0]["folder"]
        again = feed_lines(header, ranges, self._tasks, folder=folder, decided=decided)
        write_whole(file, again.encode("utf-8"))

    def _is_last(self, number: int) -> bool:
        """Whether a micro-batch was the one that ends the input."""
        with self._file(number).open(encoding="utf-8", errors="replace") as file:
            line = opened_line(file.readline())
        return bool(json.loads(line["header"])["ended"])

    def _file(self, number: int) -> Path:
        assert self._feed is not None
        return self._feed / f"{number:012d}.jsonl"
