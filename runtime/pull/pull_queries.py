"""Pull queries: they have a value at every instant, and are asked for it (PSoup).

What a body finds is kept as it happens (`kept_bodies`), whoever asks brings the window: an instant, and the query's BEGIN-END
clause around it, as far as history is kept (`retention`). Everything that asks goes through the same door, with one or many
windows at a time: `invoke` and the closing invocation of a run with one, EVERY with all instants that are due
(`periodic_answers`).

    BEGIN AFTER NOW - 60 END NOW asked at 100 and 130: windows 41..100 and 71..130, in microseconds both ends inside
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cqc.compiler.graph.derive import bases_of, parts_of
from cqc.compiler.graph.nodes import QueryNode
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.columns.since_line import SinceLine
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.errors import RunError
from cqc.runtime.join.execute.bounded_queues import TooMuchFound
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.pull.absent_body import AbsentBody, TableRows
from cqc.runtime.pull.body_results import Maintenance
from cqc.runtime.pull.every_schedule import Period
from cqc.runtime.pull.instant_leaps import check_leap
from cqc.runtime.pull.kept_bodies import KeptBodies
from cqc.runtime.pull.nested_clause import NestedClause
from cqc.runtime.pull.periodic_answers import PeriodicAnswers
from cqc.runtime.pull.pull_clause import PullClause
from cqc.runtime.pull.pull_query import Invocation, PullQuery
from cqc.runtime.pull.pull_window import first_edge, instant_us, last_edge, near
from cqc.runtime.pull.retention import Retention
from cqc.runtime.pull.view_sources import ViewSources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from cqc.compiler.meaning.catalog import Relation, Settings
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.engine.derived_line import DerivedLine
    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.metrics.operators import HistoryMetrics
    from cqc.runtime.pull.body_results import BodyResults
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.pull.nested_query import MakeCircuit
    from cqc.runtime.pull.pull_query import AnyClause, AnyLine, Asked
    from cqc.runtime.pull.view_rows import Decider
    from cqc.runtime.pull.view_sources import Sources
    from cqc.runtime.state.shared_state import SharedState


# What is kept for the patterns of a query, under which names they sit at operators, and the relations of all of them.
_AbsentParts = tuple[
    "list[tuple[BodyResults | TableRows, tuple[int, ...]]]", "list[str]", "list[str]"
]


def _close(lines: Sequence[AnyLine]) -> None:
    for line in lines:
        if isinstance(line, SinceLine):
            line.close()


def _no_circuit(states: Mapping[str, SharedState]) -> Circuit:
    raise RunError("queries over views are not answered here")


def _no_decider(query: NormalQuery) -> Decider:
    raise RunError("queries over views are not answered here")


class PullQueries:
    """All queries with BEGIN-END.

    Args:
        states: the shared state of every stream and table, by folded name.
        lines: how far each stream has come, by folded name.
        settings: what the program SET.
        maintenance: when results are worked out; changes cost and never an answer.
        watch: says when an answer takes too long, or is not wanted any more.
        make_circuit: operators over some states, for one question about views.
        decider: makes the rows of a view with windows or OVER.
    """

    def __init__(
        self,
        states: Mapping[str, SharedState],
        lines: Mapping[str, StreamInput | DerivedLine],
        settings: Settings,
        *,
        maintenance: Maintenance = Maintenance.AUTO,
        watch: WorkWatch | None = None,
        make_circuit: MakeCircuit | None = None,
        decider: Callable[[NormalQuery], Decider] | None = None,
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
        self._absent: dict[str, _AbsentParts] = {}  # queries with outer joins or EXISTS
        self._nested: dict[str, Sources] = {}  # of queries over views
        self._views = ViewSources(
            self.kept,
            states,
            self._line,
            self.retention.oldest_of,
            make_circuit or _no_circuit,
            self._periodic.look,
            decider or _no_decider,
        )
        # Combinations of the retained past that a new query may make.
        self.most_past: int | None = None
        self.most_instants: int | None = None  # one after the other without a row

    def declare(self, name: str) -> None:
        """Be ready for queries over one more stream or table, whose state is there by now."""
        self.kept.declare(name)
        self._users_of[name] = 0

    def rows_of_tables(self, relation: Relation, circuit: Circuit) -> Packet:
        """The rows of a view over tables alone."""
        return self._views.rows_of_tables(relation, circuit)

    def undeclare(self, name: str) -> None:
        """Forget a view that no query reads any more."""
        self.kept.undeclare(name)
        del self._users_of[name]

    # Queries come and go

    def add(self, node: QueryNode, seat: Seat, circuit: Circuit, *, from_now: bool = False) -> None:
        """Answer a query from now on, over the retained past and what will come.

        `from_now`: it is part of a view whose reader has not seen the past, and what is there does not count.

        Raises:
            TooMuchFound: when the past has too many combinations for it; nothing changes then.
        """
        assert node.pull is not None
        clause = self.kept.use_clause(node, seat, circuit, self.most_past, from_now=from_now)
        self._begin(node, clause, node.body.relations, from_now=from_now)

    def add_absent(self, query: NormalQuery, circuit: Circuit) -> QueryNode:
        """The same for a query with outer joins or EXISTS.

        Raises:
            TooMuchFound: when the past has too many combinations for it; nothing changes then.
        """
        patterns = list(all_patterns(query.patterns))
        parts: list[tuple[BodyResults | TableRows, tuple[int, ...]]] = []
        added: list[str] = []
        try:
            for place, pattern in enumerate(patterns):
                part = replace(pattern.query, name=f"{query.name}\0{place}")
                node, seat = circuit.add(part)
                added.append(part.name)
                parts.append((self._keep_part(node, seat, circuit), node.positions))
        except (TooMuchFound, Flood):
            self._release(parts, added, circuit)
            raise
        states = [self._states[fold(item.relation.name)] for item in query.items]
        body = AbsentBody(query.patterns, parts, states)
        made = QueryNode(
            query.name,
            body.body,
            query.outputs,
            query.pull,
            tuple(range(len(query.items))),
            query.items,
            query.span,
            patterns=query.patterns,
        )
        clause = self.kept.absent_clause(made, body)
        relations = [item.relation for each in patterns for item in each.query.items]
        self._begin(made, clause, relations)
        self._absent[query.name] = parts, added, [each.name for each in relations]
        return made

    def _keep_part(self, node: QueryNode, seat: Seat, circuit: Circuit) -> BodyResults | TableRows:
        relations = node.body.relations
        if any(relation.is_stream for relation in relations):
            return self.kept.keep_part(node, seat, circuit, self.most_past)
        return TableRows(node.body, self._states[fold(relations[0].name)])

    def _release(
        self,
        parts: Sequence[tuple[BodyResults | TableRows, tuple[int, ...]]],
        added: Sequence[str],
        circuit: Circuit,
    ) -> None:
        for part, _ in parts:
            if not isinstance(part, TableRows):
                self.kept.release_part(part)
        for name in added:
            circuit.remove(name)

    def remove_absent(self, name: str, circuit: Circuit) -> None:
        """Forget a query with outer joins or EXISTS."""
        parts, added, names = self._absent.pop(name)
        query = self._queries.pop(name)
        for each in dict.fromkeys(map(fold, names)):
            self._users_of[each] -= 1
        if query.every_us is not None:
            self._periodic.schedule.remove(name)
        assert isinstance(query.clause, PullClause)
        self.kept.release_absent(query.clause)
        self._release(parts, added, circuit)

    def _begin(
        self,
        node: QueryNode,
        clause: PullClause,
        relations: Sequence[Relation],
        *,
        from_now: bool = False,
    ) -> None:
        """Answer a query whose clause is there."""
        assert node.pull is not None
        names = dict.fromkeys(fold(relation.name) for relation in relations)
        lines = {name: self._line(name, from_now) for name in bases_of(relations)}
        for name in names:
            self._users_of[name] += 1
        time_type = next(iter(lines.values())).relation.time_type
        first, last = first_edge(node.pull.begin), last_edge(node.pull.end)
        query = PullQuery(node.name, first, last, node.pull.every_us, clause, lines, time_type)
        self._enter(query)

    def add_nested(
        self, node: QueryNode, normal: NormalQuery, circuit: Circuit, *, from_now: bool = False
    ) -> None:
        """Answer a query over views from now on (`add`); no operator of the circuit answers it."""
        assert node.pull is not None
        self._views.most_past = self.most_past
        sources = self._views.use(normal, circuit, from_now=from_now)
        assert sources.query is not None
        clause = NestedClause(sources.query)
        relations = [item.relation for part in parts_of(normal) for item in part.items]
        lines = {name: self._line(name, from_now) for name in bases_of(relations)}
        for name in sources.names:
            self._users_of[name] += 1
        self._nested[node.name] = sources
        time_type = next(iter(lines.values())).relation.time_type
        first, last = first_edge(node.pull.begin), last_edge(node.pull.end)
        query = PullQuery(node.name, first, last, node.pull.every_us, clause, lines, time_type)
        self._enter(query)

    def _enter(self, query: PullQuery) -> None:
        self._queries[query.name] = query
        if query.every_us is not None:
            query.kept_from_us = self.retention.oldest_us(query)
            period = Period(query.every_us, query.last, query.kept_from_us)
            alone = any(isinstance(line, SinceLine) for line in query.lines.values())
            self._periodic.schedule.add(query.name, period, query.lines, alone=alone)

    def remove(self, node: QueryNode, circuit: Circuit | None = None) -> None:
        """Forget a query and what only it used."""
        query = self._queries.pop(node.name)
        _close(list(query.lines.values()))
        sources = self._nested.pop(node.name, None)
        if sources is not None:
            assert circuit is not None
            for name in sources.names:
                self._users_of[name] -= 1
            if query.every_us is not None:
                self._periodic.schedule.remove(node.name)
            self._views.release(sources, circuit)
            _close(sources.lines)
            return
        for name in dict.fromkeys(fold(relation.name) for relation in node.body.relations):
            self._users_of[name] -= 1
        if query.every_us is not None:
            self._periodic.schedule.remove(node.name)
        assert isinstance(query.clause, PullClause)
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
        line = self._lines[stream]
        schedule, due_us = self._periodic.schedule, None
        if len(schedule):
            due_us = schedule.oldest_due_us(bases_of([line.relation]))
        before_us = self.retention.purge_before(stream, line.latest_us, due_us)
        if before_us is not None:
            self.kept.purge(stream, before_us)
        return before_us

    # Answers

    def due(self, among: Callable[[str], bool] | None = None) -> list[ResultBlock]:
        """What periodic queries deliver now; queries of one clause are answered together.

        `among`: which queries are meant, all without it.

        Raises:
            RunError: when more than `most_instants` of one would have no row among them.
        """
        self.kept.look_for_unused()
        return self._periodic.due(among)

    def take_due(self) -> list[Due]:
        """The periodic queries that are due; they are not answered here."""
        return list(self._periodic.schedule.due())

    def blocks(self, clause: AnyClause, asked: Sequence[Asked]) -> Iterator[ResultBlock]:
        """The answers of periodic queries of one clause."""
        begins = np.concatenate([self.retention.begins(query, at) for query, at in asked])
        ends = np.concatenate([query.last.at(instants) for query, instants in asked])
        instants = np.concatenate([instants for _, instants in asked])
        stops = np.cumsum([len(instants) for _, instants in asked])
        clause.kept.measure_use(int(begins.min()), int(ends.max()))
        for first, answer in clause.answer_many(begins, ends, instants):
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
        table = query.clause.table(begin_us, end_us, at_us)
        query.results += table.num_rows
        query.clause.kept.rows_answered += table.num_rows
        return table

    def answer(self, name: str, at_us: int | None = None) -> ResultBlock:
        """The same by column, each row tagged with the instant."""
        query = self.query(name)
        instant = query.latest_us if at_us is None else near(at_us)
        started, kept = perf_counter(), query.clause.kept
        answer = query.clause.answer_one(*self.window(query, instant), instant)
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

    def _line(self, name: str, from_now: bool = False) -> AnyLine:
        line = cast("StreamInput", self._lines[name])
        return SinceLine(line) if from_now else line

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
