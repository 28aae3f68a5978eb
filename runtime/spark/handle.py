"""A program over streaming DataFrames that a user already has: what `cqc.spark.start` gives.

One streaming query delivers the rows of all sources; the engine takes each micro-batch in this process. Queries come and go,
and pull queries are asked, at any time: calls from other threads take turns with the micro-batches.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

from cqc.compiler import Program
from cqc.compiler.diagnostics.arguments import expect, expect_names, kind_of
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.deliver.result_queue import ResultQueue
from cqc.runtime.deliver.results import rows_of
from cqc.runtime.engine.engine import Engine
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import ADVICE
from cqc.runtime.run.batch_run import with_retention
from cqc.runtime.run.driver import Driver, MicroBatch
from cqc.runtime.run.durable.checkpoint import Checkpoint, Commit
from cqc.runtime.run.durable.checkpoint_compatibility import check_program, schema_of
from cqc.runtime.run.query_set import QuerySet, first_set, texts_of
from cqc.runtime.spark.rows.slots import Slots, rows_of_table
from cqc.runtime.spark.rows.tables import tables_of
from cqc.runtime.spark.session.session import SPARK_ERRORS, spark_failed, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from cqc.runtime.deliver.results import Result, ResultBlock
    from cqc.runtime.engine.query_book import QueryHandle
    from cqc.runtime.spark.distributed.handle import DistributedHandle

    OnBatch = Callable[[int, Mapping[str, pa.Table]], None]


@overload
def start(
    program: Program,
    spark: SparkSession,
    sources: Mapping[str, DataFrame],
    *,
    on_batch: OnBatch | None = ...,
    checkpoint: str | PathLike[str] | None = ...,
    finite: bool = ...,
    trigger: Mapping[str, Any] | None = ...,
    only: tuple[str, ...] = ...,
    strategy: Strategy | None = ...,
    keep_past: bool = ...,
    collect: bool = ...,
    distribute: Literal[False] = ...,
    partitions: int | None = ...,
) -> Handle: ...


@overload
def start(
    program: Program,
    spark: SparkSession,
    sources: Mapping[str, DataFrame],
    *,
    on_batch: OnBatch | None = ...,
    checkpoint: str | PathLike[str] | None = ...,
    finite: bool = ...,
    trigger: Mapping[str, Any] | None = ...,
    only: tuple[str, ...] = ...,
    strategy: Strategy | None = ...,
    keep_past: bool = ...,
    collect: bool = ...,
    distribute: Literal[True],
    partitions: int | None = ...,
) -> DistributedHandle: ...


def start(
    program: Program,
    spark: SparkSession,
    sources: Mapping[str, DataFrame],
    *,
    on_batch: OnBatch | None = None,
    checkpoint: str | PathLike[str] | None = None,
    finite: bool = False,
    trigger: Mapping[str, Any] | None = None,
    only: tuple[str, ...] = (),
    strategy: Strategy | None = None,
    keep_past: bool = True,
    collect: bool = True,
    distribute: bool = False,
    partitions: int | None = None,
) -> Handle | DistributedHandle:
    """Run a program over streaming DataFrames.

    Args:
        program: what `cqc.compile` gave.
        spark: the session of the DataFrames.
        sources: by declared name, a streaming DataFrame for each stream and a plain one for each table (a table with a
            path in its WITH clause needs none).
        on_batch: called after each micro-batch with its number and the results by query; results are then not kept for
            `results`. With a checkpoint a micro-batch may be handed over again after a crash, with the same number. What
            only the end of a finite run decides comes with a number below 0.
        checkpoint: a folder for Spark's checkpoint and the engine's state.
        finite: take what the sources have now, then end; else go on until `stop`.
        trigger: arguments for Spark's trigger, such as {"processingTime": "1 second"}.
        only: names of the queries to run; all of them by default.
        strategy: switches that change the cost of an answer and never the answer.
        keep_past: keep tuples for pull queries that are registered later; a fixed set of queries is cheaper without.
        collect: with False results are counted and not kept.
        distribute: run the operators on the executors; what is given back then has the same methods.
        partitions: in how many cells at most; as many as the executors have cores by default.

    Raises:
        RunError: when a source is missing, lacks a declared column, or there is no such query.
        TypeError: for arguments of another kind.
    """
    _check_arguments(program, spark, sources, on_batch, checkpoint, trigger, partitions)
    only = expect_names(only, "only of cqc.spark.start", "names of queries")
    folder = None if checkpoint is None else os.fspath(checkpoint)
    settled = program if finite else with_retention(program)
    unknown = [name for name in only if fold(name) not in program.graph.queries]
    if unknown:
        raise RunError(f"there is no query {unknown[0]} in the program")
    if distribute:
        from cqc.runtime.spark.distributed.handle import DistributedHandle

        distributed = DistributedHandle(
            settled,
            spark,
            sources,
            partitions=partitions,
            on_batch=on_batch,
            checkpoint=folder,
            finite=finite,
            only=only,
            strategy=strategy or Strategy(),
            keep_past=keep_past,
            collect=collect,
        )
        distributed.begin(dict(trigger or {}))
        return distributed
    engine = Engine(settled, strategy=strategy, only=only, keep_past=keep_past, collect=collect)
    handle = Handle(settled, engine, sources, on_batch=on_batch, finite=finite)
    if folder is not None:
        handle.resume(Checkpoint(folder))
    handle.begin(spark, dict(trigger or ({"availableNow": True} if finite else {})))
    return handle


def _check_arguments(
    program: object,
    spark: object,
    sources: object,
    on_batch: object,
    checkpoint: object,
    trigger: object,
    partitions: object,
) -> None:
    """Raise a TypeError that says what was wanted."""
    call = "cqc.spark.start"
    hint = ": cqc.compile makes one of a text" if isinstance(program, str) else ""
    expect(program, Program, call, "a compiled program first", hint)
    if not hasattr(spark, "readStream"):
        raise TypeError(f"{call} takes a SparkSession second, not {kind_of(spark)}")
    expect(sources, Mapping, f"sources of {call}", "DataFrames by the name of their stream")
    assert isinstance(sources, Mapping)
    for name, frame in sources.items():
        expect(name, str, f"sources of {call}", "names of streams and tables as keys")
        if not hasattr(frame, "isStreaming"):
            raise TypeError(f"sources of {call} takes a DataFrame for {name}, not {kind_of(frame)}")
    if on_batch is not None and not callable(on_batch):
        raise TypeError(f"on_batch of {call} takes what can be called, not {kind_of(on_batch)}")
    expect(checkpoint, str | PathLike | None, f"checkpoint of {call}", "a folder")
    expect(trigger, Mapping | None, f"trigger of {call}", "arguments of Spark's trigger by name")
    expect(partitions, int | None, f"partitions of {call}", "how many there are")
    if isinstance(partitions, int) and partitions < 1:
        raise ValueError(f"partitions of {call} is at least 1, not {partitions}")


class Handle:
    """A running program. Made by `start`."""

    def __init__(
        self,
        program: Program,
        engine: Engine,
        sources: Mapping[str, DataFrame],
        *,
        on_batch: OnBatch | None,
        finite: bool,
    ) -> None:
        self._on_batch = on_batch
        self._finite = finite
        self._lock = threading.RLock()
        self._failure: BaseException | None = None
        self._query: StreamingQuery | None = None
        self._number = 0
        self._delivering = 0  # the number of what is being handed over
        self._is_new = False  # there was a micro-batch since the start
        self._engine = engine
        self._driver = Driver(engine, outlet=self, ledger=self)
        self._program = program
        self._checkpoint: Checkpoint | None = None
        self._only = engine.queries
        self._queries = first_set(engine, program, self._only)
        self._fetched: ResultQueue[list[ResultBlock]] = ResultQueue()
        by_fold = {fold(name): frame for name, frame in sources.items()}
        relations = program.catalog.relations
        unknown = [name for name in sources if fold(name) not in relations]
        if unknown:
            raise RunError(f"there is no stream or table {unknown[0]} in the program")
        used = self._engine.relations_used() | by_fold.keys()
        streams = {}
        for name, relation in relations.items():
            if name not in used:
                continue
            frame = by_fold.get(name)
            if not relation.is_stream:
                self._fill(name, frame, program)
            elif frame is None or not frame.isStreaming:
                kind = "has no source" if frame is None else "needs a streaming DataFrame"
                raise RunError(f"stream {relation.name} {kind}")
            else:
                streams[name] = (relation, frame)
        self._slots = Slots(streams)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def resume(self, checkpoint: Checkpoint) -> None:
        """Bring the engine to where the last micro-batch that counts left it; `start` does this."""
        self._checkpoint = checkpoint
        try:
            self._resume(checkpoint)
        except BaseException:
            checkpoint.close()
            raise

    def _resume(self, checkpoint: Checkpoint) -> None:
        last = checkpoint.last()
        if last is None:
            return
        check_program(self._program, last, checkpoint.folder)
        self._engine.restore(checkpoint.snapshot(last, self._program.catalog.relations))
        self._queries = QuerySet(self._engine, last.engine.queries)
        known = {query.name for query in last.engine.queries} | last.engine.results_of_gone.keys()
        for name, text in texts_of(self._program, self._only).items():
            if name not in known:  # else it runs, or was unregistered
                self._queries.add(text, name)
        self._number = last.number + 1

    def begin(self, spark: SparkSession, trigger: dict[str, Any]) -> None:
        """Start the streaming query; `start` does this."""
        del spark  # the DataFrames know their session
        writer = self._slots.union.writeStream.foreachBatch(self._take)
        if trigger:
            writer = writer.trigger(**trigger)
        if self._checkpoint is not None:
            place = self._checkpoint.folder / "spark"
            writer = writer.option("checkpointLocation", str(place))
        try:
            self._query = writer.start()
        except SPARK_ERRORS as error:
            self._let_go()
            raise self._failed(error) from error

    # Results

    def results(self) -> Iterator[Result]:
        """Results found so far and not fetched yet, in result-time order within each micro-batch."""
        for blocks in self._fetch():
            yield from rows_of(blocks, self._fetched.put_back)

    def tables(self) -> dict[str, pa.Table]:
        """The same by query, each a table with the result time in the column `ts` (or `at`) and the outputs."""
        return tables_of([block for blocks in self._fetch() for block in blocks])

    # Queries come and go

    def register(self, text: str, name: str | None = None) -> QueryHandle:
        """Add a query; it sees the micro-batches from now on (a pull query also the retained past)."""
        with self._lock:
            return self._queries.add(text, name)

    def unregister(self, query: QueryHandle | str) -> None:
        """Remove a query."""
        with self._lock:
            self._queries.remove(query)

    def invoke(self, query: QueryHandle | str, at: Any = None) -> pa.Table:
        """The value of a pull query now, or at an instant."""
        with self._lock:
            return self._engine.invoke(query, at)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know about answers so far, and which functions failed."""
        return self._engine.warnings

    @property
    def engine(self) -> Engine:
        """The engine, for its counters; what changes it goes through the handle."""
        return self._engine

    # The end

    def process_all_available(self) -> None:
        """Wait until everything that the sources have at this moment is processed."""
        assert self._query is not None
        self._wait(self._query.processAllAvailable)

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait for the end of a finite run, or for somebody to stop it; False when the time is over before.

        Raises:
            RunError: when the run failed.
        """
        assert self._query is not None
        limit = () if timeout is None else (math.ceil(timeout),)
        if self._wait(lambda: self._query.awaitTermination(*limit)) is False:  # type: ignore[union-attr]  # there is one
            return False
        if self._finite:
            self.finish()
        self._let_go()
        return True

    def finish(self) -> None:
        """The input has ended: deliver what only the end decides (EVERY instants, closing invocations)."""
        with self._lock:
            self._delivering = -1 - self._number
            self._driver.finish()

    def stop(self) -> None:
        """Stop the streaming query."""
        if self._query is not None:
            self._query.stop()
        self._let_go()

    # Inside

    def _take(self, batch: DataFrame, number: int) -> None:
        with self._lock:
            if number < self._number:
                return  # it counts already; Spark had not heard of it
            try:
                rows = self._engine.typed(self._slots.split(self._rows_of(batch)))
                self._delivering = number
                self._driver.take(MicroBatch(rows))
            except BaseException as error:  # it loses its type on the way through the JVM
                self._failure = error
                raise

    def _rows_of(self, batch: DataFrame) -> pa.Table:
        try:
            return batch.toArrow()
        except SPARK_ERRORS as error:
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> RunError:
        """What went wrong inside Spark; where its part of the checkpoint is named, that is perhaps the reason."""
        failure = _failed(error)
        if self._checkpoint is None:
            return failure
        place = self._checkpoint.folder / "spark"
        if str(place.absolute()) in text_of(error):
            return RunError(f"{failure}; if that comes again, {place} is damaged: {ADVICE}")
        return failure

    def _fetch(self) -> Iterator[list[ResultBlock]]:
        """What waits at this moment, one micro-batch at a time, to each of several threads another."""
        with self._lock:
            for blocks in self._engine.drain_blocks():
                self._fetched.put(blocks)
            most = len(self._fetched)
        yield from self._fetched.take(most)

    # What the driver asks for

    def deliver(self, batch: MicroBatch, results: Iterable[list[ResultBlock]]) -> None:
        """Hand results to whoever wants each micro-batch; else they stay in the engine until they are asked for."""
        del batch
        if self._on_batch is not None:
            blocks = [block for blocks in results for block in blocks]
            self._on_batch(self._delivering, tables_of(blocks))

    def count(self, batch: MicroBatch) -> None:
        """A micro-batch is done."""
        del batch
        self._number = self._delivering + 1
        self._is_new = True
        self._commit(self._delivering)

    def count_end(self) -> None:
        """What only the end decides was handed over."""
        if self._is_new:
            self._commit(self._number - 1, ended=True)

    def _commit(self, number: int, *, ended: bool = False) -> None:
        if self._checkpoint is None:
            return
        snapshot = self._engine.snapshot(since=self._checkpoint.written)
        commit = Commit(number, snapshot.state, schema_of(self._program.catalog), {}, {}, {}, ended)
        self._checkpoint.commit(commit, snapshot.tuples)

    def _fill(self, name: str, frame: DataFrame | None, program: Program) -> None:
        for rows in rows_of_table(program.catalog.relations[name], frame):
            self._engine.push_typed({name: rows})

    def _let_go(self) -> None:
        """Let another run use the checkpoint."""
        if self._checkpoint is not None:
            self._checkpoint.close()

    def _wait(self, wait: Callable[[], bool | None]) -> bool | None:
        """Wait for Spark, and hear why it failed."""
        try:
            found = wait()
        except SPARK_ERRORS as error:
            self._let_go()
            raise self._failure or self._failed(error) from error
        if self._failure is not None:
            self._let_go()
            raise self._failure
        return found


def _failed(error: BaseException) -> RunError:
    """The sentence for a streaming query that Spark gave up."""
    reason = text_of(error).strip().partition("\n")[0]
    if "sources in the checkpoint offsets" in reason:
        return RunError(
            "the checkpoint was made with another number of sources: name each (`spark.readStream.name(...)`) from the "
            "first start on, with spark.sql.streaming.queryEvolution.enableSourceEvolution = true"
        )
    return spark_failed(error, None)
