"""Pull queries: they have a value at every instant, and are asked for it (PSoup).

What a body finds is kept as it happens (`BodyResults`), whoever asks brings the window: an instant, and the query's BEGIN-END
clause around it. Everything that asks goes through the same door, with one or many windows at a time: `invoke` and the
closing invocation of a run with one, EVERY with all instants that are due.

    BEGIN AFTER NOW - 60 END NOW asked at 100 and 130: windows 41..100 and 71..130, in microseconds both ends inside
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt.work_watch import REMOVED, WorkWatch, too_long
from cqc.runtime.columns.event_time import NOTHING_SEEN
from cqc.runtime.deliver.results import NO_TIME, ResultBlock
from cqc.runtime.errors import RunError
from cqc.runtime.join.execute.bounded_queues import TooMuchFound
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.metrics.operators import HistoryMetrics
from cqc.runtime.pull.body_results import BodyResults, Maintenance
from cqc.runtime.pull.every_schedule import Period, Schedule
from cqc.runtime.pull.history.match_log import MatchLog
from cqc.runtime.pull.history.stream_order import StreamOrder
from cqc.runtime.pull.instant_leaps import check_leap
from cqc.runtime.pull.pull_clause import PullClause, clause_key
from cqc.runtime.pull.pull_window import Edge, first_edge, instant_us, last_edge, near, show_instant

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.catalog import Settings
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.pull.pull_plan import Answer
    from cqc.runtime.state.shared_state import SharedState

_INSTANTS_AT_ONCE = 1 << 16
_MOST_WARNINGS = 1_000
_ROUNDS_BETWEEN_LOOKS = 64


@dataclass(slots=True, eq=False)
class PullQuery:
    """One pull query that runs."""

    name: str
    first: Edge
    last: Edge
    every_us: int | None
    clause: PullClause
    lines: dict[str, StreamInput]  # of its streams, by folded name
    time_type: ColumnType
    kept_from_us: int | None = None  # of a periodic query that came late: nothing older was left
    results: int = 0
    seconds: float = 0.0  # spent on its answers by EVERY
    warned: bool = False

    @property
    def latest_us(self) -> int | None:
        """The latest event time seen on its streams."""
        seen = [line.latest_us for line in self.lines.values() if line.latest_us is not None]
        return max(seen, default=None)

    @property
    def first_us(self) -> int | None:
        seen = [line.first_us for line in self.lines.values() if line.first_us is not None]
        return min(seen, default=None)


Asked = tuple[PullQuery, "NDArray[np.int64]"]  # a periodic query, and instants


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation: its rows, the instant they are for (None: nothing was seen yet), and warnings about them."""

    block: ResultBlock
    at_us: int | None
    warnings: tuple[str, ...]


class _Log:
    """What one operator found for kept bodies, and who they are."""

    def __init__(self) -> None:
        self.found = MatchLog()
        self.bodies: dict[int, list[BodyResults]] = {}  # by key
        self._keys: NDArray[np.int64] | None = None

    def add(self, kept: BodyResults) -> None:
        self.bodies.setdefault(kept.seat.key, []).append(kept)
        self._keys = None

    def remove(self, kept: BodyResults) -> None:
        bodies = self.bodies[kept.seat.key]
        bodies.remove(kept)
        if not bodies:
            del self.bodies[kept.seat.key]
        self._keys = None

    def receive(self, found: Found) -> None:
        """Note what was found in a packet; when much has come together every body takes its own."""
        if self._keys is None:
            self._keys = np.array(sorted(self.bodies), np.int64)
        self.found.add(found.matches(self._keys), found.positions)
        if self.found.is_full(len(self.bodies)):
            self.found.hand_over(self.bodies)


