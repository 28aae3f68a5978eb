"""The service without its network: one engine, its registered queries, its latest results.

Everything here runs in one thread (`worker.py`). A change is first made in memory; `commit` then writes what happened since
the last one to the journal and only after that lets watchers see the results. Whoever asked for the change is answered after
the commit, so nobody is ever told of something that a crash could undo.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.compiler.graph.graph import Graph
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.program import Program
from cqc.runtime.engine.engine import Engine
from cqc.runtime.errors import RunError
from cqc.runtime.join.execute.result_limits import TOO_MANY
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import with_guard, with_retention
from cqc.runtime.run.declared_sinks import DeclaredSinks
from cqc.runtime.run.driver import NOTHING, Driver, MicroBatch
from cqc.runtime.serve.accepted import Accepted, accepted
from cqc.runtime.serve.leaps import Leaps
from cqc.runtime.serve.limits import Limits
from cqc.runtime.serve.memory_return import MemoryReturn
from cqc.runtime.serve.records.result_log import Piece, ResultLog, render
from cqc.runtime.serve.refusal import Refusal, Status
from cqc.runtime.serve.registry import (
    NOWHERE,
    PROGRAM,
    Entry,
    Registry,
    columns_of,
    count_results,
    kind_of,
    place_of,
)
from cqc.runtime.serve.statements import Statement, compare_statements, statements_of_program
from cqc.runtime.serve.told import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.physical.strategy import Strategy
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.metrics.engine import DeliveryMetrics
    from cqc.runtime.pull.pull_query import Invocation
    from cqc.runtime.serve.journal import Durable
    from cqc.runtime.serve.registry import Place
    from cqc.runtime.sources.range import Range

_NAME_IN_USE = "CQ029"
_OF_A_QUERY = 64 * 1024  # bytes, about: its text, its plan, its place in filters and joins
# Between looks at what is kept for queries: with thousands of them a look takes milliseconds.
_PUSHES_BETWEEN_LOOKS = 64


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch that was processed, for the journal."""

    rows: Mapping[str, TypedBatch]
    ranges: Sequence[Range]
    results: Mapping[int, int]  # how many each query (by number) had
    pieces: Sequence[Piece]
    next_instants: (
        dict[str, int] | None
    )  # of queries with EVERY, where they do not follow from the rows alone
    sinks: dict[str, Any]  # how far their spools are
    watermarks: dict[str, int] | None = (
        None  # of streams, where they do not follow from the rows alone
    )


