"""The driver's side of `cqc run --distribute`: sources, sinks and checkpoints are those of every run; the tuples are elsewhere.

The driver of micro-batches (`runtime/run/driver.py`) has no part in it: it pushes rows into an engine of this process, and here
the rows are read, pushed and drained by executors, so that only its last two steps are left, which are those of every run.

A micro-batch is planned here as a list of ranges, goes through Spark as one small file that says who reads which ranges and how
far the streams are, and comes back as what tasks and cells found.

With a checkpoint the file of a micro-batch is written before Spark hears of it and stays until the micro-batch counts, so that
a repetition after a crash has the same ranges and the same header. Cells are in Spark's own checkpoint, results and counters in
ours; a micro-batch that counts here but not yet there is repeated for the cells' sake, and its results are not taken again.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import read_sealed_json, write_sealed, write_sealed_json
from cqc.runtime.intake.typed_batch import TypedBatch
from cqc.runtime.metrics.operators import ShuffleMetrics
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.driver import NOTHING
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.run.finite_run import RunSummary, write_stats
from cqc.runtime.run.input_plan import add_ranges
from cqc.runtime.run.query_set import QuerySet, texts_of
from cqc.runtime.sources.range import Range
from cqc.runtime.spark.distributed.ahead import AheadReader
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from cqc.runtime.spark.distributed.messages.feed_lines import opened_line
from cqc.runtime.spark.distributed.messages.files import write_whole
from cqc.runtime.spark.distributed.messages.plain_data import to_text
from cqc.runtime.spark.distributed.messages.spec import read_queries
from cqc.runtime.spark.distributed.moving import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler import Program
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.engine.query_book import QueryHandle
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.input_plan import Positions
    from cqc.runtime.spark.distributed.ahead import Decided
    from cqc.runtime.spark.distributed.messages.spec import Header, Spec


@dataclass(frozen=True, slots=True)
class Era:
    """A time with one number of partitions, and the first micro-batch of it."""

    number: int
    first: int


class Work(BatchRun):
    """A run whose tuples are on executors."""

    coordinator: Coordinator

    @property
    def next_number(self) -> int:
        """The number of the micro-batch that comes next."""
        return self._taken_batches

    _taken_batches = 0
    _ahead: AheadReader | None = None  # where the program sets rows aside, or did so before

    def spread(self, partitions: int) -> Spec:
        """Decide where queries are answered, once the tables are read; what executors must know."""
        self.coordinator = self._coordinator(partitions)
        if self._program.settings.max_ahead_us:
            self._ahead = AheadReader(self.engine.lines)
        self._queries = QuerySet(_Registrar(self), self._queries.running)
        spec = self.coordinator.spec(
            self._tables(),
            collect=self._options.sink != "none",
            shuffle_partitions=partitions,
            tells_rejects=self._options.strict or self._options.rejects is not None,
            tells_late=self._options.late is not None,
            moved=self._moved(),
        )
        for name, line in self.engine.lines.items():
            if not line.relation.is_stream:  # what executors are told has no rejected rows
                self.coordinator.state.counts[name] = line.count
        return spec

    def _coordinator(self, partitions: int) -> Coordinator:
        return Coordinator(
            self._program,
            partitions,
            strategy=self._options.strategy,
            only=self._options.only,
            keep_past=self._options.is_live,
            weights=self._weights(),
            first=self._first_queries(),
            max_instants=self._options.max_instants,
        )

    def _moved(self) -> str | None:
        """The folder with what cells begin with, when their number has changed."""
        return None

    def _first_queries(self) -> dict[str, NormalQuery] | None:
        """The queries that the run began with, when it goes on."""
        return None

    def header(self, *, ended: bool) -> Header:
        """The header of the next micro-batch; the last one invokes the pull queries."""
        return self.coordinator.header(
            self.next_number, ended=ended, closing=ended, closing_us=self._options.at_us
        )

    def decide(self, ranges: list[Range], *, ended: bool) -> Decided:
        """What becomes of rows that are far ahead, for the micro-batch that comes next."""
        if self._ahead is None:
            return {}
        clocks = self.coordinator.state.clocks
        latest_us = {name: clock.largest_us for name, clock in clocks.items()}
        return self._ahead.decide(ranges, latest_us, ended=ended)

    def take(self, packed: Iterable[bytes], *, ended: bool) -> None:
        """Write what a micro-batch found, and make it count."""
        findings = self.coordinator.take(packed, self.next_number)
        if self._ahead is not None:
            self.coordinator.state.aside = self._ahead.saved()
            for name, waiting in self._ahead.waiting().items():
                self.coordinator.state.counts[name].waiting = waiting
        lines, relations = self.engine.lines, self._catalog.relations
        for name, rejects in findings.rejects:
            on_reject = lines[name].on_reject
            if on_reject is not None:
                on_reject(relations[name], rejects)
        for name, packet in findings.late:
            on_late = lines[name].on_late
            if on_late is not None:
                on_late(relations[name], packet)
        self._driver.reached_us = dict(self.coordinator.state.latest_us)
        self.deliver(NOTHING, [findings.blocks] if findings.blocks else [])
        self._count_batch(ended=ended)
        self._taken_batches += 1

    def _count_batch(self, *, ended: bool) -> None:
        """A micro-batch is done."""

    def close(self) -> RunSummary:
        """Close the sink and say what was done."""
        done = super().close()
        if not hasattr(self, "coordinator"):
            return done
        state = self.coordinator.state
        counts = self.coordinator.stream_counts()
        summary = RunSummary(
            {name: counts.get(name, count) for name, count in done.streams.items()},
            self.coordinator.result_counts(),
            [_sent(state)],
            done.seconds,
            self.coordinator.failures,
            self.coordinator.warnings,
            state.faults,
            self.rows_before,
        )
        if self._options.stats is not None:
            write_stats(Path(self._options.stats), summary)
        return summary

    @property
    def tuples_read(self) -> int:
        return self.coordinator.tuples_read

    def _tables(self) -> dict[str, TypedBatch]:
        found = {}
        for name, line in self.engine.lines.items():
            if not line.relation.is_stream and len(self.engine.states[name]):
                packet = self.engine.states[name].packet()
                found[name] = TypedBatch(tuple(packet.columns), packet.ts_us, len(packet))
        return found

    def _weights(self) -> dict[str, float]:
        """How much each stream carries: the size of its files, as far as they are there."""
        weights = {}
        for name, place in self._places.items():
            size = _size(Path(place))
            if size and self._catalog.relations[name].is_stream:
                weights[name] = float(size)
        known = list(weights.values())
        middle = sorted(known)[len(known) // 2] if known else 1.0
        return {name: weights.get(name, middle) for name in self._catalog.relations}


class DurableWork(Work, DurableRun):
    """The same with a checkpoint."""

    era = Era(0, 0)
    _may_go_back = False  # the cells cannot

    def __init__(self, program: Program, options: RunOptions) -> None:
        super().__init__(program, options)
        self._before: CoordinatorState | None = None
        self.cut_before: Cut | None = None
        self.partitions_before: int | None = None
        if self._last is not None:
            self._taken_batches = self._last.number + 1
            given = self._read_state(self._last.number)
            self._before = CoordinatorState.from_json(given["state"])
            self._counts_before = {name: count.read for name, count in self._before.counts.items()}
            self.partitions_before = given["partitions"]

    @property
    def place(self) -> Path:
        """The folder for what only a distributed run has."""
        return private_folder(self._checkpoint.folder / "distributed")

    @property
    def feed(self) -> Path:
        """The folder of the files that Spark reads."""
        return self.place / f"feed-{self.era.number}"

    @property
    def spark(self) -> Path:
        """Spark's checkpoint."""
        return self.place / f"spark-{self.era.number}"

    @property
    def moved_to(self) -> Path:
        """The folder with what cells begin with."""
        return self.place / f"moved-{self.era.number}"

    @property
    def has_ended(self) -> bool:
        """Whether the run before came to the end of its input and nothing has come since."""
        return self._idle and self._last is not None and self._last.ended

    @property
    def has_only_begun(self) -> bool:
        """Whether this run goes on from a checkpoint and nothing has counted since."""
        return self._idle and self._last is not None

    def spread(self, partitions: int) -> Spec:
        """Go on where the last micro-batch that counts left the streams."""
        self._partitions = partitions
        moves = self.partitions_before is not None and partitions != self.partitions_before
        if moves:
            self._begin_era()
        spec = super().spread(partitions)
        if self._before is None:
            text = to_text(self.coordinator.first_queries)
            write_sealed(self.place / "queries", text.encode())
        else:
            tables = self.coordinator.state.counts
            self.coordinator.resume(self._before, moved=moves)
            spec = replace(spec, functions=self.coordinator.functions())
            if self._before.aside:
                self._ahead = self._ahead or AheadReader(self.engine.lines)
                self._ahead.restore(self._before.aside)
            for name, line in self.engine.lines.items():
                if not line.relation.is_stream:
                    self.coordinator.state.counts[name] = tables[name]
            assert self._last is not None
            self._queries = QuerySet(_Registrar(self), self._last.engine.queries)
            self._queries.change_to(texts_of(self._program, self._options.only))
        return spec

    def _begin_era(self) -> None:
        """Cells have another number from now on; a micro-batch that was given to Spark is given again."""
        assert self.partitions_before is not None
        assert self._before is not None
        before = self._coordinator(self.partitions_before)
        before.resume(CoordinatorState.from_json(self._before.to_json()))
        waits = [name for name in before.engine.queries if before.waits_in_cells(name)]
        if waits:
            number = self.partitions_before
            raise RunError(
                f"query {waits[0]} has windows or OVER, whose rows wait in {number} partitions: go on with --partitions {number}"
            )
        self.cut_before = Cut.of(before.groups, before.state.changes, self.partitions_before)
        self.spark_before, feed = self.spark, self.feed
        self.last_before = self._number - self.era.first
        self.era = Era(self.era.number + 1, self._number + 1)
        for folder in (self.feed, self.spark, self.moved_to):  # of an attempt that was cut short
            shutil.rmtree(folder, ignore_errors=True)
        private_folder(self.feed)
        for waiting in feed.glob(f"{self._number + 1:012d}.jsonl"):
            write_whole(self.feed / waiting.name, waiting.read_bytes())

    def forget_eras(self) -> None:
        """Remove what eras before the last one have left behind."""
        for number in range(self.era.number if self.cut_before is None else self.era.number - 1):
            for kind in ("feed", "spark", "moved"):
                shutil.rmtree(self.place / f"{kind}-{number}", ignore_errors=True)

    def _moved(self) -> str | None:
        return str(self.moved_to.absolute()) if self.era.number else None

    def _weights(self) -> dict[str, float]:
        """Those that the run began with: by them tuples were sent."""
        path = self.place / "weights.json"
        if self._last is None:
            write_sealed_json(path, super()._weights())
        found: dict[str, float] = read_sealed_json(path)
        return found

    def _first_queries(self) -> dict[str, NormalQuery] | None:
        if self._before is None:
            return None
        return read_queries(self.place / "queries")

    def _count_batch(self, *, ended: bool) -> None:
        self._idle = False
        number = self._number + 1
        content = {
            "state": self.coordinator.state.to_json(),
            "partitions": self._partitions,
            "era": asdict(self.era),
        }
        write_sealed_json(self.place / f"{number:012d}.json", content)
        self._commit(ended=ended)
        (self.place / f"{number - 3:012d}.json").unlink(missing_ok=True)

    def _read_state(self, number: int) -> dict[str, Any]:
        path = self.place / f"{number:012d}.json"
        if not path.exists() and not (self.place / "queries").exists():
            raise RunError(
                f"the checkpoint {self._checkpoint.folder} is not of a distributed run: "
                "name another folder, or run without --distribute"
            )
        given: dict[str, Any] = read_sealed_json(path)
        return given

    @property
    def rows_before(self) -> int:
        relations = self._catalog.relations
        counts = {} if self._before is None else self._counts_before
        return sum(read for name, read in counts.items() if relations[name].is_stream)

    def _positions_before(self) -> Positions:
        """What was read before this run, with the micro-batch that was given to Spark and does not count yet."""
        positions = super()._positions_before()
        if self._last is not None:
            self.era = Era(**self._read_state(self._last.number)["era"])
        waiting = self.feed / f"{0 if self._last is None else self._last.number + 1:012d}.jsonl"
        if waiting.exists():
            for line in waiting.read_text(encoding="utf-8", errors="replace").splitlines():
                add_ranges(positions, [Range(**each) for each in opened_line(line)["ranges"]])
        return positions


class _Registrar:
    """Where the queries of a followed folder are registered: with the coordinator, from the next micro-batch on."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def register(self, text: str, name: str | None = None) -> QueryHandle:
        handle = self._work.coordinator.register(text, name, self._work.next_number)
        if handle.name not in self._work.engine.queries:
            self._work.engine.register(text, handle.name)
        return handle

    def unregister(self, query: QueryHandle | str) -> None:
        self._work.coordinator.unregister(query, self._work.next_number)
        name = query if isinstance(query, str) else query.name
        if name in self._work.engine.queries:
            self._work.engine.unregister(name)


def _sent(state: CoordinatorState) -> ShuffleMetrics:
    read = sum(count.read for count in state.counts.values())
    return ShuffleMetrics(
        name="shuffle", tuples_in=read, tuples_out=state.tuples_sent, bytes=state.bytes_sent
    )


def _size(place: Path) -> int:
    try:
        if place.is_dir():
            return sum(file.stat().st_size for file in place.iterdir() if file.is_file())
        return place.stat().st_size
    except OSError:
        return 0