class PullQueries:
    """All queries with BEGIN-END.

    Args:
        states: the shared state of every stream and table, by folded name.
        lines: how far each stream has come, by folded name.
        settings: what the program SET.
        default_retention_us: how much history is kept when the program does not say; None for everything.
        maintenance: when results are worked out; changes cost and never an answer.
    """

    def __init__(
        self,
        states: Mapping[str, SharedState],
        lines: Mapping[str, StreamInput],
        settings: Settings,
        *,
        default_retention_us: int | None = None,
        maintenance: Maintenance = Maintenance.AUTO,
    ) -> None:
        self._states = states
        self._orders = {name: StreamOrder(state) for name, state in states.items()}
        self._lines = lines
        chosen = settings.retention_us
        self.retention_us = default_retention_us if chosen is None else chosen
        self._maintenance = maintenance
        self._queries: dict[str, PullQuery] = {}
        self._kept: dict[Seat, BodyResults] = {}
        self._kept_joins: set[BodyResults] = (
            set()
        )  # those of them that can hold more rows than their streams
        self._logs: dict[Hashable, _Log] = {}  # by the source of the seats
        self._clauses: dict[Hashable, PullClause] = {}
        self._kept_from: dict[str, int] = {}  # by folded stream name: older tuples may be gone
        self._users_of: dict[str, int] = dict.fromkeys(states, 0)
        self._schedule = Schedule()
        self.most_past: int | None = (
            None  # combinations of the retained past that a new query may make
        )
        self.most_instants: int | None = None  # one after the other without a row
        self.watch = WorkWatch()
        self._answering: tuple[float, Sequence[Asked]] | None = None  # since when, and for whom
        self._silenced: dict[str, str] = {}
        self.every_seconds = 0.0  # spent on answers by EVERY
        self._failures_of_gone = 0
        self._rounds = 0
        self.warnings: list[str] = []

    def declare(self, name: str) -> None:
        """Be ready for queries over one more stream or table, whose state is there by now."""
        self._orders[name] = StreamOrder(self._states[name])
        self._users_of[name] = 0

    # Queries come and go

    def add(self, node: QueryNode, seat: Seat, circuit: Circuit) -> None:
        """Answer a query from now on, over the retained past and what will come.

        Raises:
            TooMuchFound: when the past has too many combinations for it; nothing changes then.
        """
        assert node.pull is not None
        clause = self._clause(node, seat, circuit)
        clause.users += 1
        names = dict.fromkeys(fold(relation.name) for relation in node.body.relations)
        lines = {name: self._lines[name] for name in names if self._lines[name].relation.is_stream}
        for name in names:
            self._users_of[name] += 1
        time_type = next(iter(lines.values())).relation.time_type
        first, last = first_edge(node.pull.begin), last_edge(node.pull.end)
        query = PullQuery(node.name, first, last, node.pull.every_us, clause, lines, time_type)
        self._queries[node.name] = query
        if node.pull.every_us is not None:
            query.kept_from_us = self._kept_from_us(query)
            period = Period(node.pull.every_us, last, query.kept_from_us)
            self._schedule.add(node.name, period, lines)

    def _clause(self, node: QueryNode, seat: Seat, circuit: Circuit) -> PullClause:
        """The clause of a query, and what is kept for it, made when it is the first of its kind."""
        key = clause_key(node, seat)
        clause = self._clauses.get(key)
        if clause is None:
            kept = self._kept.get(seat)
            if kept is None:
                kept = self._kept[seat] = self._keep(node, seat, circuit)
            kept.users += 1
            clause = self._clauses[key] = PullClause(key, node, kept, self._look)
        return clause

    def _keep(self, node: QueryNode, seat: Seat, circuit: Circuit) -> BodyResults:
        """Begin to keep what a body finds, with what it finds in the tuples that are there."""
        names = [fold(relation.name) for relation in node.body.relations]
        states = [self._states[name] for name in names]
        orders = [self._orders[name] for name in names]
        log = self._logs.setdefault(seat.source, _Log())
        kept = BodyResults(
            seat, circuit, states, orders, self._kept_from, log.found, self._maintenance
        )
        log.add(kept)
        if node.body.host is not None:
            self._kept_joins.add(kept)
        if any(len(state) for state in states if state.relation.is_stream):
            try:
                kept.load_past(circuit.past(node, self.most_past))
            except (TooMuchFound, Flood):
                self._forget_kept(kept)
                raise
        if self._maintenance is Maintenance.LAZY:
            kept.turn_lazy_if_unused()
        return kept

    def remove(self, node: QueryNode) -> None:
        """Forget a query and what only it used."""
        query = self._queries.pop(node.name)
        for name in dict.fromkeys(fold(relation.name) for relation in node.body.relations):
            self._users_of[name] -= 1
        if query.every_us is not None:
            self._schedule.remove(node.name)
        clause, kept = query.clause, query.clause.kept
        clause.users -= 1
        if not clause.users:
            self._failures_of_gone += clause.failures
            clause.close()
            del self._clauses[clause.key]
            kept.users -= 1
            if not kept.users:
                self._failures_of_gone += kept.failures
                del self._kept[kept.seat]
                self._forget_kept(kept)

    def _forget_kept(self, kept: BodyResults) -> None:
        """Let nothing more be noted for a body."""
        self._kept_joins.discard(kept)
        log = self._logs[kept.seat.source]
        log.remove(kept)
        if not log.bodies:
            del self._logs[kept.seat.source]

    # Data comes and goes

    def receive(self, found: Found) -> None:
        """Keep what an operator found for the bodies of pull queries."""
        log = self._logs.get(found.source)
        if log is not None:
            log.receive(found)

    def needs(self, stream: str) -> bool:
        """Whether all tuples of a stream or table (folded name) must be kept."""
        return self._users_of[stream] > 0

    def purge_before(self, stream: str) -> int | None:
        """Tuples of the stream older than this are beyond the retention; None when everything is kept."""
        latest_us = self._lines[stream].latest_us
        if self.retention_us is None or latest_us is None:
            return None
        due_us = self._schedule.oldest_due_us(stream)
        if due_us is None:
            before_us = latest_us - self.retention_us
        elif due_us == NOTHING_SEEN:
            return None
        else:
            before_us = min(latest_us, due_us) - self.retention_us
        self._kept_from[stream] = before_us
        self._orders[stream].purge(before_us)
        return before_us

    # Answers

    def due(self) -> list[ResultBlock]:
        """What periodic queries deliver now; queries of one clause are answered together.

        Raises:
            RunError: when more than `most_instants` of one would have no row among them.
        """
        blocks: list[ResultBlock] = []
        asked: dict[PullClause, list[Asked]] = {}
        waiting = 0
        for due in self._schedule.due():
            query = self._queries[due.name]
            if self.most_instants is not None:
                states = [self._states[name] for name in query.lines]
                check_leap(due, states, query.time_type, self.most_instants)
            for instants in _instants(due):
                asked.setdefault(query.clause, []).append((query, instants))
                waiting += len(instants)
                if waiting >= _INSTANTS_AT_ONCE:
                    blocks += self._all_blocks(asked)
                    asked, waiting = {}, 0
        self._look_for_unused()
        return blocks + self._all_blocks(asked)

    def invoke(self, name: str, at: Any = None) -> pa.Table:
        """The value of a query at an instant, by default the latest event time seen on its streams.

        Raises:
            RunError: for something that is no instant, or a query without BEGIN-END.
        """
        query = self._query(name)
        at_us = query.latest_us if at is None else instant_us(at, query.time_type)
        begin_us, end_us = self._window(query, at_us)
        table = query.clause.table(begin_us, end_us)
        query.results += table.num_rows
        query.clause.kept.rows_answered += table.num_rows
        return table

    def answer(self, name: str, at_us: int | None = None) -> ResultBlock:
        """The same by column, each row tagged with the instant."""
        query = self._query(name)
        instant = query.latest_us if at_us is None else near(at_us)
        started, kept = perf_counter(), query.clause.kept
        answer = query.clause.answer_one(*self._window(query, instant))
        kept.seconds += perf_counter() - started
        kept.rows_answered += len(answer.window)
        query.results += len(answer.window)
        times = np.full(len(answer.window), NO_TIME if instant is None else instant, np.int64)
        return _block(query, answer, None, times)

    def ask(self, name: str, at: Any = None) -> Invocation:
        """The answer at an instant as `invoke` takes it; its warnings go to whoever asked, each time.

        Raises:
            RunError: for something that is no instant.
        """
        query = self._query(name)
        at_us = query.latest_us if at is None else instant_us(at, query.time_type)
        known = len(self.warnings)
        query.warned = False
        block = self.answer(name, at_us)
        told = tuple(self.warnings[known:])
        del self.warnings[known:]
        return Invocation(block, at_us, told)

    def closing(self, at_us: int | None = None) -> list[ResultBlock]:
        """One invocation of every query without EVERY, for the end of a finite run."""
        return [
            self.answer(name, at_us)
            for name, query in self._queries.items()
            if query.every_us is None
        ]

    # Checkpoints

    def next_instants(self) -> dict[str, int]:
        """The next instant of each periodic query: all that must be remembered beside the base tuples."""
        return self._schedule.next_instants()

    def resume(self, next_instants: dict[str, int]) -> None:
        """Go on with periodic queries where a checkpoint was made: what they still need was kept for them."""
        self._schedule.resume(next_instants)
        for name in next_instants.keys() & self._queries.keys():
            self._queries[name].kept_from_us = None

    # Counters

    def crowded(self, most: int) -> list[str]:
        """The queries over joins for which more than so many rows are kept."""
        full = [kept for kept in self._kept_joins if len(kept.history or ()) > most]
        if not full:
            return []
        return [query.name for query in self._queries.values() if query.clause.kept in full]

    def results_of(self, name: str) -> int:
        """Result rows of a query so far."""
        return self._queries[name].results

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL, those of queries that have left included."""
        plans = sum(clause.failures for clause in self._clauses.values())
        return self._failures_of_gone + plans + sum(kept.failures for kept in self._kept.values())

    def measure(self) -> list[HistoryMetrics]:
        """What is kept, over each set of streams and tables."""
        among: dict[str, list[BodyResults]] = {}
        for kept in self._kept.values():
            kept.take()
            among.setdefault(", ".join(each.name for each in kept.body.relations), []).append(kept)
        return [_history_metrics(f"history({names})", bodies) for names, bodies in among.items()]

    # Inside

    def _query(self, name: str) -> PullQuery:
        query = self._queries.get(name)
        if query is None:
            raise RunError(
                f"query {name} delivers its results as they happen; only queries with BEGIN-END can be asked"
            )
        return query

    def _window(self, query: PullQuery, at_us: int | None) -> tuple[int, int]:
        """The window at an instant, as far as history is kept; None is before anything was seen."""
        if at_us is None:
            return 0, -1
        begin_us, end_us = query.first.at(at_us), query.last.at(at_us)
        if self.retention_us is not None:
            kept_from_us = self._kept_from_us(query)
            if kept_from_us is not None and begin_us < kept_from_us:
                self._warn(query, begin_us, kept_from_us)
                begin_us = kept_from_us
        query.clause.kept.measure_use(begin_us, end_us)
        return begin_us, end_us

    def _all_blocks(self, asked: Mapping[PullClause, Sequence[Asked]]) -> list[ResultBlock]:
        blocks: list[ResultBlock] = []
        for clause, many in asked.items():
            started, kept, worked = perf_counter(), clause.kept, self.watch.processor()
            found = self._blocks_within(clause, many)
            kept.seconds += perf_counter() - started
            self._credit(many, self.watch.processor() - worked)
            kept.rows_answered += sum(map(len, found))
            for block in found:
                self._queries[block.query].results += len(block)
            blocks += found
        return blocks

    def _blocks_within(self, clause: PullClause, asked: Sequence[Asked]) -> list[ResultBlock]:
        """The answers of periodic queries of one clause, without those that take too long: the others are answered again."""
        asked = [each for each in asked if each[0].name not in self._silenced]
        while asked:
            self._answering = self.watch.processor(), asked
            try:
                return list(self._blocks(clause, asked))
            except Flood as flood:
                dropped = [each for each in asked if each[0].name in self.watch.dropped]
                slowest = dropped or [max(asked, key=self._rows_asked)]
                self._silenced |= dict.fromkeys((query.name for query, _ in slowest), flood.why)
                asked = [each for each in asked if each[0].name not in self._silenced]
            finally:
                self._answering = None
        return []

    def _credit(self, asked: Sequence[Asked], seconds: float) -> None:
        """Queries of one clause are answered together: each has its part by its number of instants."""
        self.every_seconds += seconds
        each = seconds / sum(len(instants) for _, instants in asked)
        for query, instants in asked:
            query.seconds += each * len(instants)

    @property
    def history_bytes(self) -> int:
        """What is kept of the results of all bodies, and what was found that they have not taken yet."""
        found = sum(log.found.nbytes for log in self._logs.values())
        return found + sum(kept.nbytes for kept in self._kept.values())

    def kept_bytes(self, name: str) -> int:
        """What is kept of the results of a query's body; queries that share it have a part each."""
        query = self._queries.get(name)
        if query is None:
            return 0
        kept = query.clause.kept
        return kept.nbytes // max(kept.users * query.clause.users, 1)

    def seconds_of(self, name: str) -> float:
        """What the answers of a query by EVERY took."""
        query = self._queries.get(name)
        return 0.0 if query is None else query.seconds

    def _rows_asked(self, asked: Asked) -> int:
        query, instants = asked
        begins, ends = query.first.at(instants), query.last.at(instants)
        return int(query.clause.kept.row_counts(begins, ends).sum())

    def _look(self) -> None:
        """Between two steps of an answer.

        Raises:
            Flood: when periodic queries take too long, or one is not wanted any more.
            Unwanted: when that is so for the query that is being asked.
            Halted: when everything has to stop.
        """
        watch = self.watch
        if self._answering is None:
            if watch.query:
                watch.check()
            return
        started, asked = self._answering
        watch.check_halted()
        if watch.dropped and any(query.name in watch.dropped for query, _ in asked):
            raise Flood([], REMOVED)
        if watch.most_seconds is not None and watch.processor() - started > watch.most_seconds:
            raise Flood([], too_long(watch.most_seconds))
        if watch.is_time_to_tell():
            watch.busiest = asked[0][0].name

    def take_silenced(self) -> dict[str, str]:
        """The periodic queries that took too long since this was last asked, and why."""
        silenced, self._silenced = self._silenced, {}
        return silenced

    def _blocks(self, clause: PullClause, asked: Sequence[Asked]) -> Iterator[ResultBlock]:
        """The answers of periodic queries of one clause."""
        begins = np.concatenate([self._begins(query, instants) for query, instants in asked])
        ends = np.concatenate([query.last.at(instants) for query, instants in asked])
        instants = np.concatenate([instants for _, instants in asked])
        stops = np.cumsum([len(instants) for _, instants in asked])
        clause.kept.measure_use(int(begins.min()), int(ends.max()))
        for first, answer in clause.answer_many(begins, ends):
            window = answer.window + first
            edges = np.searchsorted(window, np.concatenate(([0], stops)))
            for at in np.flatnonzero(edges[1:] > edges[:-1]).tolist():
                query, rows = asked[at][0], np.arange(edges[at], edges[at + 1])
                yield _block(query, answer, rows, instants[window[rows]])

    def _begins(self, query: PullQuery, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        begins = query.first.at(instants)
        if self.retention_us is None:
            return begins
        kept_from = instants - self.retention_us
        if query.kept_from_us is not None:
            kept_from = np.maximum(kept_from, query.kept_from_us)
        return self._within_retention(query, begins, kept_from)

    def _within_retention(
        self, query: PullQuery, begins: NDArray[np.int64], kept_from: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Periodic queries look back as far as the retention from each instant, however late they are asked."""
        short = np.flatnonzero((begins < kept_from) & (kept_from > (query.first_us or 0)))
        if len(short):
            self._warn(query, int(begins[short[0]]), int(kept_from[short[0]]))
        return np.maximum(begins, kept_from)

    def _warn(self, query: PullQuery, begin_us: int, kept_from_us: int) -> None:
        if query.warned:
            return
        query.warned = True
        asked, kept = (show_instant(us, query.time_type) for us in (begin_us, kept_from_us))
        if len(self.warnings) >= _MOST_WARNINGS:
            del self.warnings[0]  # of queries that come and go
        self.warnings.append(
            f"query {query.name} asks from {asked}, but history is kept from {kept} on:"
            " it is answered from what is kept"
        )

    def _look_for_unused(self) -> None:
        self._rounds += 1
        if self._rounds % _ROUNDS_BETWEEN_LOOKS == 0:
            for kept in self._kept.values():
                kept.forget_old()
                kept.turn_lazy_if_unused()

    def _kept_from_us(self, query: PullQuery) -> int | None:
        """What is older than this is gone, when anything is."""
        if self.retention_us is None:
            return None
        latest_us, first_us = query.latest_us, query.first_us
        if latest_us is None or first_us is None:
            return None
        kept_from_us = latest_us - self.retention_us
        return kept_from_us if first_us < kept_from_us else None


def _history_metrics(name: str, bodies: Sequence[BodyResults]) -> HistoryMetrics:
    """How the results of bodies are maintained."""
    histories = [kept.history for kept in bodies if kept.history is not None]
    decisions = [each for kept in bodies if (each := kept.decision(name)) is not None]
    return HistoryMetrics(
        name=name,
        tuples_in=sum(kept.rows_noted for kept in bodies),
        tuples_out=sum(kept.rows_answered for kept in bodies),
        seconds=sum(kept.seconds for kept in bodies),
        bytes=sum(kept.nbytes for kept in bodies),
        decisions=tuple(decisions),
        bodies=len(bodies),
        eager=len(histories),
        lazy=len(bodies) - len(histories),
        changes=sum(kept.changes for kept in bodies),
        rows=sum(map(len, histories)),
        trees=sum(kept.tree_count for kept in bodies),
    )


def _instants(due: Due) -> Iterator[NDArray[np.int64]]:
    """The instants of a query that are due, as many at a time as memory allows."""
    count = (due.last_us - due.first_us) // due.every_us + 1
    for start in range(0, count, _INSTANTS_AT_ONCE):
        many = np.arange(start, min(start + _INSTANTS_AT_ONCE, count), dtype=np.int64)
        yield due.first_us + many * due.every_us


def _block(
    query: PullQuery, answer: Answer, rows: NDArray[np.int64] | None, times_us: NDArray[np.int64]
) -> ResultBlock:
    return ResultBlock(
        query=query.name,
        names=query.clause.plan.names,
        columns=answer.columns,
        picks=rows,
        times_us=times_us,
        time_type=query.time_type,
        is_at=True,
    )
