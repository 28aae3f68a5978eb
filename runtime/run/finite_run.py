"""One finite run of a program on the local engine: sources in, sink out, a summary at the end.

The driver takes the micro-batches through; the run has opened what they come from and go to, and closes it.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.engine.engine import Engine
from cqc.runtime.errors import OutputClosed, RunError
from cqc.runtime.expressions.function_faults import FunctionFaults
from cqc.runtime.run.chunk_feed import ChunkFeed
from cqc.runtime.run.declared_sinks import DeclaredSinks
from cqc.runtime.run.driver import Driver, Observer
from cqc.runtime.run.memory_pool import TidyRun
from cqc.runtime.run.standing import FilesRead, standing_of
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.left_out_rows import LeftOut
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.protocol import shape_of_query
from cqc.runtime.sinks.table import TableFolderSink, TableSink
from cqc.runtime.sources import open_source
from cqc.runtime.sources.connections import is_connection, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cqc.compiler import Program
    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.intake.stream_input import StreamCount
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.options import RunOptions
    from cqc.runtime.receivers.sender import SinkStatus
    from cqc.runtime.run.driver import Feed, MicroBatch
    from cqc.runtime.run.standing import Standing
    from cqc.runtime.sinks.growing import Growing
    from cqc.runtime.sinks.protocol import Shape, Sink

_MOST_SHAPES = 1000
_MUCH_BYTES = 32 * 1024 * 1024  # from which on a second core reads while the first one answers


@record
class RunSummary:
    """What a run did."""

    streams: dict[str, StreamCount]
    queries: dict[str, int]
    operators: Sequence[OperatorMetrics]
    seconds: float
    failed_evaluations: int
    warnings: tuple[str, ...] = ()
    faults: FunctionFaults = field(default_factory=FunctionFaults)  # of users' functions
    read_before: int = 0  # of the rows that are counted: those that earlier starts with the same checkpoint had read
    sinks: tuple[SinkStatus, ...] = ()  # those that the program declares and its queries use

    def to_json(self) -> dict[str, Any]:
        """The counters as `--stats` writes them."""
        return {
            "streams": {
                name: {
                    "read": count.read,
                    "late": count.late,
                    "rejected": count.rejected,
                    "reasons": dict(count.reasons),
                    **({"waiting": count.waiting} if count.waiting else {}),
                    **({"nulled": dict(count.nulled)} if count.nulled else {}),
                    **({"absent": count.absent} if count.absent else {}),
                }
                for name, count in self.streams.items()
            },
            "queries": {name: {"results": number} for name, number in self.queries.items()},
            "operators": [each.to_json() for each in self.operators],
            "failed_evaluations": self.failed_evaluations,
            "functions": self.faults.to_json(),
            "seconds": self.seconds,
            **({"read_before": self.read_before} if self.read_before else {}),
            **({"sinks": {each.name: asdict(each) for each in self.sinks}} if self.sinks else {}),
        }


class LocalRun:
    """A run in this process.

    Args:
        program: what runs.
        options: where its data is, and where results go.
        sink: where results go instead of what the options say.

    Raises:
        RunError: when data is missing or a place to write to cannot be opened.
    """

    def __init__(self, program: Program, options: RunOptions, *, sink: Sink | None = None) -> None:
        self._options = options
        self._program = program
        self._started = time.perf_counter()
        self._failed = False
        self._catalog = program.catalog
        self.engine = Engine(
            program,
            strategy=options.strategy,
            only=options.only,
            keep_past=options.is_live,
            collect=options.sink != "none" or bool(program.catalog.sinks),
        )
        self.engine.bound_instants(options.max_instants)
        self._driver = Driver(self.engine, outlet=self, ledger=self)
        self._used = self.engine.relations_used()
        self._places = {
            name: source_path(relation, options.binds)
            for name, relation in self._catalog.relations.items()
            if name in self._used and not is_connection(relation, options.binds)
        }
        self._connected_tables = [
            name
            for name, relation in self._catalog.relations.items()
            if name in self._used and not relation.is_stream and name not in self._places
        ]
        self._reading = FilesRead()
        self._tidy = TidyRun()
        self._on_close: list[Callable[[], None]] = []
        self._left_out = LeftOut(self.engine, options, self._open_beside)
        try:
            if sink is not None:
                self._sink = sink
            else:
                self._open_sink(_shapes_of(program, self.engine))
            self._open_sinks()
        except BaseException:
            self._left_out.close()
            raise

    def to_end(self, progress: Callable[[int], None] | None = None) -> None:
        """Read the input to its end, then invoke the pull queries once."""
        observer = Observer.of(progress)
        self._sinks.waiting = observer.waiting
        self.read_tables()
        self._driver.run(self._feed(), observer)
        self.end_of_input()
        self._sinks.drain()

    def _feed(self) -> Feed:
        """Where the micro-batches of this run come from."""
        streams = [name for name in self._places if self._catalog.relations[name].is_stream]
        chunks = {name: self._open(name, self._columns_read(name)) for name in streams}
        is_ahead = self._reading.all_bytes >= _MUCH_BYTES and _cores() > 1
        feed = ChunkFeed(chunks, is_ahead=is_ahead)
        self._on_close.append(feed.close)
        return feed

    def _columns_read(self, name: str) -> frozenset[int] | None:
        """The columns of a stream that somebody reads, where queries stay as they are; None: all, as rows that are left out are shown whole."""
        options = self._options
        if options.late is not None or options.rejects is not None or options.strict:
            return None
        return self.engine.columns_read(name)

    def read_tables(self) -> None:
        """Fill the tables, before the first tuple of a stream."""
        for name in self._places:
            if not self._catalog.relations[name].is_stream:
                for chunk in self._open(name):
                    self.engine.push_typed({name: chunk})
        for name in self._connected_tables:
            for chunk in open_table(self._catalog.relations[name], None):
                self.engine.push_typed({name: chunk})

    def end_of_input(self) -> None:
        """Deliver what only the end decides, and invoke the pull queries once."""
        self._driver.finish(self._options.at_us)

    def give_up(self) -> None:
        """Let the micro-batch in hand stop in the middle, with `Halted`; called by a signal or from another thread."""
        self._driver.give_up()

    def standing(self) -> Standing:
        """How far the run is."""
        return standing_of(self.engine, self._used, self._share(), live=self._is_endless())

    def _share(self) -> float | None:
        """What part of its files was read."""
        return self._reading.share

    def _is_endless(self) -> bool:
        relations = self._catalog.relations
        connected = (
            relations[name].is_stream and is_connection(relations[name], self._options.binds)
            for name in self._used
        )
        return self._options.follow or any(connected)

    # What the driver asks for

    def deliver(self, batch: MicroBatch, results: Iterable[list[ResultBlock]]) -> None:
        """Write results, by micro-batch."""
        del batch
        for blocks in results:
            self._sink.write(self._sinks.write(blocks))

    def count(self, batch: MicroBatch) -> None:
        """A micro-batch is done; nothing is remembered of it, and what it found may be sent."""
        self._sinks.counted()
        if self._options.rows_per_batch is None and self._reading.all_bytes >= _MUCH_BYTES:
            self._tidy.counted()

    def count_end(self) -> None:
        """The input has ended; nothing is remembered of it."""
        self._sinks.counted()

    # The end

    def abandon(self) -> RunSummary:
        """Close the sink after a failure: what was found is shown, and nothing is said of what was not."""
        self._failed = True
        return self.close()

    def close(self) -> RunSummary:
        """Close the sink and say what was done."""
        for close in self._on_close:
            close()
        with suppress(OutputClosed):  # what was found is counted even when nobody reads it any more
            self._close_sink()
        sinks = self._sinks.close()
        self._left_out.close()
        summary = RunSummary(
            {
                name: count
                for name, count in self.engine.stream_counts().items()
                if fold(name) in self._used
            },
            self.engine.result_counts(),
            self.engine.measure(),
            time.perf_counter() - self._started,
            self.engine.failed_evaluations,
            (*self.engine.warnings, *self._reading.warnings),
            self.engine.faults,
            self.rows_before,
            sinks,
        )
        if self._options.stats is not None:
            write_stats(Path(self._options.stats), summary)
        return summary

    @property
    def rows_before(self) -> int:
        """Of the rows that are counted, those that were read before this start."""
        return 0

    def _open(self, name: str, wanted: frozenset[int] | None = None) -> Iterator[TypedBatch]:
        relation = self._catalog.relations[name]
        rows = self._options.rows_per_batch
        return open_source(relation, str(self._places[name]), rows, self._reading, wanted)

    def _open_beside(self, name: str, path: Path) -> Output | Growing:
        """Open a file of rows that are left out, by the option that names it."""
        del name
        return Output(path)

    def _open_sink(self, shapes: Mapping[str, Shape] | None) -> None:
        live = self._is_endless()
        self._sink = open_sink(self._options.sink, self._options.out, shapes, live=live)

    def _open_sinks(self) -> None:
        """Open the sinks that the program declares and its queries name."""
        self._sinks = DeclaredSinks(self.engine, self._options, self._catalog.sinks)

    def _close_sink(self) -> None:
        if self._failed and isinstance(self._sink, TableSink | TableFolderSink):
            self._sink.abandon()
        else:
            self._sink.close()


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shapes_of(program: Program, engine: Engine) -> dict[str, Shape] | None:
    """The result columns of the queries; None when there are so many that working them out would take long."""
    if len(engine.queries) >= _MOST_SHAPES:
        return None
    return {name: shape_of_query(program.bound(name)) for name in engine.queries}


def source_path(relation: Relation, binds: dict[str, str]) -> Path:
    """Where the rows of a stream or table are.

    Raises:
        RunError: when neither the program nor the command line says so.
    """
    for name, path in binds.items():
        if fold(name) == fold(relation.name):
            return Path(path)
    declared = relation.options.get("path")
    if declared is None:
        kind = "stream" if relation.is_stream else "table"
        raise RunError(
            f"{kind} {relation.name} has no data: give its WITH clause a path, or use --bind {relation.name}=PATH"
        )
    return Path(relation.folder) / declared


def write_stats(path: Path, summary: RunSummary) -> None:
    """Write the counters as JSON."""
    try:
        path.write_text(
            json.dumps(summary.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error
