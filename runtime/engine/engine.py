"""The engine in this process: rows in, results out, queries come and go.

One call of `push` is one micro-batch of one stream, `push_batch` one of several. A micro-batch goes stream by stream, in
the order of declaration: rejected and late rows are counted and left out, the rest is one packet that is filtered, inserted
into the shared state and joined with the other streams' states. So every combination appears exactly once, with the tuple
that was processed last, whatever the interleaving.

    with cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s WHERE x > 1")) as engine:
        engine.push("s", [{"ts": 1, "x": 1}, {"ts": 2, "x": 2}])
        print([(result.query, result.ts, result.row) for result in engine.drain()])   # [('q1', 2, {'x': 2})]

Every public call may come from any thread; they take turns (`turns`). What is pushed is typed before the turn begins, so the
code of users' iterables does not run inside it, and results are made into rows after it.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from cqc.compiler import Program
from cqc.compiler.diagnostics.arguments import expect, expect_names, kind_of
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.strategy import Strategy
from cqc.compiler.pipeline import normalise
from cqc.runtime.adapt.packet_size import Packets
from cqc.runtime.adapt.work_watch import Unwanted
from cqc.runtime.columns.event_time import smallest_watermark
from cqc.runtime.deliver.deliver import Deliveries
from cqc.runtime.deliver.results import in_time_order, rows_of
from cqc.runtime.engine.circuit import Circuit
from cqc.runtime.engine.turns import Turns, changes, reads
from cqc.runtime.errors import RunError
from cqc.runtime.intake.stream_input import StreamInput
from cqc.runtime.join.execute.bounded_queues import TooMuchFound
from cqc.runtime.join.execute.join_node import push_packet
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.metrics.engine import DeliveryMetrics, EngineMetrics, PacketMetrics, StateMetrics
from cqc.runtime.pull.body_results import Maintenance
from cqc.runtime.pull.pull_queries import PullQueries
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.adapt.work_watch import WorkWatch
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.deliver.results import Result, ResultBlock, ResultGroup
    from cqc.runtime.expressions.function_faults import FunctionFaults
    from cqc.runtime.intake.stream_input import StreamCount
    from cqc.runtime.intake.typed_batch import Reject, TypedBatch
    from cqc.runtime.lineage.matches import Found
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.pull.pull_queries import Invocation

    LeftOutListeners = tuple[
        Callable[[Relation, list[Reject]], None] | None, Callable[[Relation, Packet], None] | None
    ]


_MOST_FOUND = 1 << 20  # rows of findings that wait to be delivered together
_PURGE_SHIFT = 3  # an eighth more than after the last purge is worth the next one
_identities = itertools.count(1)
_MOST_GONE = 10_000  # queries that have left and whose results are still told


@dataclass(frozen=True, slots=True)
class QueryHandle:
    """A registered query: what `register` gives and `invoke` and `unregister` take."""

    name: str
    number: int = 0  # of the registration, because a name may be used again; 0 stands for whatever has the name
    engine: int = 0  # which engine gave it; 0 stands for any


def _known_queries(program: Program, only: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in only if fold(name) not in program.graph.queries]
    if unknown:
        raise RunError(f"there is no query {unknown[0]} in the program")
    return only


class Engine:
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
        hint = ": cqc.compile makes one of a text" if isinstance(program, str) else ""
        expect(program, Program, "cqc.Engine", "a compiled program", hint)
        expect(strategy, Strategy | None, "cqc.Engine", "a strategy")
        for flag, given in (("sharing", sharing), ("keep_past", keep_past), ("collect", collect)):
            expect(given, bool, f"{flag} of cqc.Engine", "True or False")
        if not callable(clock):
            raise TypeError(f"clock of cqc.Engine takes what can be called, not {kind_of(clock)}")
        only = _known_queries(program, expect_names(only, "only of cqc.Engine", "names of queries"))
        self._turns = Turns()
        self._identity = next(_identities)
        self._program = program
        self._strategy = strategy or Strategy(sharing=sharing)
        self._keep_past = keep_past
        self._collect = collect
        self._clock = clock
        self._left_out: LeftOutListeners = (None, None)
        catalog = program.catalog
        self._states = {name: SharedState(relation) for name, relation in catalog.relations.items()}
        self._lines = {
            name: self._line_of(relation) for name, relation in catalog.relations.items()
        }
        self._packets = {name: Packets(self._strategy.packet) for name in catalog.relations}
        self._circuit = Circuit(self._states, self._strategy, counts_only=not collect)
        self._deliveries = Deliveries()
        maintenance = Maintenance(self._strategy.maintenance)
        self._pulls = self._make_pulls(
            self._states, self._lines, catalog.settings, maintenance=maintenance
        )
        self._pulls.watch = self._circuit.watch
        self._waiting: deque[tuple[list[ResultGroup], list[ResultBlock]]] = deque()
        self._counted_from: dict[str, int] = {}
        self._seconds_from: dict[str, float] = {}
        self._results_of_gone: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._registered = 0
        self._numbers: dict[str, int] = {}  # by query name: which registration it is
        self._started = False
        self._finished = False
        self._purged_to = 0  # how many tuples were left by the last purge
        self._silenced: dict[str, str] = {}
        wanted = {fold(name) for name in only}
        for name in program.queries.names:
            if not wanted or fold(name) in wanted:
                self._add(program.normal(name))

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
        expect(rows, Mapping, "engine.push_batch", "rows by the name of their stream")
        lines = {name: self._line(name) for name in rows}
        if len({id(line) for line in lines.values()}) < len(lines):
            raise RunError(f"the same stream is named twice in one batch: {', '.join(lines)}")
        self.push_typed({name: line.take(rows[name]) for name, line in lines.items()})

    def push_typed(self, taken: Mapping[str, TypedBatch]) -> None:
        """Give the engine one micro-batch of rows that a source typed already."""
        turns = self._turns
        turns.begin("push")
        try:
            turns.check_open("push")
            self._push_packets(
                {fold(name): self._line(name).accept(rows) for name, rows in taken.items()}
            )
            turns.faults.raise_reentered()
        finally:
            turns.end()

    def _push_packets(self, packets: Mapping[str, Packet]) -> None:
        self.watch.begin()
        try:
            self._work_on(packets)
        finally:
            self.watch.end()

    def _work_on(self, packets: Mapping[str, Packet]) -> None:
        groups: list[ResultGroup] = []
        found: list[Found] = []
        for name, line in self._lines.items():
            packet = packets.get(name)
            if packet is None or not len(packet):
                continue
            if not line.relation.is_stream:
                self._fill_table(name, packet)
                continue
            self._started = True
            for part, more in self._packets[name].split(packet):
                found += self._process(name, part, more=more)
                if found and sum(len(each) for each in found) > _MOST_FOUND:
                    groups += self._deliveries.deliver_all(found)
                    found = []
        found += self._late_findings()
        if found:
            groups += self._deliveries.deliver_all(found)
        blocks = self._pulls.due()
        self._purge()
        self._keep(groups, blocks)
        self._silenced |= self._circuit.silenced() | self._pulls.take_silenced()
        self._circuit.adapt()

    @changes
    def finish(self) -> None:
        """The input has ended: deliver what only the end decides (EVERY instants, ROWS windows)."""
        if self._finished:
            return
        self._finished = True
        for line in self._lines.values():
            line.end_input()
        groups = self._deliveries.deliver_all(self._late_findings())
        self._keep(groups, self._pulls.due())

    @changes
    def closing_invocations(self, at_us: int | None = None) -> None:
        """Invoke every pull query without EVERY once, for the end of a finite run."""
        self._keep([], self._pulls.closing(at_us))

    # Results out

    def drain(self) -> Iterator[Result]:
        """Results found so far and not drained yet, in result-time order within each micro-batch.

        Each result is given once, whichever thread drains; what is not asked for of a micro-batch waits for the next drain.
        """
        for blocks in self.drain_blocks():
            yield from rows_of(blocks, lambda rest: self._waiting.appendleft(([], rest)))

    def drain_blocks(self) -> Iterator[list[ResultBlock]]:
        """The same by column: one list of blocks a micro-batch, a block for each query."""
        for groups, blocks in self.drain_groups():
            yield [block for group in groups for block in group.blocks()] + blocks

    def drain_groups(self) -> Iterator[tuple[list[ResultGroup], list[ResultBlock]]]:
        """The same with the queries of one SELECT list together: push results in groups, and answers of pull queries."""
        with self._turns.take("drain"):
            most = len(self._waiting)  # what comes while this goes on is for the next drain
        for _ in range(most):
            try:
                batch = self._waiting.popleft()
            except IndexError:  # somebody else drains too
                return
            yield batch

    # Streams and queries come and go

    @changes
    def declare(self, relation: Relation, rows: Iterable[TypedBatch] = ()) -> None:
        """Add a stream, or a table with its rows, while the engine runs; queries over it are registered afterwards.

        Raises:
            RunError: when the name is taken.
        """
        name = fold(relation.name)
        if name in self._lines:
            raise RunError(f"there is a stream or table {relation.name} already")
        catalog = self._program.catalog
        wider = replace(catalog, relations={**catalog.relations, name: relation})
        self._program = Program(wider, self._program.graph, self._program.warnings)
        self._states[name] = SharedState(relation)
        self._lines[name] = self._line_of(relation)
        self._lines[name].on_reject, self._lines[name].on_late = self._left_out
        self._packets[name] = Packets(self._strategy.packet)
        self._circuit.declare(name)
        self._pulls.declare(name)
        for taken in rows:
            self._insert(name, self._lines[name].accept(taken))

    @changes
    def register(self, text: str, name: str | None = None) -> QueryHandle:
        """Add a query while the engine runs.

        A push query sees tuples that arrive from now on; a pull query also the retained past.

        Raises:
            CompileError: when the query has errors; nothing changes then.
            RunError: when the retained past has more combinations for it, or takes longer, than `bound` allows; nothing changes
                then.
        """
        query = self._program.bind_one(text, name=name, taken=self._names)
        self.watch.begin(query.name)
        try:
            self._add(normalise(query))
        finally:
            self.watch.end()
        return QueryHandle(query.name, self._numbers[query.name], self._identity)

    @changes
    def unregister(self, query: QueryHandle | str) -> None:
        """Remove a query and what only it used; its results that wait stay drainable."""
        name = self._name(query)
        self.watch.forget(name)
        before = self._results_of_gone.pop(name, 0)
        self._results_of_gone[name] = before + self._results(name)
        if len(self._results_of_gone) > _MOST_GONE:
            del self._results_of_gone[next(iter(self._results_of_gone))]
        node = self._circuit.query(name)
        if node.pull is None:
            self._deliveries.remove(node, self._circuit.seat(name))
        else:
            self._pulls.remove(node)
        self._circuit.remove(name)
        self._purged_to = 0
        del self._names[fold(name)], self._counted_from[name], self._numbers[name]
        del self._seconds_from[name]

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

    @property
    def watch(self) -> WorkWatch:
        """Where other threads stop what is being done, and see how long it takes."""
        return self._circuit.watch

    @changes
    def take_silenced(self) -> dict[str, str]:
        """The queries that went too far since this was last asked, and why. Their answers are not complete: unregister them."""
        silenced, self._silenced = self._silenced, {}
        return silenced

    @changes
    def reserve(self, name: str) -> None:
        """Let no query take a name that none has at present."""
        self._names[fold(name)] = name

    @changes
    def release(self, name: str) -> None:
        """Give a reserved name free."""
        del self._names[fold(name)]

    @reads
    def seconds_of(self, query: QueryHandle | str) -> float:
        """Work for a query that was measured since it came: joins, where `bound` limits them, and answers by EVERY."""
        return self._seconds_of(self._name(query))

    @property
    @reads
    def credited_seconds(self) -> float:
        """All work that `seconds_of` tells apart, of queries that have left as well."""
        return self.watch.total + self._pulls.every_seconds

    @reads
    def crowded(self, most: int) -> list[str]:
        """The pull queries over joins for which more than so many combinations are kept."""
        return self._pulls.crowded(most)

    @changes
    def invoke(self, query: QueryHandle | str, at: Any = None) -> pa.Table:
        """The value of a pull query now, or at an instant (datetime, ISO text, or a number for numeric event time)."""
        name = self._name(query)
        self.watch.begin(name)
        try:
            return self._pulls.invoke(name, at)
        except Unwanted as error:
            raise RunError(f"the answer of {name} was given up: {error}") from error
        finally:
            self.watch.end()

    @changes
    def ask(self, query: QueryHandle | str, at: Any = None) -> Invocation:
        """The same by column, with the instant it is for and what the asker should know."""
        name = self._name(query)
        faults = self._turns.faults
        failed = faults.count
        self.watch.begin(name)
        try:
            asked = self._pulls.ask(name, at)
        except Unwanted as error:
            raise RunError(f"the answer of {name} was given up: {error}") from error
        finally:
            self.watch.end()
        if faults.count == failed:
            return asked
        return replace(asked, warnings=(*asked.warnings, *faults.sentences()))

    @reads
    def node(self, query: QueryHandle | str) -> QueryNode:
        """How a query stands in the shared graph: its outputs, its body, its BEGIN-END clause."""
        return self._circuit.query(self._name(query))

    @property
    @reads
    def queries(self) -> tuple[str, ...]:
        """Names of the queries that run."""
        return tuple(self._counted_from)

    # What a checkpoint holds beside the base tuples

    @property
    def lines(self) -> Mapping[str, StreamInput]:
        """How far each stream and table has come, by folded name."""
        return self._lines

    @property
    def states(self) -> Mapping[str, SharedState]:
        """The base tuples that are kept, by folded name."""
        return self._states

    @property
    def packets(self) -> Mapping[str, Packets]:
        """How the micro-batches of each stream were cut, by folded name."""
        return self._packets

    @reads
    def next_instants(self) -> dict[str, int]:
        """The next instant of each query with EVERY."""
        return self._pulls.next_instants()

    @changes
    def resume_instants(self, next_instants: dict[str, int]) -> None:
        """Go on with EVERY queries where a checkpoint was made."""
        self._pulls.resume(next_instants)

    # Counters

    @reads
    def stream_counts(self) -> dict[str, StreamCount]:
        """Rows read, late and rejected by stream and table."""
        return self._stream_counts()

    @reads
    def result_counts(self) -> dict[str, int]:
        """Results by query name, those of the last thousands of queries that have left included."""
        before = self._results_of_gone
        running = {name: before.get(name, 0) + self._results(name) for name in self._counted_from}
        return {**before, **running}

    @property
    def tuples_read(self) -> int:
        """Rows of all streams and tables so far; it can be asked in the middle of any other call, and never waits."""
        return sum(line.count.read for line in list(self._lines.values()))

    @changes
    def on_left_out(
        self,
        rejects: Callable[[Relation, list[Reject]], None] | None,
        late: Callable[[Relation, Packet], None] | None,
    ) -> None:
        """Tell somebody of rows that are rejected or late."""
        self._left_out = rejects, late
        for line in self._lines.values():
            line.on_reject, line.on_late = rejects, late

    @reads
    def relations_used(self) -> set[str]:
        """Folded names of the streams and tables that the queries speak of."""
        return self._circuit.relations_used()

    @property
    @reads
    def warnings(self) -> tuple[str, ...]:
        """What a user should know about answers so far, and which functions failed."""
        return (*self._pulls.warnings, *self._turns.faults.sentences())

    @reads
    def state_sizes(self) -> dict[str, StateMetrics]:
        """By stream and table, what is kept of it."""
        return {each.name: each for each in self._state_metrics()}

    @reads
    def kept_bytes(self) -> dict[str, int]:
        """By query, what is kept for it beside the tuples of its streams; queries that share it have a part each."""
        joins = self._circuit.kept_bytes()
        names = self._counted_from
        return {name: joins.get(name, 0) + self._pulls.kept_bytes(name) for name in names}

    @reads
    def history_bytes(self, name: str | None = None) -> int:
        """What the results take that are kept for all queries with BEGIN-END, or for one of them."""
        return self._pulls.history_bytes if name is None else self._pulls.kept_bytes(name)

    @reads
    def query_metrics(self) -> dict[str, DeliveryMetrics]:
        """By query, what it got and what it took."""
        joins = self._circuit.kept_bytes()
        return {
            name: DeliveryMetrics(
                name,
                self._results(name),
                self._seconds_of(name),
                joins.get(name, 0) + self._pulls.kept_bytes(name),
            )
            for name in self._counted_from
        }

    @reads
    def measure(self) -> list[OperatorMetrics]:
        """Counters of every operator."""
        return [*self._circuit.measure(), *self._pulls.measure()]

    @reads
    def metrics(self) -> EngineMetrics:
        """Everything that is counted, at one moment."""
        return EngineMetrics(
            self._stream_counts(),
            self._state_metrics(),
            tuple(
                PacketMetrics(
                    relation,
                    packets.packets,
                    packets.tuples,
                    packets.threshold,
                    packets.decision(relation),
                )
                for name, packets in self._packets.items()
                if (relation := self._lines[name].relation.name)
            ),
            (*self._circuit.measure(), *self._pulls.measure()),
            self._failures(),
        )

    @property
    @reads
    def failed_evaluations(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return self._failures()

    @property
    def faults(self) -> FunctionFaults:
        """Which functions of users failed, how often and why. For whoever owns the engine: it is not a copy."""
        return self._turns.faults

    # Inside

    def _stream_counts(self) -> dict[str, StreamCount]:
        return {
            line.relation.name: replace(line.count, reasons=Counter(line.count.reasons))
            for line in self._lines.values()
        }

    def _state_metrics(self) -> tuple[StateMetrics, ...]:
        return tuple(
            StateMetrics(self._lines[name].relation.name, len(state), state.bytes, state.head)
            for name, state in self._states.items()
        )

    def _seconds_of(self, name: str) -> float:
        joined = self._circuit.seconds(name) - self._seconds_from[name]
        return max(joined, 0.0) + self._pulls.seconds_of(name)

    def _failures(self) -> int:
        return self._deliveries.plans.failures + self._circuit.failures + self._pulls.failures

    def _add(self, query: NormalQuery) -> None:
        self.watch.forget(query.name)
        node, seat = self._circuit.add(query)
        self._names[fold(node.name)] = node.name
        self._registered += 1
        self._numbers[node.name] = self._registered
        self._seconds_from[node.name] = self._circuit.seconds(node.name)
        if node.pull is None:
            self._deliveries.add(node, seat)
            self._counted_from[node.name] = seat.results
        else:
            self._counted_from[node.name] = 0
            try:
                self._pulls.add(node, seat, self._circuit)
            except (TooMuchFound, Flood) as error:
                self._circuit.remove(node.name)
                del self._names[fold(node.name)], self._counted_from[node.name]
                del self._numbers[node.name], self._seconds_from[node.name]
                self.watch.forget(node.name)
                why = f"would make more than {self._pulls.most_past:,} combinations of the retained past"
                if isinstance(error, Flood):
                    why = f"was given up while it was joined with the retained past: {error.why}"
                raise RunError(f"query {node.name} {why}") from error

    def _process(self, name: str, packet: Packet, *, more: bool = False) -> list[Found]:
        state = self._states[name]
        joins = self._circuit.joins_of(name)
        keep_all = self._keep_past or self._pulls.needs(name)
        first = state.head
        found: list[Found] = []
        if joins or keep_all:
            found += push_packet(state, joins, packet, keep_all=keep_all, more=more)
        for each in self._circuit.selections_of(name):
            found.append(each.process(packet, first))
        return self._note(found) if found else found

    def _late_findings(self) -> list[Found]:
        """What operators that wait for the watermark find now."""
        if not self._circuit.row_joins:
            return []
        watermarks = self._watermarks()
        return self._note(
            [found for join in self._circuit.row_joins for found in join.advance(watermarks)]
        )

    def _keep(self, groups: list[ResultGroup], blocks: list[ResultBlock]) -> None:
        """What one micro-batch found waits to be drained."""
        if self._collect and (groups or blocks):
            self._waiting.append((groups, in_time_order(blocks)))

    def _note(self, found: list[Found]) -> list[Found]:
        """Let pull queries keep what was found; what is left to deliver. It can be read until the states are purged."""
        found = [each for each in found if len(each)]
        for each in found:
            self._pulls.receive(each)
        return found if self._collect and not self._deliveries.is_empty else []

    def _purge(self) -> None:
        """Forget tuples that no future tuple can meet, nor any pull query ask for.

        Not after every micro-batch: one that adds little to what is kept leaves it to a later one. Where queries ask for the
        past, what is kept shows in their answers, and is what they say.
        """
        if not self._keep_past and not any(map(self._pulls.needs, self._states)):
            kept = sum(len(state) for state in self._states.values())
            if kept < self._purged_to + (self._purged_to >> _PURGE_SHIFT):
                return
        self._purge_now()
        self._purged_to = sum(len(state) for state in self._states.values())

    def _purge_now(self) -> None:
        watermarks = self._watermarks()
        for name, state in self._states.items():
            if not self._lines[name].relation.is_stream or not len(state):
                continue
            limits = [
                join.purge_before(name, watermarks)
                for join in self._circuit.limiting_joins_of(name)
            ]
            if self._keep_past or self._pulls.needs(name):
                limits.append(self._pulls.purge_before(name))
            known = [limit for limit in limits if limit is not None]
            if known and len(known) == len(limits):
                state.purge(min(known))

    def _watermarks(self) -> dict[str, int]:
        """By folded stream name; a stream past its idle timeout does not hold the others back."""
        if self._program.catalog.settings.idle_us is None:
            return {name: line.clock.watermark_us for name, line in self._stream_lines()}
        awake = smallest_watermark(line.clock for _, line in self._stream_lines())
        return {
            name: max(line.watermark_us, awake) if line.clock.is_idle() else line.watermark_us
            for name, line in self._stream_lines()
        }

    def _line_of(self, relation: Relation) -> StreamInput:
        settings = self._program.catalog.settings
        return StreamInput(relation, settings.idle_us, self._clock, settings.max_ahead_us)

    def _stream_lines(self) -> list[tuple[str, StreamInput]]:
        return [(name, line) for name, line in self._lines.items() if line.relation.is_stream]

    def _fill_table(self, name: str, packet: Packet) -> None:
        if self._started:
            raise RunError(
                f"table {self._lines[name].relation.name} cannot be filled after the first stream tuple"
            )
        self._insert(name, packet)

    def _insert(self, name: str, packet: Packet) -> None:
        push_packet(self._states[name], self._circuit.joins_of(name), packet, keep_all=True)

    def _line(self, name: str) -> StreamInput:
        expect(name, str, "engine.push", "the name of a stream or table")
        line = self._lines.get(fold(name))
        if line is None:
            known = ", ".join(line.relation.name for line in list(self._lines.values()))
            raise RunError(f"there is no stream or table {name} (there are: {known})")
        return line

    def _name(self, query: QueryHandle | str) -> str:
        """The name under which a query runs; a known name is found before anything is checked."""
        if type(query) is str:
            known = self._names.get(fold(query))
            if known in self._counted_from:
                return known
        what = "a query's name, or what engine.register gave"
        expect(query, str | QueryHandle, "the engine", what)
        if isinstance(query, QueryHandle) and query.engine not in (0, self._identity):
            raise RunError(f"query {query.name} was registered with another engine")
        asked = query.name if isinstance(query, QueryHandle) else query
        name = self._names.get(fold(asked))
        if name is None or name not in self._counted_from:
            raise RunError(f"there is no query {asked}")
        if isinstance(query, QueryHandle) and query.number not in (0, self._numbers[name]):
            raise RunError(f"query {asked} was unregistered; another one has its name now")
        return name

    def _results(self, name: str) -> int:
        node = self._circuit.query(name)
        if node.pull is not None:
            return self._pulls.results_of(name)
        return self._circuit.seat(name).results - self._counted_from[name]
