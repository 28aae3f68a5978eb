"""Pull queries: they have a value at every instant, and are asked for it (PSoup).

What a body finds is kept as it happens (`kept_bodies`), whoever asks brings the window: an instant, and the query's BEGIN-END
clause around it, as far as history is kept (`retention`). Everything that asks goes through the same door, with one or many
windows at a time: `invoke` and the closing invocation of a run with one, EVERY with all instants that are due
(`periodic_answers`).

    BEGIN AFTER NOW - 60 END NOW asked at 100 and 130: windows 41..100 and 71..130, in microseconds both ends inside
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.errors import RunError
from cqc.runtime.pull.body_results import Maintenance
from cqc.runtime.pull.every_schedule import Period
from cqc.runtime.pull.instant_leaps import check_leap
from cqc.runtime.pull.kept_bodies import KeptBodies
from cqc.runtime.pull.periodic_answers import PeriodicAnswers
from cqc.runtime.pull.pull_query import Invocation, PullQuery
from cqc.runtime.pull.pull_window import first_edge, instant_us, last_edge, near
from cqc.runtime.pull.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.catalog import Settings
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.metrics.operators import HistoryMetrics
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.pull.pull_clause import PullClause
    from cqc.runtime.pull.pull_query import Asked
    from cqc.runtime.state.shared_state import SharedState


class PullQueries:
    """All queries with BEGIN-END.

    Args:
        states: the shared state of every stream and table, by folded name.
        lines: how far each stream has come, by folded name.
        settings: what the program SET.
        maintenance: when results are worked out; changes cost and never an answer.
        watch: says when an answer takes too long, or is not wanted any more.
    """

    def __init__(
        self,
        states: Mapping[str, SharedState],
        lines: Mapping[str, StreamInput],
        settings: Settings,
        *,
        maintenance: Maintenance = Maintenance.AUTO,
        watch: WorkWatch | None = None,
    ) -> None:
        self._states = states
        self._lines = lines
        self.retention = Retention(settings.retention_us)
        self._queries: dict[str, PullQuery] = {}
        self._periodic = PeriodicAnswers(
            self._queries, watch or WorkWatch(), self.blocks, self._check_leap
        )
        self.kept = KeptBodies(states, self.retention.kept_from, maintenance, self._periodic.look)
        self._users_of: dict[str, int] = dict.fromkeys(states, 0)
        # Combinations of the retained past that a new query may make.
        self.most_past: int | None = None
        self.most_instants: int | None = None  # one after the other without a row

    def declare(self, name: str) -> None:
        """Be ready for queries over one more stream or table, whose state is there by now."""
        self.kept.declare(name)
        self._users_of[name] = 0

    # Queries come and go

    def add(self, node: QueryNode, seat: Seat, circuit: Circuit) -> None:
        """Answer a query from now on, over the retained past and what will come.

        Raises:
            TooMuchFound: when the past has too many combinations for it; nothing changes then.
        """
        assert node.pull is not None
        clause = self.kept.use_clause(node, seat, circuit, self.most_past)
        names = dict.fromkeys(fold(relation.name) for relation in node.body.relations)
        lines = {name: self._lines[name] for name in names if self._lines[name].relation.is_stream}
        for name in names:
            self._users_of[name] += 1
        time_type = next(iter(lines.values())).relation.time_type
        first, last = first_edge(node.pull.begin), last_edge(node.pull.end)
        query = PullQuery(node.name, first, last, node.pull.every_us, clause, lines, time_type)
        self._queries[node.name] = query
        if node.pull.every_us is not None:
            query.kept_from_us = self.retention.oldest_us(query)
            period = Period(node.pull.every_us, last, query.kept_from_us)
            self._periodic.schedule.add(node.name, period, lines)

    def remove(self, node: QueryNode) -> None:
        """Forget a query and what only it used."""
        query = self._queries.pop(node.name)
        for name in dict.fromkeys(fold(relation.name) for relation in node.body.relations):
            self._users_of[name] -= 1
        if query.every_us is not None:
            self._periodic.schedule.remove(node.name)
        self.kept.release_clause(query.clause)

    # Data comes and goes

    def receive(self, found: Found) -> None:
        """Keep what an operator found for the bodies of pull queries."""
        self.kept.receive(found)

    def needs(self, stream: str) -> bool:
        """Whether all tuples of a stream or table (folded name) must be kept."""
        return self._users_of[stream] > 0

    def purge_before(self, stream: str) -> int | None:
        """Tuples of the stream older than this are beyond the retention; None when everything is kept."""
        due_us = self._periodic.schedule.oldest_due_us(stream)
        before_us = self.retention.purge_before(stream, self._lines[stream].latest_us, due_us)
        if before_us is not None:
            self.kept.purge(stream, before_us)
        return before_us

    # Answers

    def due(self) -> list[ResultBlock]:
        """What periodic queries deliver now; queries of one clause are answered together.

        Raises:
            RunError: when more than `most_instants` of one would have no row among them.
        """
        self.kept.look_for_unused()
        return self._periodic.due()

    def take_due(self) -> list[Due]:
        """The periodic queries that are due; they are not answered here."""
        return list(self._periodic.schedule.due())

    def blocks(self, clause: PullClause, asked: Sequence[Asked]) -> Iterator[ResultBlock]:
        """The answers of periodic queries of one clause."""
        begins = np.concatenate([self.retention.begins(query, at) for query, at in asked])
        ends = np.concatenate([query.last.at(instants) for query, instants in asked])
        instants = np.concatenate([instants for _, instants in asked])
        stops = np.cumsum([len(instants) for _, instants in asked])
        clause.kept.measure_use(int(begins.min()), int(ends.max()))
        for first, answer in clause.answer_many(begins, ends):
            window = answer.window + first
            edges = np.searchsorted(window, np.concatenate(([0], stops)))
            for at in np.flatnonzero(edges[1:] > edges[:-1]).tolist():
                query, rows = asked[at][0], np.arange(edges[at], edges[at + 1])
                yield query.block(answer, rows, instants[window[rows]])

    def invoke(self, name: str, at: Any = None) -> pa.Table:
        """The value of a query at an instant, by default the latest event time seen on its streams.

        Raises:
            RunError: for something that is no instant, or a query without BEGIN-END.
        """
        query = self.query(name)
        at_us = query.latest_us if at is None else instant_us(at, query.time_type)
        begin_us, end_us = self.window(query, at_us)
        table = query.clause.table(begin_us, end_us)
        query.results += table.num_rows
        query.clause.kept.rows_answered += table.num_rows
        return table

    def answer(self, name: str, at_us: int | None = None) -> ResultBlock:
        """The same by column, each row tagged with the instant."""
        query = self.query(name)
        instant = query.latest_us if at_us is None else near(at_us)
        started, kept = perf_counter(), query.clause.kept
        answer = query.clause.answer_one(*self.window(query, instant))
        kept.seconds += perf_counter() - started
        kept.rows_answered += len(answer.window)
        query.results += len(answer.window)
        times = np.full(len(answer.window), NO_TIME if instant is None else instant, np.int64)
        return query.block(answer, None, times)

    def ask(self, name: str, at: Any = None) -> Invocation:
        """The answer at an instant as `invoke` takes it; its warnings go to whoever asked, each time.

        Raises:
            RunError: for something that is no instant.
        """
        query = self.query(name)
        at_us = query.latest_us if at is None else instant_us(at, query.time_type)
        known = len(self.retention.warnings)
        query.warned = False
        block = self.answer(name, at_us)
        return Invocation(block, at_us, self.retention.take_warnings(known))

    def closing(self, at_us: int | None = None) -> list[ResultBlock]:
        """One invocation of every query without EVERY, for the end of a finite run."""
        return [self.answer(name, at_us) for name in self.asked_once()]

    def asked_once(self) -> list[str]:
        """The queries without EVERY."""
        return [name for name, query in self._queries.items() if query.every_us is None]

    def query(self, name: str) -> PullQuery:
        """A query that can be asked.

        Raises:
            RunError: for a push query.
        """
        query = self._queries.get(name)
        if query is None:
            raise RunError(
                f"query {name} delivers its results as they happen; only queries with BEGIN-END can be asked"
            )
        return query

    def window(self, query: PullQuery, at_us: int | None) -> tuple[int, int]:
        """The window at an instant that is about to be asked for; None is before anything was seen."""
        if at_us is None:
            return 0, -1
        if (
            self.retention.span_us is None
        ):  # every call counts here: an answer may take five microseconds
            begin_us, end_us = query.first.at(at_us), query.last.at(at_us)
        else:
            begin_us, end_us = self.retention.window(query, at_us)
        query.clause.kept.measure_use(begin_us, end_us)
        return begin_us, end_us

    def _check_leap(self, due: Due) -> None:
        if self.most_instants is not None:
            query = self._queries[due.name]
            states = [self._states[name] for name in query.lines]
            check_leap(due, states, query.time_type, self.most_instants)

    # Going on elsewhere

    def next_instants(self) -> dict[str, int]:
        """The next instant of each periodic query: all that must be remembered beside the base tuples."""
        return self._periodic.schedule.next_instants()

    def resume(self, next_instants: dict[str, int]) -> None:
        """Go on with periodic queries where another engine was: what they still need was kept for them."""
        self._periodic.schedule.resume(next_instants)
        for name in next_instants.keys() & self._queries.keys():
            self._queries[name].kept_from_us = None

    def set_results(self, name: str, results: int) -> None:
        """Count from so many results on."""
        self._queries[name].results = results

    # Counters

    def results_of(self, name: str) -> int:
        """Result rows of a query so far."""
        return self._queries[name].results

    def seconds_of(self, name: str) -> float:
        """What the answers of a query by EVERY took."""
        query = self._queries.get(name)
        return 0.0 if query is None else query.seconds

    @property
    def every_seconds(self) -> float:
        """What all answers by EVERY took."""
        return self._periodic.seconds

    def kept_bytes(self, name: str) -> int:
        """What is kept of the results of a query's body; queries that share it have a part each."""
        query = self._queries.get(name)
        if query is None:
            return 0
        kept = query.clause.kept
        return kept.nbytes // max(kept.users * query.clause.users, 1)

    def crowded(self, most: int) -> list[str]:
        """The queries over joins for which more than so many rows are kept."""
        full = self.kept.crowded(most)
        if not full:
            return []
        return [query.name for query in self._queries.values() if query.clause.kept in full]

    def take_silenced(self) -> dict[str, str]:
        """The periodic queries that took too long since this was last asked, and why."""
        return self._periodic.take_silenced()

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL, those of queries that have left included."""
        return self.kept.failures

    def measure(self) -> list[HistoryMetrics]:
        """What is kept, over each set of streams and tables."""
        return self.kept.measure()
