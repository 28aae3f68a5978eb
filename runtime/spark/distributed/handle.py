"""A program over a user's streaming DataFrames, on the executors: what `cqc.spark.start(..., distribute=True)` gives.

Beside the user's sources there is one of our own, the control source: a folder of small files. A row of it makes Spark run a
micro-batch also when no data comes, and says who asks for what. What all tasks of a micro-batch must agree on, the clocks of the
streams and the queries in force, goes with the micro-batch as a local property of Spark's, set when the one before has ended.
"""

from __future__ import annotations

import json
import tempfile
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.deliver.result_queue import ResultQueue
from cqc.runtime.deliver.results import rows_of
from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import ADVICE, read_sealed_json, write_sealed, write_sealed_json
from cqc.runtime.intake.typed_batch import join_taken
from cqc.runtime.sinks.parquet import table_of_block
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from cqc.runtime.spark.distributed.flow import Flow, found_in, worker_failed
from cqc.runtime.spark.distributed.messages.files import write_whole
from cqc.runtime.spark.distributed.messages.plain_data import to_text
from cqc.runtime.spark.distributed.messages.spec import read_queries
from cqc.runtime.spark.distributed.worker import HEADERS, RowsTask
from cqc.runtime.spark.rows.slot_rows import CONTROL, CONTROL_COLUMN, SlotRows
from cqc.runtime.spark.rows.slots import TAG, Slots, rows_of_table
from cqc.runtime.spark.rows.tables import tables_of
from cqc.runtime.spark.session.session import SPARK_ERRORS, spark_failed, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Self

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from cqc.compiler import Program
    from cqc.compiler.physical.strategy import Strategy
    from cqc.runtime.deliver.results import Result, ResultBlock
    from cqc.runtime.engine.query_book import QueryHandle
    from cqc.runtime.intake.stream_input import StreamCount
    from cqc.runtime.intake.typed_batch import TypedBatch

    OnBatch = Callable[[int, Mapping[str, pa.Table]], None]


_STOPPED = "the run was stopped: nothing can be asked of it any more"


