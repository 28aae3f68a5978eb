"""A run whose micro-batches are lists of ranges: what runs on Spark, follows its input, or survives a crash.

What a micro-batch holds is decided by the planner; on which way its ranges come, at once or through Spark's stream, is the
carrier's business. Between two micro-batches the query set may change: a folder of programs is looked at each time.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import Program
from cqc.compiler.graph.derive import declared_beneath
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.notices import say
from cqc.runtime.run.finite_run import LocalRun, source_path
from cqc.runtime.run.input_plan import Planner
from cqc.runtime.run.live_programs import LivePrograms, new_relations, refuse
from cqc.runtime.run.query_set import first_set, texts_of
from cqc.runtime.run.range_feed import RangeFeed, read_ranges
from cqc.runtime.sources.connections import is_connection, open_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.driver import Feed as BatchFeed
    from cqc.runtime.run.driver import MicroBatch
    from cqc.runtime.run.durable.program_book import Sources
    from cqc.runtime.run.finite_run import RunSummary
    from cqc.runtime.run.input_plan import Positions
    from cqc.runtime.run.range_feed import Carrier
    from cqc.runtime.sources.connections import Feed
    from cqc.runtime.sources.range import Range

RETENTION_US = 3_600_000_000
MAX_AHEAD_US = 86_400_000_000  # of a service


class BatchRun(LocalRun):
    """Pushes ranges into the engine, one micro-batch at a time.

    Raises:
        RunError: when data is missing or a place to write to cannot be opened.
    """

    carrier: Carrier | None = None  # for the ranges of micro-batches

    def __init__(self, program: Program, options: RunOptions) -> None:
        super().__init__(with_retention(program) if options.follow else program, options)
        self._queries = first_set(self.engine, program, options.only)
        self._live = LivePrograms(options) if options.is_live else None
        self._in_force: Sources | None = None  # the files that changed the queries last
        if self._live is not None:
            self._add_places()
        try:
            self._planner = self._make_planner()
        except BaseException:
            self._close_sink()
            self._left_out.close()
            raise

    def _feed(self) -> BatchFeed:
        return RangeFeed(self, self.carrier)

    def next_ranges(self) -> list[Range]:
        """What the next micro-batch reads; nothing at the end of the input (for one that follows: at present)."""
        program = None if self._live is None else self._live.look()
        if program is not None:
            self._change_to(program)
        return self._planner.next_batch(self._driver.reached_us)

    def _share(self) -> float | None:
        return self._planner.share

    def awaits_more(self) -> bool:
        """Whether there may be more input although there is none at present."""
        return self._options.follow or not self._planner.ended

    def read(self, ranges: Sequence[Range]) -> MicroBatch:
        """The rows of ranges, as one micro-batch."""
        return read_ranges(self._catalog.relations, ranges)

    def process(self, ranges: Sequence[Range]) -> None:
        """Read the ranges as one micro-batch, write its results and make it count."""
        self._driver.take(self.read(ranges))

    def count(self, batch: MicroBatch) -> None:
        """A micro-batch is done: what it read will not be asked for again."""
        super().count(batch)
        self._planner.done_with_all()

    def close(self) -> RunSummary:
        """Let go of the files, and say what was done."""
        self._planner.close()
        return super().close()

    def _make_planner(self) -> Planner:
        return Planner(
            {
                name: (relation, self._places.get(name))
                for name, relation in self._catalog.relations.items()
                if relation.is_stream and (name in self._places or name in self._used)
            },
            follow=self._options.follow,
            rows_per_batch=self._options.rows_per_batch,
            positions=self._positions_before(),
            spool=None
            if self._options.checkpoint is None
            else Path(self._options.checkpoint) / "spool",
            warn=lambda text: say(f"warning: {text}"),
        )

    def _change_to(self, program: Program) -> None:
        """Let the queries of a program run, over streams and tables of which some may be new."""
        feeds: list[Feed] = []
        try:
            declared = new_relations(program.catalog, self._catalog)
            self._check_data(program)
            rows = {relation.name: self._open_new(relation, feeds) for relation in declared}
        except RunError as error:
            for feed in feeds:
                feed.close()
            refuse(f"error: {error}")
            return
        for relation in declared:
            self.engine.declare(relation, rows[relation.name])
        for feed in feeds:
            self._planner.add(feed)
        relations = {fold(each.name): each for each in declared}
        self._catalog = replace(
            self._catalog,
            relations={**self._catalog.relations, **relations},
            sinks={**program.catalog.sinks, **self._catalog.sinks},
        )
        self._sinks.declare(program.catalog.sinks)
        self._used |= relations.keys()
        wanted = texts_of(program, self._options.only)
        views = program.catalog.views
        for change in self._queries.change_to(wanted, lambda: self.engine.set_views(views)):
            say(change)
        if self._live is not None:
            self._in_force = self._live.sources

    def _check_data(self, program: Program) -> None:
        """See that every stream and table that runs and is asked for is being read.

        Raises:
            RunError: when neither the program nor the command line says where the rows of one are.
        """
        for name in texts_of(program, self._options.only):
            for relation in declared_beneath(program.graph.queries[fold(name)].relations):
                folded = fold(relation.name)
                if folded in self._catalog.relations and folded not in self._used:
                    source_path(relation, self._options.binds)

    def _open_new(self, relation: Relation, feeds: list[Feed]) -> list[TypedBatch]:
        """Open the feed of a new stream, or read the rows of a new table.

        Raises:
            RunError: when there is nothing to read from.
        """
        place = None
        if not is_connection(relation, self._options.binds):
            place = source_path(relation, self._options.binds)
        if not relation.is_stream:
            return list(open_table(relation, place))
        feeds.append(self._planner.open(fold(relation.name), relation, place))
        return []

    def _positions_before(self) -> Positions:
        """What was read before this run."""
        return {}

    def _add_places(self) -> None:
        """Queries that come later may speak of any stream that has data."""
        binds = self._options.binds
        bound = {fold(name) for name in binds}
        for name, relation in self._catalog.relations.items():
            if is_connection(relation, binds):
                if not relation.is_stream and name not in self._used:
                    self._connected_tables.append(name)
                self._used.add(name)
            elif "path" in relation.options or name in bound:
                self._places[name] = source_path(relation, binds)
        self._used |= self._places.keys()


def with_guard(program: Program) -> Program:
    """The program with the guard against rows far ahead that a service has, unless the program says otherwise."""
    if program.settings.max_ahead_us is not None:
        return program
    settings = replace(program.settings, max_ahead_us=MAX_AHEAD_US)
    return Program(replace(program.catalog, settings=settings), program.graph, program.warnings)


def with_retention(program: Program) -> Program:
    """The program with the history that a run without an end keeps, unless it says otherwise.

    An hour for queries to come, and more where the program's own queries look back further: a window of a day is a day.
    """
    if program.settings.retention_us is not None:
        return program
    begins = (pull.begin for query in program.queries.values() if (pull := query.pull) is not None)
    windows_us = (-begin.offset_us for begin in begins if begin.from_now)
    settings = replace(program.settings, retention_us=max(RETENTION_US, *windows_us, 0))
    return Program(replace(program.catalog, settings=settings), program.graph, program.warnings)
