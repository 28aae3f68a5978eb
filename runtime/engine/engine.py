"""The engine in this process: rows in, results out, queries come and go.

One call of `push` is one micro-batch of one stream, `push_batch` one of several: rejected and late rows are counted and left
out, the rest goes through the operators (`packet_path`), whatever the interleaving with the same results.

    with cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s WHERE x > 1")) as engine:
        engine.push("s", [{"ts": 1, "x": 1}, {"ts": 2, "x": 2}])
        print([(result.query, result.ts, result.row) for result in engine.drain()])   # [('q1', 2, {'x': 2})]

Every public call may come from any thread; they take turns (`turns`). What is pushed is typed before the turn begins, so the
code of users' iterables does not run inside it, and results are made into rows after it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, overload

from cqc.compiler import Program
from cqc.compiler.diagnostics.arguments import expect
from cqc.compiler.diagnostics.diagnostic import one_sentence
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parse.collector import COLLECTOR
from cqc.compiler.physical.strategy import Strategy
from cqc.compiler.pipeline import normalise
from cqc.runtime.adapt.work_watch import Unwanted
from cqc.runtime.alerts.alert_queries import AlertQueries
from cqc.runtime.deliver.deliver import Deliveries
from cqc.runtime.deliver.drained import Drained
from cqc.runtime.deliver.results import rows_of
from cqc.runtime.engine.absent_queries import AbsentQueries
from cqc.runtime.engine.arguments import check_arguments, wanted_queries
from cqc.runtime.engine.circuit import Circuit
from cqc.runtime.engine.counters import EngineCounters
from cqc.runtime.engine.derived_streams import DerivedStreams
from cqc.runtime.engine.frames import check_form, frame_of, frames_of
from cqc.runtime.engine.packet_path import PacketPath
from cqc.runtime.engine.parts import EngineParts
from cqc.runtime.engine.past_warnings import past_warnings
from cqc.runtime.engine.relations import Relations
from cqc.runtime.engine.running_queries import RunningQueries
from cqc.runtime.engine.snapshot import EngineState, Snapshot
from cqc.runtime.engine.statements import execute, statements_in
from cqc.runtime.engine.turns import Turns, changes, reads
from cqc.runtime.errors import RunError
from cqc.runtime.expressions.function_faults import noted_in
from cqc.runtime.pull.body_results import Maintenance
from cqc.runtime.pull.pull_queries import PullQueries
from cqc.runtime.windows.all_decided import AllDecided
from cqc.runtime.windows.decided_queries import DecidedQueries

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.deliver.results import Result, ResultBlock, ResultGroup
    from cqc.runtime.engine.frames import Form
    from cqc.runtime.engine.query_book import QueryHandle
    from cqc.runtime.engine.relations import OnLate, OnReject
    from cqc.runtime.engine.snapshot import QueryState
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.pull.pull_query import Invocation


_MOST_ENDS = 64  # ends of inputs that are remembered: the tuples before them are mostly forgotten


class Engine(EngineCounters):
    """Answers the queries of a program, and any registered later, over rows that are pushed.

    Args:
        program: what `cqc.compile` gave.
        strategy: switches that change the cost of an answer and never the answer.
        only: names of the queries to run; all of them by default.
        keep_past: keep tuples for pull queries that are registered later, as far back as the program's RETENTION.
        collect: with False results are counted and not kept for `drain`.
        clock: seconds that only go up; tells when a silent stream is idle.

    Calls may come from any thread: they are made one after the other, in the order in which they came. Two engines work side by
    side. Code that an engine calls (a function of `cqc.function`) cannot call that engine.

    Example:
        >>> import cqc
        >>> program = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY big AS SELECT x FROM s WHERE x > 10")
        >>> with cqc.Engine(program) as engine:
        ...     engine.push("s", [{"ts": 1, "x": 5}, {"ts": 2, "x": 20}])
        ...     [(result.query, result.ts, result.row) for result in engine.drain()]
        [('big', 2, {'x': 20})]
    """

    _make_pulls: ClassVar[type[PullQueries]] = PullQueries

    def __init__(
        self,
        program: Program,
        *,
        strategy: Strategy | None = None,
        sharing: bool = True,
        only: tuple[str, ...] = (),
        keep_past: bool = True,
        collect: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        flags = {"sharing": sharing, "keep_past": keep_past, "collect": collect}
        check_arguments(program, strategy, clock, **flags)
        wanted = wanted_queries(program, only)
        self._turns = Turns()
        self._program = program
        strategy = strategy or Strategy(sharing=sharing)
        self._relations = Relations(program.catalog, strategy.packet, clock)
        states = self._relations.states
        # Rows that wait are needed, not only their number.
        waits = _has_absence(program, wanted) or any(
            program.normal(name).decided or program.normal(name).alert for name in wanted
        )
        self._circuit = Circuit(states, strategy, counts_only=not collect and not waits)
        self._deliveries = Deliveries()
        self._absent = AbsentQueries(
            states, self._circuit, self._deliveries, sharing=strategy.sharing
        )
        self._pulls = self._make_pulls(
            states,
            self._relations.all_lines,
            program.catalog.settings,
            maintenance=Maintenance(strategy.maintenance),
            watch=self._circuit.watch,
            make_circuit=lambda states: Circuit(states, Strategy()),
            decider=AllDecided,
        )
        self._decided = DecidedQueries()
        self._alerts = AlertQueries()
        self._views = DerivedStreams(
            self._relations, self._circuit, self._pulls, self._absent, self._decided
        )
        parts = EngineParts(
            self._relations,
            self._circuit,
            self._deliveries,
            self._pulls,
            self._views,
            self._absent,
            self._decided,
            self._alerts,
        )
        self._path = PacketPath(parts, keep_past=keep_past, collect=collect)
        self._queries = RunningQueries(parts, self._path.queries_changed)
        self._finished = False
        self._ends: list[dict[str, int]] = []  # how far the streams were when an input had ended
        with COLLECTOR.is_still():
            for name in wanted:
                text = program.text_of(name) if program.catalog.views else None
                self._queries.add(program.normal(name), text, {})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take nothing more: wait for the call that is being made, and refuse those that come later.

        What was found can still be drained, and counters can be read. Closing twice does no harm.
        """
        self._turns.close()

    # Rows in

    def push(self, stream: str, rows: Any) -> None:
        """Give the engine rows of one stream or table.

        Args:
            stream: the declared name.
            rows: a pyarrow Table or RecordBatch, a pandas DataFrame, or a list of dicts.

        Raises:
            RunError: for a name that is not declared, for rows of another kind, a table filled after the first tuple, or an
                engine that was closed.
            TypeError: for a name that is none.
        """
        expect(stream, str, "engine.push", "the name of a stream or table first")
        self.push_batch({stream: rows})

    def push_batch(self, rows: Mapping[str, Any]) -> None:
        """Give the engine one micro-batch of several streams: rows as `push` takes them, by declared name."""
        self._turns.check_open("push")
        self.push_typed(self.typed(rows))

    def typed(self, rows: Mapping[str, Any]) -> dict[str, TypedBatch]:
        """Rows as `push_batch` takes them, typed and not yet given to the engine; any thread may do that at any time."""
        expect(rows, Mapping, "engine.push_batch", "rows by the name of their stream")
        lines = {name: self._relations.line(name) for name in rows}
        if len({id(line) for line in lines.values()}) < len(lines):
            raise RunError(f"the same stream is named twice in one batch: {', '.join(lines)}")
        return {name: line.take(rows[name]) for name, line in lines.items()}

    def push_typed(self, taken: Mapping[str, TypedBatch]) -> None:
        """Give the engine one micro-batch of rows that a source typed already."""
        turns = self._turns
        turns.begin("push")
        try:
            turns.check_open("push")
            relations = self._relations
            self._path.work_on(
                {fold(name): relations.line(name).accept(rows) for name, rows in taken.items()}
            )
            turns.faults.raise_reentered()
        finally:
            turns.end()

    @changes
    def push_packets(self, packets: Mapping[str, Packet]) -> None:
        """Give the engine one micro-batch of tuples, by folded name, that were found in time and numbered elsewhere."""
        self._path.work_on(packets)

    @changes
    def finish(self) -> None:
        """The input has ended: deliver what only the end decides (EVERY instants, ROWS windows)."""
        if self._finished:
            return
        self._finished = True
        self._path.end_input()
        if len(self._absent):
            self._ends = [*self._ends, self._relations.arrivals()][-_MOST_ENDS:]

    @changes
    def closing_invocations(self, at_us: int | None = None) -> None:
        """Invoke every pull query without EVERY once, for the end of a finite run."""
        self._path.keep([], self._pulls.closing(at_us))

    # Results out

    @overload
    def drain(self, *, to: None = None) -> Drained: ...
    @overload
    def drain(self, *, to: Form) -> dict[str, Any]: ...
    def drain(self, *, to: Form | None = None) -> Drained | dict[str, Any]:
        """Results found so far and not drained yet, in result-time order within each micro-batch.

        Each result is given once, whichever thread drains; what is not asked for of a micro-batch waits for the next drain.

        Args:
            to: `arrow`, `pandas`, `polars` or `duckdb`: a frame for each query that has results, by name, instead of one
                result after the other. A frame has the result time (`ts`, or `at`) first, then the outputs.

        Example:
            >>> import cqc
            >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s"))
            >>> engine.push("s", [{"ts": 1, "x": 10}])
            >>> engine.drain(to="arrow")["q1"].to_pylist()
            [{'ts': 1, 'x': 10}]
        """
        if to is not None:
            check_form(to)
            return frames_of(self.drain_blocks(), to)
        return Drained(self._drain_rows())

    def _drain_rows(self) -> Generator[Result]:
        for blocks in self.drain_blocks():
            yield from rows_of(blocks, lambda rest: self._path.results.put_back(([], rest)))

    def drain_blocks(self) -> Iterator[list[ResultBlock]]:
        """The same by column: one list of blocks a micro-batch, a block for each query."""
        for groups, blocks in self.drain_groups():
            yield [block for group in groups for block in group.blocks()] + blocks

    def drain_groups(self) -> Iterator[tuple[list[ResultGroup], list[ResultBlock]]]:
        """The same with the queries of one SELECT list together: push results in groups, and answers of pull queries."""
        waiting = self._path.results
        with self._turns.take("drain"):
            most = len(waiting)
        yield from waiting.take(most)

    @changes
    def on_left_out(self, rejects: OnReject, late: OnLate) -> None:
        """Tell somebody of rows that are rejected or late."""
        self._relations.listen(rejects, late)

    # Streams and queries come and go

    @changes
    def declare(self, relation: Relation, rows: Iterable[TypedBatch] = ()) -> None:
        """Add a stream, or a table with its rows, while the engine runs; queries over it are registered afterwards.

        Raises:
            RunError: when the name is taken.
        """
        name = fold(relation.name)
        if name in self._relations.lines:
            raise RunError(f"there is a stream or table {relation.name} already")
        catalog = self._program.catalog
        wider = replace(catalog, relations={**catalog.relations, name: relation})
        self._program = Program(wider, self._program.graph, self._program.warnings)
        self._relations.declare(relation)
        self._circuit.declare(name)
        self._pulls.declare(name)
        self._path.queries_changed()
        for taken in rows:
            self._path.insert(name, self._relations.lines[name].accept(taken))

    @changes
    def change_views(self, views: Mapping[str, Relation]) -> list[str]:
        """Let the views be others; queries that mean something else then are registered again.

        Args:
            views: by folded name, as a program's catalog has them.

        Returns:
            The names of those queries, which see tuples that arrive from now on.

        Raises:
            CompileError: when a query has errors then; nothing changes.
        """
        catalog = replace(self._program.catalog, views=dict(views))
        program = Program(catalog, self._program.graph, self._program.warnings)
        before, changed = self._program, {}
        for query in self._queries.states():
            old = normalise(before.bind_one(query.text, name=query.name, taken=()))
            new = normalise(program.bind_one(query.text, name=query.name, taken=()))
            if old != new:
                changed[query.name] = (query.text, new)
        self._program = program
        for name, (text, normal) in changed.items():
            self._remove(name)
            self._queries.add(normal, text, self._relations.arrivals())
        self._path.purge.look_again()
        return list(changed)

    @changes
    def set_views(self, views: Mapping[str, Relation]) -> None:
        """Let queries to come read these views; those that run stay as they are."""
        catalog = replace(self._program.catalog, views=dict(views))
        self._program = Program(catalog, self._program.graph, self._program.warnings)

    def execute(self, text: str) -> pa.Table | QueryHandle | None:
        """Do what statements say: CREATE, DROP, SHOW, DESCRIBE, or a query.

        Returns:
            What the last of them gives: a table for SHOW and DESCRIBE, and for a query with BEGIN-END that is asked once; what
            stands for the query that was registered; else None.

        Raises:
            CompileError: when a statement has errors.
            RunError: when there is no such thing to drop or describe, or something still reads a view.

        Example:
            >>> import cqc
            >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT)"))
            >>> engine.execute("CREATE VIEW big AS SELECT * FROM s WHERE x > 9; CREATE QUERY q AS SELECT x FROM big").name
            'q'
            >>> engine.execute("SHOW VIEWS").to_pylist()[0]["name"]
            'big'
            >>> engine.execute("DROP QUERY q; DROP VIEW big; SHOW QUERIES").num_rows
            0
        """
        expect(text, str, "engine.execute", "the text of statements")
        result: pa.Table | QueryHandle | None = None
        for statement in statements_in(text):
            result = execute(self, statement)
        return result

    @property
    def program(self) -> Program:
        """What is declared now: streams and tables that came later included, and views as they are."""
        return self._program

    @changes
    def register(
        self,
        text: str,
        name: str | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> QueryHandle:
        """Add a query while the engine runs.

        A push query sees tuples that arrive from now on; a pull query also the retained past.

        Args:
            text: a SELECT, or a CREATE QUERY.
            name: what to call it.
            parameters: values for its parameters (`:name`), typed constants.

        Raises:
            CompileError: when the query has errors; nothing changes then.
            RunError: when the retained past has more combinations for it, or takes longer, than `bound` allows; nothing changes
                then.
        """
        query, found = self._program.bind_with_warnings(
            text, name=name, taken=self._queries.book.taken, parameters=parameters
        )
        if query.span.source.text is not text:  # with constants in the places of its parameters
            text = query.span.text
        normal = normalise(query)
        self.watch.begin(query.name)
        try:
            self._queries.add(normal, text, self._relations.arrivals())
        finally:
            self.watch.end()
        self._queries.book.running[query.name].warnings = (
            *map(one_sentence, found),
            *past_warnings(normal, self._relations.lines),
        )
        return self._queries.book.handle(query.name)

    @changes
    def register_compiled(
        self, query: NormalQuery, since: Mapping[str, int] | None = None
    ) -> QueryHandle:
        """The same for a query that was compiled elsewhere, under a name that is free.

        `since` is how many tuples of each stream have come, where they are numbered elsewhere.
        """
        self._queries.add(query, "", self._relations.arrivals() if since is None else since)
        return self._queries.book.handle(query.name)

    @changes
    def unregister(self, query: QueryHandle | str) -> None:
        """Remove a query and what only it used; its results that wait stay drainable."""
        self._remove(self._queries.book.name_of(query))
        self._path.purge.look_again()

    def _remove(self, name: str) -> None:
        """Drop a query; an alert tells what is resolved by that."""
        self._path.keep([], self._queries.remove(name, self._relations.watermarks()))

    @changes
    def bound(self, *, found: int, past: int, seconds: float | None = None) -> None:
        """Let no query over a join take everything.

        Args:
            found: results of a query in one packet, beside one for each tuple. `take_silenced` names those that have more.
            past: combinations of the retained past that a query may make when it is registered.
            seconds: that may be spent on a query in one micro-batch, registration or invocation.
        """
        self._circuit.bound(found)
        self._pulls.most_past = past
        self.watch.most_seconds = seconds

    @changes
    def bound_instants(self, most: int) -> None:
        """Let no query with EVERY answer about more than so many instants in which no row is; whoever pushes hears of it."""
        self._pulls.most_instants = most

    @changes
    def take_silenced(self) -> dict[str, str]:
        """The queries that went too far since this was last asked, and why. Their answers are not complete: unregister them."""
        return self._path.take_silenced()

    @changes
    def reserve(self, name: str) -> None:
        """Let no query take a name that none has at present."""
        self._queries.book.taken[fold(name)] = name

    @changes
    def release(self, name: str) -> None:
        """Give a reserved name free."""
        del self._queries.book.taken[fold(name)]

    def invoke(self, query: QueryHandle | str, at: Any = None, *, to: Form = "arrow") -> Any:
        """The value of a pull query now, or at an instant.

        Args:
            query: its name, or what `register` gave.
            at: a datetime, ISO text, or a number for numeric event time; the latest event time seen without it.
            to: `arrow` (a pyarrow.Table), `pandas`, `polars` or `duckdb`.

        Example:
            >>> import cqc
            >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT)"))
            >>> engine.push("s", [{"ts": 1, "x": 10}, {"ts": 2, "x": 20}])
            >>> total = engine.register("SELECT SUM(x) AS total FROM s BEGIN 0 END NOW")
            >>> engine.invoke(total).to_pylist(), engine.invoke(total, at=1).to_pylist()
            ([{'total': 30}], [{'total': 10}])
        """
        if to == "arrow":
            return self._invoke(query, at)
        check_form(to)
        return frame_of(self._invoke(query, at), to)

    @changes
    def _invoke(self, query: QueryHandle | str, at: Any) -> pa.Table:
        name = self._queries.book.name_of(query)
        self.watch.begin(name)
        try:
            return self._pulls.invoke(name, at)
        except Unwanted as error:
            raise _given_up(name, error) from error
        finally:
            self.watch.end()

    @changes
    def ask(self, query: QueryHandle | str, at: Any = None) -> Invocation:
        """The same by column, with the instant it is for and what the asker should know."""
        name = self._queries.book.name_of(query)
        faults = self._turns.faults
        failed = faults.count
        self.watch.begin(name)
        try:
            asked = self._pulls.ask(name, at)
        except Unwanted as error:
            raise _given_up(name, error) from error
        finally:
            self.watch.end()
        if faults.count == failed:
            return asked
        return replace(asked, warnings=(*asked.warnings, *faults.sentences()))

    @changes
    def answer_at(self, query: QueryHandle | str, at_us: int | None = None) -> ResultBlock:
        """The same at an instant in microseconds, without warnings."""
        return self._pulls.answer(self._queries.book.name_of(query), at_us)

    @changes
    def take_due(self) -> list[Due]:
        """The queries with EVERY that are due, for whoever lets others answer: they count as answered."""
        return self._pulls.take_due()

    @changes
    def take_warnings(self) -> tuple[str, ...]:
        """What a user should know about answers since this was last asked."""
        return self._pulls.retention.take_warnings()

    # Going on elsewhere

    @reads
    def snapshot(self, since: Mapping[str, int] | None = None) -> Snapshot:
        """What another engine needs to go on from here, between two micro-batches.

        Args:
            since: by folded stream name, the positions before which tuples are known already (`Snapshot.ends`).
        """
        state = EngineState(
            self._relations.stream_states(settled=self.waits_for_time),
            self._queries.states(),
            dict(self._queries.book.gone),
            self._pulls.next_instants(),
            self._decided.save(),
            list(self._ends),
            self._absent.save(),
            self._alerts.save(),
        )
        return Snapshot(state, self._relations.tuples(since or {}))

    def waiting_rows(self) -> list[dict[str, Any]]:
        """What queries hold whose rows wait: the part of a snapshot that is no tuple."""
        return self._decided.save()

    @changes
    def restore(
        self, snapshot: Snapshot, compiled: Mapping[str, NormalQuery] | None = None
    ) -> None:
        """Go on where another engine was; this one has seen nothing but the rows of tables.

        Args:
            snapshot: with all tuples that are kept; its queries take the place of those that run here.
            compiled: queries that need not be compiled from their text, by name.

        Raises:
            CompileError: when a query does not fit the program.
        """
        state, left = snapshot.state, {name: each.packet for name, each in snapshot.tuples.items()}
        for name in list(self._queries.book.running):
            self._queries.remove(name, self._relations.watermarks())
        with noted_in(None):  # faults of functions were told when they happened
            ends = list(state.ends)
            for query in state.queries:
                while ends and sum(ends[0].values()) <= sum(query.since.values()):
                    self._path.replay_end(left, ends.pop(0))
                self._path.replay(left, query.since)
                self._queries.add(self._compiled(query, compiled or {}), query.text, query.since)
            for end in ends:
                self._path.replay_end(left, end)
            self._path.replay(left, None)
            self._ends = list(state.ends)
            self._relations.restore(state.lines)
            self._path.go_on()
        self._pulls.resume(state.next_instants)
        self._decided.load(state.decided)
        self._absent.load(state.key_times)
        self._alerts.load(state.alerts)
        self._queries.book.gone = dict(state.results_of_gone)
        for query in state.queries:
            self._queries.count_from(query.name, query.results)

    @changes
    def resume_instants(self, next_instants: dict[str, int]) -> None:
        """Go on with EVERY queries where another engine was."""
        self._pulls.resume(next_instants)

    def resume_watermarks(self, watermarks_us: Mapping[str, int]) -> None:
        """Let streams be as far as they were in another engine, where idle ones had been moved on by the others."""
        for name, us in watermarks_us.items():
            clock = self._relations.lines[name].clock
            clock.watermark_us = max(clock.watermark_us, us)

    # Inside

    def _compiled(self, query: QueryState, compiled: Mapping[str, NormalQuery]) -> NormalQuery:
        if query.name in compiled:
            return compiled[query.name]
        bound = self._program.bind_one(query.text, name=query.name, taken=self._queries.book.taken)
        return normalise(bound)


def _has_absence(program: Program, names: Iterable[str]) -> bool:
    """Whether some query needs the rows that joins find, and not only how many there are."""
    return any(program.graph.queries[fold(name)].patterns for name in names)


def _given_up(name: str, error: Unwanted) -> RunError:
    return RunError(f"the answer of {name} was given up: {error}")