class DistributedHandle:
    """A running program. Made by `start`; its methods are those of `Handle`."""

    def __init__(
        self,
        program: Program,
        spark: SparkSession,
        sources: Mapping[str, DataFrame],
        *,
        partitions: int | None,
        on_batch: OnBatch | None,
        checkpoint: str | None,
        finite: bool,
        only: tuple[str, ...],
        strategy: Strategy,
        keep_past: bool,
        collect: bool,
    ) -> None:
        if program.settings.max_ahead_us:
            # Sources are read by Spark, and each task sees a part of the rows: nobody knows all that came before one.
            raise RunError(
                "cqc.spark.start cannot keep rows that are far ahead aside on executors: leave out SET MAX_AHEAD, or distribute=True"
            )
        self._spark = spark
        self._on_batch = on_batch
        self._finite = finite
        self._changed = threading.Condition(threading.RLock())
        self._failure: BaseException | None = None
        self._stopped = False
        self._query: StreamingQuery | None = None
        self._temporary = None if checkpoint else tempfile.TemporaryDirectory(prefix="cqc-")
        given = checkpoint or (self._temporary.name if self._temporary else "")
        self._folder = Path(given) / "distributed"
        self._control = self._folder / "control"
        private_folder(Path(given), own=False)
        private_folder(self._folder)
        private_folder(self._control)
        self._files = len(list(self._control.glob("*.jsonl")))  # those of runs before included
        self._sent = 0  # rows of the control source by this run
        self._waiting: ResultQueue[list[ResultBlock]] = ResultQueue()
        self._answers: dict[int, ResultBlock] = {}
        self._next = 0  # the micro-batch whose header is made
        self._headers: dict[str, str] = {}
        try:
            last = self._last_state()
            first = None if last is None else read_queries(self._folder / "queries")
            cells = partitions or spark.sparkContext.defaultParallelism
            if last is not None:
                cells = int(last["partitions"])
            self.coordinator = Coordinator(
                program, cells, strategy=strategy, only=only, keep_past=keep_past, first=first
            )
            self._partitions = cells
            spec = self.coordinator.spec(
                self._tables(program, sources), collect=collect, shuffle_partitions=cells
            )
            if last is not None:
                self.coordinator.resume(CoordinatorState.from_json(last["state"]))
                spec = replace(spec, functions=self.coordinator.functions())
                self._next = int(last["batch"]) + 1
                self._headers[str(last["batch"])] = last["header"]
            elif checkpoint is not None:
                text = to_text(self.coordinator.first_queries)
                write_sealed(self._folder / "queries", text.encode())
            self._is_durable = checkpoint is not None
            self._cells = bool(spec.groups) or keep_past
            self._flow = Flow(spark, spec)
            self._frame, self._rows = self._laid_out(program, sources)
        except BaseException:
            if self._temporary is not None:
                self._temporary.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def begin(self, trigger: dict[str, Any]) -> None:
        """Start the streaming query; `start` does this."""
        task = RowsTask(self._flow.digest, self._rows)
        found = self._flow.through(self._frame, task, cells=self._cells)
        self._flow.configure()
        self._publish()
        writer = found.writeStream.foreachBatch(self._take).outputMode("update")
        writer = writer.option("checkpointLocation", str(self._folder / "spark"))
        if trigger and not self._finite:
            writer = writer.trigger(**trigger)
        try:
            self._query = writer.start()
        except SPARK_ERRORS as error:
            failure = self._spark_failed(error)
            self._flow.end(None)
            self.stop()
            raise failure from error
        threading.Thread(target=self._listen, args=(self._query,), daemon=True).start()

    # Results

    def results(self) -> Iterator[Result]:
        """Results found so far and not fetched yet, in result-time order within each micro-batch."""
        for blocks in self._fetch():
            yield from rows_of(blocks, self._waiting.put_back)

    def tables(self) -> dict[str, pa.Table]:
        """The same by query, each a table with the result time in the column `ts` (or `at`) and the outputs."""
        return tables_of([block for blocks in self._fetch() for block in blocks])

    # Queries come and go

    def register(self, text: str, name: str | None = None) -> QueryHandle:
        """Add a query; it sees the micro-batches from now on (a pull query also the retained past)."""
        with self._changed:
            handle = self.coordinator.register(text, name, self._next + 1)
        self._after_a_batch()
        return handle

    def unregister(self, query: QueryHandle | str) -> None:
        """Remove a query."""
        with self._changed:
            self.coordinator.unregister(query, self._next + 1)
        self._after_a_batch()

    def invoke(self, query: QueryHandle | str, at: Any = None) -> pa.Table:
        """The value of a pull query now, or at an instant: asked of the cells with the next micro-batch."""
        with self._changed:
            ask = self.coordinator.ask(query, at)
        self._say({"asks": [asdict(ask)]})
        with self._changed:
            self._wait_for(lambda: ask.number in self._answers)
            block = self._answers.pop(ask.number)
        return table_of_block(block).drop_columns(["at"])

    def stream_counts(self) -> dict[str, StreamCount]:
        """Rows read, late and rejected by stream and table."""
        with self._changed:
            return self.coordinator.stream_counts()

    def result_counts(self) -> dict[str, int]:
        """Results by query."""
        with self._changed:
            return self.coordinator.result_counts()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know about answers so far, and which functions failed."""
        with self._changed:
            return self.coordinator.warnings

    # The end

    def process_all_available(self) -> None:
        """Wait until everything that the sources have at this moment is processed."""
        assert self._query is not None
        try:
            self._query.processAllAvailable()
        except SPARK_ERRORS as error:
            self._raise_failure()
            raise (RunError(_STOPPED) if self._stopped else self._spark_failed(error)) from error
        self._raise_failure()

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait for the end of a finite run, or for somebody to stop it; False when the time is over before.

        Raises:
            RunError: when the run failed.
        """
        assert self._query is not None
        if self._finite:
            return self._reach_end(timeout)
        limit = () if timeout is None else (max(timeout, 0.001),)
        try:
            ended = self._query.awaitTermination(*limit)
        except SPARK_ERRORS as error:
            self._raise_failure()
            if self._stopped:  # by somebody else
                return True
            raise self._spark_failed(error) from error
        self._raise_failure()
        return ended is not False

    def _reach_end(self, timeout: float | None) -> bool:
        """Take everything that is there, then end; whoever has no patience leaves that to a thread, and may ask again."""
        if self._ending is None:
            self._ending = threading.Thread(target=self._take_all, daemon=True)
            self._ending.start()
        self._ending.join(timeout)
        if self._ending.is_alive():
            return False
        self.stop()
        self._raise_failure()
        return True

    def _take_all(self) -> None:
        try:
            self.process_all_available()
            self.finish()
        except BaseException as error:  # it is raised where somebody waits
            with self._changed:
                self._fail(error)

    _ending: threading.Thread | None = None

    def finish(self, *, closing: bool = True) -> None:
        """The input has ended: deliver what only the end decides (EVERY instants, closing invocations)."""
        with self._changed:
            number = self._sent
        self._say({"ended": True, "closing": closing})
        with self._changed:
            self._wait_for(lambda: self._heard > number)

    def stop(self) -> None:
        """Stop the streaming query, in the middle of a micro-batch too: with a checkpoint the next start repeats it."""
        self._stopped = True
        if self._query is not None:
            self._flow.end(self._query)
            self._query = None
        with self._changed:  # nobody waits for a micro-batch that does not come
            self._changed.notify_all()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    # Inside

    _heard = 0  # of the rows that were sent: those that came through

    def _take(self, batch: DataFrame, number: int) -> None:
        try:
            found = self._found_in(batch)
            with self._changed:
                if number < self._next:
                    return  # it counts already; only the cells had to see it again
                findings = self.coordinator.take(found, number)
                self._answers.update(findings.answers)
                self._hand_over(number, findings.blocks)
                self._heard += findings.controls
                self._commit(number)
                self._next = number + 1
                self._publish()
                self._changed.notify_all()
        except BaseException as error:  # it loses its type on the way through the JVM
            with self._changed:
                self._fail(error)
            raise

    def _found_in(self, batch: DataFrame) -> list[bytes]:
        try:
            return found_in(batch, cells=self._cells)
        except SPARK_ERRORS as error:
            raise worker_failed(error) or self._spark_failed(error) from error

    def _spark_failed(self, error: BaseException) -> RunError:
        """What went wrong inside Spark; where its part of the checkpoint is named, that is perhaps the reason."""
        failure = spark_failed(error, None)
        place = self._folder / "spark"
        if self._is_durable and str(place.absolute()) in text_of(error):
            return RunError(f"{failure}; if that comes again, {place} is damaged: {ADVICE}")
        return failure

    def _hand_over(self, number: int, blocks: list[ResultBlock]) -> None:
        if self._on_batch is None:
            if blocks:
                self._waiting.put(blocks)
            return
        self._on_batch(number, tables_of(blocks))

    def _publish(self) -> None:
        """Let the tasks of the next micro-batch know its header."""
        before = str(self._next - 1)
        kept = {before: self._headers[before]} if before in self._headers else {}
        self._headers = {**kept, str(self._next): self.coordinator.header(self._next).to_json()}
        self._spark.sparkContext.setLocalProperty(HEADERS, json.dumps(self._headers))

    def _commit(self, number: int) -> None:
        if not self._is_durable:
            return
        content = {
            "batch": number,
            "header": self._headers[str(number)],
            "state": self.coordinator.state.to_json(),
            "partitions": self._partitions,
        }
        write_sealed_json(self._folder / f"{number:012d}.json", content)
        (self._folder / f"{number - 3:012d}.json").unlink(missing_ok=True)

    def _last_state(self) -> dict[str, Any] | None:
        files = sorted(self._folder.glob("*.json"))
        if not files:
            return None
        found: dict[str, Any] = read_sealed_json(files[-1])
        return found

    def _say(self, control: dict[str, Any]) -> None:
        """Put a row into the control source."""
        with self._changed:
            if self._stopped:
                raise RunError(_STOPPED)
            path = self._control / f"{self._files:012d}.jsonl"
            self._files += 1
            self._sent += 1
        text = json.dumps({"run": self.coordinator.run, **control})
        write_whole(path, f"{text}\n".encode())

    def _after_a_batch(self) -> None:
        """Wait until a change of the query set is in force."""
        with self._changed:
            number = self._next
        self._say({})
        with self._changed:
            self._wait_for(lambda: self._next > number)

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait, with the condition held, until something is so, the run has failed, or somebody has stopped it."""
        self._changed.wait_for(lambda: is_so() or self._failure or self._stopped)
        self._raise_failure()
        if not is_so():
            raise RunError(_STOPPED)

    def _listen(self, query: StreamingQuery) -> None:
        """Hear when Spark ends the query by itself, so that nobody waits for ever."""
        try:
            query.awaitTermination()
        except SPARK_ERRORS as error:
            with self._changed:
                self._fail(self._spark_failed(error))

    def _fail(self, error: BaseException) -> None:
        """Tell whoever waits, with the condition held; what goes wrong because of a stop is no failure."""
        if not self._stopped:
            self._failure = self._failure or error
        self._changed.notify_all()

    def _fetch(self) -> Iterator[list[ResultBlock]]:
        """What waits at this moment, one micro-batch at a time, to each of several threads another."""
        yield from self._waiting.take(len(self._waiting))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _tables(self, program: Program, sources: Mapping[str, DataFrame]) -> dict[str, TypedBatch]:
        """The rows of static tables: they go to every executor."""
        frames = {fold(name): frame for name, frame in sources.items()}
        used = self.coordinator.engine.relations_used() | frames.keys()
        found = {}
        for name, relation in program.catalog.relations.items():
            if not relation.is_stream and name in used:
                rows = rows_of_table(relation, frames.get(name))
                if rows:  # a folder may have no file
                    found[name] = join_taken(rows)
        return found

    def _laid_out(
        self, program: Program, sources: Mapping[str, DataFrame]
    ) -> tuple[DataFrame, SlotRows]:
        """All sources and the control source as one DataFrame, and how a task takes it apart."""
        relations = program.catalog.relations
        unknown = [name for name in sources if fold(name) not in relations]
        if unknown:
            raise RunError(f"there is no stream or table {unknown[0]} in the program")
        frames = {fold(name): frame for name, frame in sources.items()}
        streams = {}
        for name in self.coordinator.engine.relations_used() | frames.keys():
            relation, frame = relations[name], frames.get(name)
            if relation.is_stream:
                if frame is None or not frame.isStreaming:
                    kind = "has no source" if frame is None else "needs a streaming DataFrame"
                    raise RunError(f"stream {relation.name} {kind}")
                streams[name] = (relation, frame)
        ordered = {name: streams[name] for name in relations if name in streams}
        slots = Slots(ordered)
        data = slots.union
        if len(ordered) == 1:  # it has the names of the stream's own columns
            (seat,) = slots.seats.values()
            data = data.toDF(*(slot.name for slot in seat.slots)).withColumn(TAG, functions.lit(0))
        data = data.withColumn(CONTROL_COLUMN, functions.lit(None).cast("string"))
        control = self._spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        rows = control.load(str(self._control))
        told = rows.select(
            functions.lit(CONTROL).alias(TAG),
            functions.col("value").alias(CONTROL_COLUMN),
        )
        seats = tuple(
            (
                tag,
                name,
                tuple(
                    (slot.name, column.name)
                    for slot, column in zip(seat.slots, seat.relation.columns, strict=True)
                ),
            )
            for tag, (name, seat) in enumerate(slots.seats.items())
        )
        return data.unionByName(told, allowMissingColumns=True), SlotRows(seats)
