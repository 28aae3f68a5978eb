"""What an engine tells of itself: counters, sizes, warnings, and the parts that others measure. Nothing here changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.alerts.active_keys import active_keys
from cqc.runtime.engine.turns import Turns, reads
from cqc.runtime.intake.intake_warnings import intake_warnings
from cqc.runtime.metrics.engine import DeliveryMetrics, EngineMetrics, PacketMetrics, StateMetrics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.runtime.adapt.packet_size import Packets
    from cqc.runtime.adapt.work_watch import WorkWatch
    from cqc.runtime.alerts.active_keys import ActiveKey
    from cqc.runtime.alerts.alert_queries import AlertQueries
    from cqc.runtime.deliver.deliver import Deliveries
    from cqc.runtime.engine.absent_queries import AbsentQueries
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.engine.derived_streams import DerivedStreams
    from cqc.runtime.engine.query_book import QueryHandle
    from cqc.runtime.engine.relations import Relations
    from cqc.runtime.engine.running_queries import RunningQueries
    from cqc.runtime.expressions.function_faults import FunctionFaults
    from cqc.runtime.intake.stream_input import StreamCount, StreamInput, StreamState
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.pull.pull_queries import PullQueries
    from cqc.runtime.pull.pull_query import PullQuery
    from cqc.runtime.state.shared_state import SharedState
    from cqc.runtime.windows.decided_queries import DecidedQueries


class EngineCounters:
    """The parts of an engine, and what can be read from them; whoever reads waits for its turn."""

    _turns: Turns
    _relations: Relations
    _circuit: Circuit
    _deliveries: Deliveries
    _pulls: PullQueries
    _decided: DecidedQueries
    _alerts: AlertQueries
    _queries: RunningQueries
    _absent: AbsentQueries
    _views: DerivedStreams

    @reads
    def node(self, query: QueryHandle | str) -> QueryNode:
        """How a query stands in the shared graph: its outputs, its body, its BEGIN-END clause."""
        return self._queries.node(self._queries.book.name_of(query))

    @reads
    def watermark_of(self, query: QueryHandle | str) -> int:
        """The watermark of a query, in microseconds: the smallest of its streams'. KeyError when it does not run."""
        watermarks = self._relations.watermarks()
        node = self._queries.node(self._queries.book.name_of(query))
        streams = [fold(each.name) for each in node.relations]
        own = [watermarks[name] for name in streams if name in watermarks]
        return min(own or watermarks.values())

    @property
    @reads
    def queries(self) -> tuple[str, ...]:
        """Names of the queries that run."""
        return tuple(self._queries.book.running)

    @reads
    def query_texts(self) -> dict[str, str]:
        """The queries that run, by name, each as it was written."""
        return {each.name: each.text for each in self._queries.states()}

    @reads
    def pull_query(self, query: QueryHandle | str) -> PullQuery:
        """A query with BEGIN-END: its window, its streams and how far they are.

        Raises:
            RunError: for a push query, or one that does not run.
        """
        return self._pulls.query(self._queries.book.name_of(query))

    @reads
    def name_of(self, query: QueryHandle | str) -> str:
        """The name of a query that runs, as it was registered.

        Raises:
            RunError: when it does not run.
        """
        return self._queries.book.name_of(query)

    @property
    def taken_names(self) -> Mapping[str, str]:
        """The names that no new query can have, by folded name."""
        return self._queries.book.taken

    # Counters

    @reads
    def stream_counts(self) -> dict[str, StreamCount]:
        """Rows read, late and rejected by stream and table."""
        return self._stream_counts()

    @reads
    def result_counts(self) -> dict[str, int]:
        """Results by query name, those of the last thousands of queries that have left included."""
        before = self._queries.book.gone
        running = {
            name: before.get(name, 0) + self._queries.results(name)
            for name in self._queries.book.running
        }
        return {**before, **running}

    @property
    def tuples_read(self) -> int:
        """Rows of all streams and tables so far; it can be asked in the middle of any other call, and never waits."""
        return sum(line.count.read for line in list(self._relations.lines.values()))

    @reads
    def relations_used(self) -> set[str]:
        """Folded names of the streams and tables that the queries speak of."""
        return self._circuit.relations_used() | self._views.tables.beneath()

    @reads
    def columns_read(self, relation: str) -> frozenset[int] | None:
        """Positions of a stream's columns that the queries read which are registered now; None where all may be.

        Known for streams whose queries are conditions and results over one stream, or joins. What views and the past are made
        from is kept, and is kept whole.
        """
        known = self._relations.lines[relation].relation
        is_known = not (
            self._pulls.needs(relation)
            or self._alerts.watches(relation)
            or self._absent.needs(relation)
            or self._absent.asks_joins(relation)
            or len(self._views)
            or len(self._decided)
        )
        if not is_known or not known.is_stream or known.event_time is None:
            return None
        columns = {known.event_time} | self._deliveries.columns_read(relation)
        for each in self._circuit.selections_of(relation):
            columns |= each.columns_read()
        for join in self._circuit.joins_of(relation):
            columns |= join.members.columns_read(relation)
        return frozenset(columns)

    @property
    @reads
    def warnings(self) -> tuple[str, ...]:
        """What a user should know about answers so far, and which functions failed."""
        return (
            *self._pulls.retention.warnings,
            *self._turns.faults.sentences(),
            *(each for known in self._queries.book.running.values() for each in known.warnings),
            *(
                sentence
                for line in self.lines.values()
                for sentence in intake_warnings(line.relation, line.count, line.latest_us)
            ),
        )

    @reads
    def state_sizes(self) -> dict[str, StateMetrics]:
        """By stream and table, what is kept of it."""
        return {each.name: each for each in self._state_metrics()}

    @reads
    def kept_bytes(self) -> dict[str, int]:
        """By query, what is kept for it beside the tuples of its streams; queries that share it have a part each."""
        joins = self._circuit.kept_bytes()
        names = self._queries.book.running
        return {name: joins.get(name, 0) + self._own_bytes(name) for name in names}

    @reads
    def history_bytes(self, name: str | None = None) -> int:
        """What the results take that are kept for all queries with BEGIN-END, or for one of them."""
        return self._pulls.kept.nbytes if name is None else self._pulls.kept_bytes(name)

    @reads
    def query_metrics(self, names: Sequence[str] | None = None) -> dict[str, DeliveryMetrics]:
        """By query, what it got and what it took; of some queries, or of all."""
        queries = self._queries
        wanted = queries.book.running if names is None else names
        joins = self._circuit.kept_bytes(wanted)
        return {
            name: DeliveryMetrics(
                name,
                queries.results(name),
                queries.seconds(name),
                joins.get(name, 0) + self._own_bytes(name),
            )
            for name in wanted
        }

    @reads
    def hosts_together(self) -> list[list[int]]:
        """The numbers of the joins of the graph that one node serves, node by node."""
        return [[host.number for host in node.hosts] for node, _ in self._circuit.nodes]

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
                for name, packets in self.packets.items()
                if name in self.lines and (relation := self.lines[name].relation.name)
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

    @reads
    def seconds_of(self, query: QueryHandle | str) -> float:
        """Work for a query that was measured since it came: joins, where `bound` limits them, and answers by EVERY."""
        return self._queries.seconds(self._queries.book.name_of(query))

    @property
    @reads
    def credited_seconds(self) -> float:
        """All work that `seconds_of` tells apart, of queries that have left as well."""
        return self.watch.total + self._pulls.every_seconds

    @reads
    def crowded(self, most: int) -> list[str]:
        """The pull queries over joins for which more than so many combinations are kept."""
        return self._pulls.crowded(most)

    # How far everything is

    @reads
    def stream_states(self) -> dict[str, StreamState]:
        """How far every stream has come, by folded name."""
        return self._relations.stream_states(settled=self.waits_for_time)

    @reads
    def next_instants(self) -> dict[str, int]:
        """The next instant of each query with EVERY."""
        return self._pulls.next_instants()

    @reads
    def stream_watermarks(self) -> dict[str, int]:
        """The watermark of each declared stream, in microseconds; an idle one is as far as the slowest of the others."""
        self._relations.settle_idle()
        return {
            name: line.clock.watermark_us
            for name, line in self._relations.lines.items()
            if line.relation.is_stream
        }

    # The parts, for those who measure and explain

    @property
    def lines(self) -> Mapping[str, StreamInput]:
        """How far each stream and table has come, by folded name."""
        return self._relations.lines

    @property
    def states(self) -> Mapping[str, SharedState]:
        """The base tuples that are kept, by folded name."""
        return self._relations.states

    def heads(self) -> dict[str, int]:
        """By folded name, the position of the next tuple: what `snapshot` takes for nothing new."""
        return {name: state.head for name, state in self.states.items()}

    @property
    def packets(self) -> dict[str, Packets]:
        """How the micro-batches of each stream are cut, by folded name."""
        return self._relations.packets

    @property
    def circuit(self) -> Circuit:
        """The operators that run."""
        return self._circuit

    @reads
    def alert_counts(self) -> dict[str, tuple[int, int]]:
        """For each alert how many keys are pending, and how many firing."""
        return self._alerts.counts()

    @reads
    def alerts(self, name: str | None = None, most: int = 1_000) -> list[ActiveKey]:
        """The keys of alerts that are pending or firing, those that began first before others.

        Args:
            name: of one alert; all by default.
            most: so many of each alert at most.

        Example:
            >>> import cqc
            >>> engine = cqc.Engine(cqc.compile(
            ...     "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);"
            ...     "CREATE ALERT a AS SELECT x FROM s WHERE x > 1 PER k NO DATA AFTER 1 HOUR"))
            >>> engine.push("s", [{"ts": 1, "k": "a", "x": 2}])
            >>> [(key.alert, key.state, key.key, key.since) for key in engine.alerts()]
            [('a', 'firing', {'k': 'a'}, 1)]
        """
        return active_keys(self._alerts, name, most)

    @property
    def absent(self) -> AbsentQueries:
        """The queries whose rows depend on what is not there."""
        return self._absent

    @property
    def waits_for_time(self) -> bool:
        """Whether some results of push queries come with the watermark and not with a tuple (ROWS windows, absence, TUMBLE, OVER)."""
        return (
            bool(self._circuit.row_joins)
            or len(self._absent) + len(self._decided) + len(self._alerts) > 0
        )

    @property
    def watch(self) -> WorkWatch:
        """Where other threads stop what is being done, and see how long it takes."""
        return self._circuit.watch

    # Inside, for those who have a turn

    def _own_bytes(self, name: str) -> int:
        """What is kept for a query beside the tuples and the joins."""
        return (
            self._pulls.kept_bytes(name)
            + self._decided.kept_bytes(name)
            + self._alerts.kept_bytes(name)
        )

    def _stream_counts(self) -> dict[str, StreamCount]:
        return {line.relation.name: line.count.copy() for line in self.lines.values()}

    def _state_metrics(self) -> tuple[StateMetrics, ...]:
        return tuple(
            StateMetrics(state.relation.name.partition("@")[0], len(state), state.bytes, state.head)
            for state in self.states.values()
        )

    def _failures(self) -> int:
        return (
            self._deliveries.plans.failures
            + self._circuit.failures
            + self._pulls.failures
            + self._decided.failures
            + self._alerts.failures
        )