class Service:
    """Queries come and go, rows come in, answers go out.

    Args:
        program: declarations, and the queries to begin with.
        durable: where everything is written down; None for a service that forgets when it stops.
        limits: what is refused.
        strategy: how the engine works; never changes an answer.
        report: told, in one sentence, of queries that had to be stopped, and of sinks that fail.
        name: of the program, for the ids of results that are sent to sinks.
        now: seconds since the epoch.
        clock: seconds that only go up; tells when a silent stream is idle.
    """

    def __init__(
        self,
        program: Program,
        *,
        limits: Limits | None = None,
        strategy: Strategy | None = None,
        durable: Durable | None = None,
        report: Callable[[str], None] = lambda sentence: None,
        name: str = "cqc",
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits or Limits()
        self.registry = Registry()
        self._leaps = Leaps()
        self.started = now()
        self.invocations = 0
        self.busy_seconds = 0.0  # of work on micro-batches
        self.failure: str | None = None
        self.is_interrupted = False  # in the middle of something: the engine is not used any more
        self._report = report
        self._now = now
        self._durable = durable
        self._memory = MemoryReturn()
        self._pushes = 0
        self._pending: list[Piece] = []
        self._found: Counter[int] = Counter()  # results of the last micro-batch, by query number
        self._pieces: list[Piece] = []  # and their lines
        self._leaving: list[Entry] = []
        self._told = Told(report)
        settled = with_guard(with_retention(program))
        self.is_sharing = strategy is None or strategy.sharing
        self.has_idle_timeout = settled.settings.idle_us is not None
        if durable is None or not durable.has_past:
            self.program = settled
            self.engine = Engine(settled, strategy=strategy, clock=clock)
            self.results = ResultLog(self.limits.kept_result_bytes)
            self._next_result = 1
            for statement, name in zip(
                statements_of_program(settled), settled.queries.names, strict=True
            ):
                self._note(name, statement.text, PROGRAM, 0.0)
            if durable is not None:
                durable.begin(self.engine, self.registry)
        else:
            self.program = Program(settled.catalog, Graph(), settled.warnings)
            self.engine = Engine(self.program, strategy=strategy, clock=clock)
            self.results = ResultLog(self.limits.kept_result_bytes)
            self._next_result = durable.recover(self.engine, self.registry, self.results)
            for entry in self.registry:
                if not entry.stopped:
                    self._leaps.add(self.engine.node(entry.name))
            program_names = {fold(each.name) for each in self.registry.owned_by(PROGRAM)}
            others = {fold(each.name) for each in self.registry} - program_names
            try:
                self.adopt(PROGRAM, statements_of_program(settled, others))
            except Refusal as error:
                raise RunError(str(error)) from error
        self.sinks = DeclaredSinks(
            self.engine,
            RunOptions(name=name),
            settled.catalog.sinks,
            folder=None if durable is None else durable.folder / "sinks",
            counts=None if durable is None else durable.sinks,
            tell=report,
        )
        self._driver = Driver(self.engine, outlet=self, ledger=self)
        # Not before: what was registered once is there again, and what was processed is not stopped afterwards.
        self.engine.bound(
            found=self.limits.batch_results,
            past=self.limits.kept_rows,
            seconds=self.limits.query_seconds,
        )
        self.commit()

    @property
    def epoch(self) -> str:
        """A text that changes when a service starts without a checkpoint, so that its result numbers are not mixed up with earlier ones."""
        return f"{int(self.started):x}" if self._durable is None else self._durable.epoch

    # Queries

    def register(self, text: str, name: str | None = None, owner: str = "http") -> Entry:
        """Add a query that a client asks for.

        Raises:
            CompileError: when the query has errors.
            Refusal: when there are too many, the name is taken, or the past has too much for it.
        """
        if len(self.registry) >= self.limits.queries:
            raise Refusal(
                Status.TOO_MANY,
                f"there are {len(self.registry):,} queries already; unregister some first",
            )
        return self._register(text, name, owner, by_client=True)

    def _register(self, text: str, name: str | None, owner: str, *, by_client: bool) -> Entry:
        started = time.perf_counter()
        try:
            handle = self.engine.register(text, name=name)
        except CompileError as error:
            if {each.code for each in error.diagnostics} == {_NAME_IN_USE}:
                taken = name or error.diagnostics[0].span.text
                raise Refusal(
                    Status.CONFLICT,
                    f"there is already a query {taken}: choose another name (--name), "
                    f"or remove that one (cqc unregister {taken})",
                ) from error
            raise
        except RunError as error:
            if by_client:
                raise Refusal(Status.TOO_LARGE, str(error)) from error
            return self._note_stopped(text, name, owner, str(error))
        entry = self._note(handle.name, text, owner, time.perf_counter() - started, by_client)
        return self._warned(entry, handle.warnings)

    def _warned(self, entry: Entry, warnings: tuple[str, ...]) -> Entry:
        entry.warnings = warnings
        for warning in warnings:
            self._report(f"warning: {warning}")
        return entry

    def _note_stopped(self, text: str, name: str | None, owner: str, why: str) -> Entry:
        """A file's query that cannot begin has its place in the list all the same."""
        taken = {fold(entry.name) for entry in self.registry}
        query = self.program.bind_one(text, name, taken)
        entry = self._entry(query.name, text, owner, query)
        entry.stopped, entry.gone = why, True
        self.engine.reserve(entry.name)
        self._add(entry)
        self._report(f"query {entry.name} was stopped: {why}")
        return entry

    def replace(self, text: str, name: str, owner: str) -> tuple[Entry, bool]:
        """Let a query of this name be exactly this one, and say whether that changed anything.

        One with the same text and owner goes on as it is. Otherwise the old one leaves and the new one begins between the same two
        micro-batches, and no crash comes between the two.

        Raises:
            CompileError: when the query has errors; nothing changes then.
            Refusal: when the past has too much for it; nothing changes then.
        """
        if name not in self.registry:
            return self.register(text, name, owner), True
        old = self.registry.find(name)
        if old.text == text and old.owner == owner and not old.stopped:
            return old, False
        taken = {key: each for key, each in self.engine.taken_names.items() if key != fold(name)}
        query = self.program.bind_one(text, name, taken)
        if query.pull is not None:
            self._try_out(text)
        self._remove(old)
        started = time.perf_counter()
        handle = self.engine.register(text, name=old.name)
        seconds = time.perf_counter() - started
        entry = self._note(handle.name, text, owner, seconds, True, replaced=old)
        return self._warned(entry, handle.warnings), True

    def _try_out(self, text: str) -> None:
        """See that the retained past does not have too much for a query, under a name that it keeps for a moment only.

        Raises:
            Refusal: when it has.
        """
        taken = self.engine.taken_names
        spare = next(name for n in range(len(taken) + 1) if (name := f"this{n}") not in taken)
        try:
            self.engine.unregister(self.engine.register(text, name=spare))
        except RunError as error:
            raise Refusal(
                Status.TOO_LARGE, str(error).replace(f"query {spare}", "the new query", 1)
            ) from error

    def unregister(self, name: str) -> Entry:
        """Remove a query.

        Raises:
            Refusal: when there is none of this name.
        """
        entry = self.registry.find(name)
        self._remove(entry)
        if self._durable is not None:
            self._durable.unregistered(entry)
        return entry

    def _remove(self, entry: Entry) -> None:
        if entry.stopped:
            self.engine.release(entry.name)
        else:
            self._leave_engine(entry)
            self._tell_at_last()
        self.registry.remove(entry)
        self._leaps.remove(entry.name)
        self._leaving.append(entry)

    def _tell_at_last(self) -> None:
        """Deliver what a query gives when it leaves: an alert that fires is resolved."""
        told = list(self.engine.drain_blocks())
        if told:
            self.deliver(NOTHING, told)
            self.count(NOTHING)

    def _leave_engine(self, entry: Entry) -> None:
        kept = self.engine.history_bytes(entry.name)
        self.engine.unregister(entry.name)
        self._memory.went(kept + _OF_A_QUERY)

    def _stop(self, name: str, why: str) -> None:
        """Answer a query no more that would hold up all others. It keeps its place in the list, with the reason."""
        entry = self.registry.of(name)
        entry.own_seconds += self.engine.seconds_of(entry.name)
        self._leave_engine(entry)
        self.engine.reserve(entry.name)
        self._leaps.remove(entry.name)
        self.registry.leave(entry)
        entry.stopped = why
        self._leaving.append(entry)
        if self._durable is not None:
            self._durable.stopped(entry)
        self._report(f"query {entry.name} was stopped: {why}")

    def adopt(
        self,
        owner: str,
        statements: Sequence[Statement],
        views: Mapping[str, Relation] | None = None,
    ) -> None:
        """Make the queries of a file or the program exactly these; those that are there with the same text stay as they are.

        `views`: those of the program, where they may have changed too. Queries of others that read one which means something
        else now are registered again.

        Raises:
            CompileError: when one of them has errors; nothing changes then.
            Refusal: when there would be too many; nothing changes then.
        """
        leaving, coming = compare_statements(self.registry.owned_by(owner), statements)
        number = len(self.registry) - len(leaving) + len(coming)
        if coming and number > self.limits.queries:
            raise Refusal(
                Status.TOO_MANY,
                f"with those of {owner} there would be {number:,} queries, the limit is {self.limits.queries:,}",
            )
        program = self.program
        if views is not None and _texts(views) != _texts(program.catalog.views):
            program = Program(
                replace(program.catalog, views=views), program.graph, program.warnings
            )
            self._check_readers(program, {entry.name for entry in leaving})
        gone = {fold(entry.name) for entry in leaving}
        taken = {fold(entry.name) for entry in self.registry} - gone
        for statement in coming:
            try:
                query = program.bind_one(statement.as_placed(), statement.name, taken)
            except CompileError as error:
                raise statement.explain(error) from error
            taken.add(fold(query.name))
        for entry in leaving:
            self.unregister(entry.name)
        if program is not self.program:
            self.program = program
            self.engine.change_views(program.catalog.views)
        for statement in coming:
            self._register(statement.text, statement.name, owner, by_client=False)

    def _check_readers(self, program: Program, leaving: set[str]) -> None:
        """See that the queries that stay have no errors over the views of a program."""
        for entry in self.registry:
            if entry.name not in leaving and not entry.stopped:
                program.bind_one(entry.text, entry.name, ())

    def invoke(self, name: str, at: str | None = None) -> tuple[Entry, Invocation]:
        """The value of a pull query at an instant.

        Raises:
            Refusal: when there is no such query, it is a push query, the instant is none, or the answer is too large.
        """
        entry = self.registry.find(name)
        if entry.stopped:
            raise Refusal(Status.CONFLICT, f"query {entry.name} was stopped: {entry.stopped}")
        if entry.kind == "push":
            raise Refusal(
                Status.CONFLICT,
                f"query {entry.name} delivers its results as they happen: watch it, or give it BEGIN-END",
            )
        started = time.perf_counter()
        try:
            asked = self.engine.ask(entry.name, at)
        except RunError as error:
            raise Refusal(Status.INVALID, str(error)) from error
        finally:
            entry.own_seconds += time.perf_counter() - started
        entry.invocations += 1
        self.invocations += 1
        if len(asked.block) > self.limits.result_rows:
            raise Refusal(
                Status.TOO_LARGE,
                f"the answer has {len(asked.block):,} rows, the limit is {self.limits.result_rows:,}: add a LIMIT",
            )
        return entry, asked

    def cost_seconds(self, entry: Entry) -> float:
        """What a query has cost so far: its own work, what was measured of it in common work, and its part of the rest."""
        measured = 0.0 if entry.stopped else self.engine.seconds_of(entry.name)
        return self.registry.cost_seconds(entry) + measured

    def costs(self) -> list[tuple[Entry, float, int]]:
        """All queries with what they have cost, and the bytes that are kept for each."""
        measured = self.engine.query_metrics()
        return [self._cost_of(entry, measured.get(entry.name)) for entry in self.registry]

    def cost(self, name: str) -> tuple[Entry, float, int]:
        """The same of one query."""
        entry = self.registry.find(name)
        measured = {} if entry.stopped else self.engine.query_metrics()
        return self._cost_of(entry, measured.get(entry.name))

    def _cost_of(self, entry: Entry, measured: DeliveryMetrics | None) -> tuple[Entry, float, int]:
        seconds = self.registry.cost_seconds(entry)
        if measured is None:
            return entry, seconds, 0
        taken = 0.0 if entry.stopped else measured.seconds
        return entry, seconds + taken, measured.kept_bytes

    # From other threads

    def halt(self) -> None:
        """Make the engine stop at once. The next start undoes what was only begun."""
        self.engine.watch.halt("the service is stopping")

    def drop(self, name: str) -> None:
        """Make the engine skip the work for a query that is about to be removed."""
        watch = self.engine.watch
        if name in self.registry:
            watch.drop(self.registry.of(name).name)
        elif watch.query and fold(watch.query) == fold(name):
            watch.drop(watch.query)

    # Rows

    def take(self, stream: str, rows: TypedBatch) -> Accepted:
        """Process the rows that a client sent as one micro-batch.

        Raises:
            Refusal: when a table is filled after the first tuple of a stream, or time would leap too far ahead.
        """
        self._stop_frequent({stream: rows}, may_refuse=True)
        return self._push({stream: rows}, ())

    def push(self, rows: Mapping[str, TypedBatch], ranges: Sequence[Range] = ()) -> Accepted:
        """Process one micro-batch.

        Raises:
            Refusal: when a table is filled after the first tuple of a stream.
        """
        self._stop_frequent(rows, may_refuse=False)
        return self._push(rows, ranges)

    def reached(self, streams: Iterable[str]) -> dict[str, int]:
        """How far streams are in event time, by folded name; those without a row are left out."""
        reached_us = self._driver.reached_us
        return {name: reached_us[name] for name in map(fold, streams) if name in reached_us}

    def _push(self, rows: Mapping[str, TypedBatch], ranges: Sequence[Range]) -> Accepted:
        started, credited = time.thread_time(), self.engine.credited_seconds
        counts = [self.engine.lines[fold(name)].count for name in rows]
        before = [count.copy() for count in counts]
        try:
            self._driver.take(MicroBatch(rows, ranges))
        except RunError as error:
            raise Refusal(Status.CONFLICT, str(error)) from error
        self._stop_crowded()
        lines = {name: self.engine.lines[fold(name)] for name in rows}
        self._told.tell_waiting(lines.values())
        self._told.tell_intake(lines.values())
        self._give_back()
        credited = self.engine.credited_seconds - credited
        seconds = time.thread_time() - started
        self.busy_seconds += seconds
        tuples = {fold(name): len(each) for name, each in rows.items()}
        self.registry.share(seconds - credited, self._found, tuples)
        lacking = [lines[name] for name, taken in rows.items() if taken.absent is not None]
        return replace(accepted(before, counts), warnings=self._told.absent_from(lacking))

    # What the driver asks for

    def deliver(self, batch: MicroBatch, results: Iterable[list[ResultBlock]]) -> None:
        """Give the results of a micro-batch their numbers; they become visible with the next commit."""
        self._found, self._pieces = Counter(), []
        first, now = self._next_result, time.monotonic()
        for blocks in self._without_floods(list(results), batch.rows):
            for block in blocks:
                entry = self.registry.of(block.query)
                count_results(entry, len(block), now)
                self._found[entry.number] += len(block)
            self._pieces += render(
                blocks,
                self._pieces[-1].stop if self._pieces else first,
                lambda name: self.registry.of(name).number,
            )
            self.sinks.write(blocks)
        self._next_result = self._pieces[-1].stop if self._pieces else first
        self._pending += self._pieces

    def count(self, batch: MicroBatch) -> None:
        """Have a micro-batch written down with the next commit."""
        if self._durable is not None and (batch.rows or batch.ranges or self._pieces):
            # Whether a stream was idle cannot be found out again, so what followed from it is written down.
            instants = self.engine.next_instants() if self.has_idle_timeout else None
            watermarks = self.engine.stream_watermarks() if self.has_idle_timeout else None
            self._durable.pushed(
                Batch(
                    batch.rows,
                    batch.ranges,
                    self._found,
                    self._pieces,
                    instants,
                    self.sinks.to_json(),
                    watermarks,
                )
            )

    def count_end(self) -> None:
        """The input of a service does not end."""

    # Limits

    def _give_back(self) -> None:
        """Return memory to the system after much of it was let go."""
        self._pushes += 1
        states = self.engine.state_sizes().values()
        self._memory.size_is("tuples", sum(each.bytes for each in states))
        if self._pushes % _PUSHES_BETWEEN_LOOKS == 0:
            self._memory.size_is("results", self.engine.history_bytes())

    def _stop_frequent(self, rows: Mapping[str, TypedBatch], *, may_refuse: bool) -> None:
        most = self.limits.instants
        greedy = self._leaps.too_many(self.engine, rows, most, may_refuse=may_refuse)
        for name, why in greedy.items():
            self._stop(name, why)

    def _without_floods(
        self, batches: list[list[ResultBlock]], rows: Mapping[str, TypedBatch]
    ) -> list[list[ResultBlock]]:
        """Results without those of queries that have far too many, which are stopped."""
        counts: Counter[str] = Counter()
        for blocks in batches:
            for block in blocks:
                counts[block.query] += len(block)
        most = sum(map(len, rows.values())) + self.limits.batch_results
        floods = dict.fromkeys((name for name, count in counts.items() if count > most), TOO_MANY)
        floods |= self.engine.take_silenced()
        for name, why in floods.items():
            if why == TOO_MANY:
                limit = f"the limit is {self.limits.batch_results:,}, and one for each row"
                why = f"{TOO_MANY}: {limit}"
            self._stop(name, why)
        if not floods:
            return batches
        return [[each for each in blocks if each.query not in floods] for blocks in batches]

    def _stop_crowded(self) -> None:
        for name in self.engine.crowded(self.limits.kept_rows):
            most = self.limits.kept_rows
            self._stop(name, f"more than {most:,} combinations of its streams would be kept for it")

    def look_at_clock(self) -> None:
        """Deliver results that waited only for a stream that is idle now."""
        if self.has_idle_timeout:
            self.push({})

    # Durability

    def commit(self) -> None:
        """Make what happened so far durable, then visible.

        Raises:
            OSError: when it cannot be written; the service must stop then.
        """
        self.sinks.keep()
        if self._durable is not None:
            # Nothing is derived from an engine that stands in the middle of a micro-batch.
            self._durable.commit(self.results.oldest, in_step=not self.is_interrupted)
        self.sinks.counted()
        if self._pending:
            self.results.append(self._pending)
            self._pending = []
        for entry in self._leaving:
            entry.gone = True
        self._leaving = []

    def close(self) -> None:
        """Write what is left and let go of the files."""
        self.commit()
        self.sinks.close()
        if self._durable is not None:
            self._durable.close()

    def _note(
        self,
        name: str,
        text: str,
        owner: str,
        seconds: float,
        by_client: bool = False,
        replaced: Entry | None = None,
    ) -> Entry:
        node = self.engine.node(name)
        self._leaps.add(node)
        entry = self._entry(name, text, owner, node)
        entry.own_seconds, entry.by_client = seconds, by_client
        self._add(entry, place_of(node), replaced)
        return entry

    def _entry(self, name: str, text: str, owner: str, query: QueryNode | Query) -> Entry:
        number, kind, columns = self.registry.next_number, kind_of(query), columns_of(query)
        return Entry(number, name, text, owner, self._now(), kind, columns)

    def _add(self, entry: Entry, place: Place = NOWHERE, replaced: Entry | None = None) -> None:
        self.registry.add(entry, place)
        if self._durable is not None and self._durable.is_open:
            self._durable.registered(entry, replaced)


def _texts(views: Mapping[str, Relation]) -> dict[str, str]:
    """What declares each view."""
    declared = {name: each.view.declaration for name, each in views.items() if each.view}
    return {name: "" if node is None else node.span.text for name, node in declared.items()}
