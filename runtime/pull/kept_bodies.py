"""What is kept for pull queries: the results of each body once, and the clauses over them.

A body is kept as long as a clause reads it, a clause as long as a query has it. What an operator finds is noted in one log for all
bodies that sit at it, and each body takes its own when somebody asks, or when much has come together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.join.execute.bounded_queues import TooMuchFound
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.metrics.operators import HistoryMetrics
from cqc.runtime.pull.body_results import BodyResults, Maintenance
from cqc.runtime.pull.history.match_log import MatchLog
from cqc.runtime.pull.history.stream_order import StreamOrder
from cqc.runtime.pull.pull_clause import PullClause, clause_key
from cqc.runtime.pull.shared_rows import SharedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.pull.absent_body import AbsentBody
    from cqc.runtime.state.shared_state import SharedState

SHARED_FROM = 8  # bodies at one join: from so many on they note their rows together
_ROUNDS_BETWEEN_LOOKS = 64


class _Log:
    """What one operator found for kept bodies, and who they are."""

    def __init__(self) -> None:
        self.found = MatchLog()
        self.bodies: dict[int, list[BodyResults]] = {}  # by key
        self.all: dict[BodyResults, None] = {}
        self.shared: SharedRows | None = None
        self._could_share: list[BodyResults] = []
        self._is_new = True  # nothing was found yet
        self._keys: NDArray[np.int64] | None = None

    def add(self, kept: BodyResults, states: Sequence[SharedState], *, may_share: bool) -> None:
        """One body more. `may_share`: no tuple is there that it could have found something in, and it is not asked all the time."""
        self.all[kept] = None
        if may_share and self.shared is not None:
            kept.share(self.shared, self._note_for)
            return
        self._note_for(kept)
        if not (may_share and self._is_new):
            return
        self._could_share.append(kept)
        if len(self._could_share) >= SHARED_FROM:
            self.shared = SharedRows(states)
            for each in self._could_share:
                self._note_no_more(each)
                each.share(self.shared, self._note_for)
            self._could_share = []

    def _note_for(self, kept: BodyResults) -> None:
        self.bodies.setdefault(kept.seat.key, []).append(kept)
        self._keys = None

    def _note_no_more(self, kept: BodyResults) -> None:
        bodies = self.bodies[kept.seat.key]
        bodies.remove(kept)
        if not bodies:
            del self.bodies[kept.seat.key]
        self._keys = None

    def remove(self, kept: BodyResults) -> None:
        """One body less."""
        del self.all[kept]
        if kept.shared is None:
            self._note_no_more(kept)
            if kept in self._could_share:
                self._could_share.remove(kept)
            return
        kept.shared.remove(kept.number)
        if not len(kept.shared):
            self.shared = None

    def receive(self, found: Found) -> None:
        """Note what was found in a packet; when much has come together every body takes its own."""
        self._is_new, self._could_share = False, []
        if self.shared is not None and not self.shared.receive(found):
            self._stop_sharing()
        if self.bodies:
            self._note(found)
        if self.shared is not None and not self.shared.is_worth_it:
            self._stop_sharing()

    def _note(self, found: Found) -> None:
        if self._keys is None:
            self._keys = np.array(sorted(self.bodies), np.int64)
        self.found.add(found.matches(self._keys), found.positions)
        if self.found.is_full(len(self.bodies)):
            self.found.hand_over(self.bodies)

    def _stop_sharing(self) -> None:
        for kept in self.all:
            if kept.shared is not None:
                kept.leave_shared()
        self.shared = None


class KeptBodies:
    """The kept results of all bodies.

    Args:
        states: the shared state of every stream and table, by folded name.
        kept_from: by folded stream name: older tuples may be gone.
        maintenance: when results are worked out; changes cost and never an answer.
        look: called between two steps of an answer; it may raise when that takes too long.
    """

    def __init__(
        self,
        states: Mapping[str, SharedState],
        kept_from: Mapping[str, int],
        maintenance: Maintenance,
        look: Callable[[], None],
    ) -> None:
        self._states = states
        self._kept_from = kept_from
        self._maintenance = maintenance
        self._look = look
        self._orders = {name: StreamOrder(state) for name, state in states.items()}
        self.bodies: dict[Seat, BodyResults] = {}
        self._joins: set[BodyResults] = set()  # that can hold more rows than their streams
        self._logs: dict[Hashable, _Log] = {}  # by the source of the seats
        self._clauses: dict[Hashable, PullClause] = {}
        self._failures_of_gone = 0
        self._rounds = 0

    def declare(self, name: str) -> None:
        """Be ready for one more stream or table, whose state is there by now."""
        self._orders[name] = StreamOrder(self._states[name])

    def undeclare(self, name: str) -> None:
        """Forget a view that no query reads any more."""
        del self._orders[name]

    def use_clause(
        self,
        node: QueryNode,
        seat: Seat,
        circuit: Circuit,
        most_past: int | None,
        *,
        from_now: bool = False,
    ) -> PullClause:
        """The clause of a query, and what is kept for it, made when it is the first of its kind.

        `from_now`: the tuples that are there do not count.

        Raises:
            TooMuchFound: when the past has more than `most_past` combinations for it; nothing changes then.
        """
        key = clause_key(node, seat)
        clause = self._clauses.get(key)
        if clause is None:
            kept = self.bodies.get(seat)
            if kept is None:
                kept = self.bodies[seat] = self._keep(
                    node, seat, circuit, most_past, from_now=from_now
                )
            kept.users += 1
            clause = self._clauses[key] = PullClause(key, node, kept, self._look)
        clause.users += 1
        return clause

    def release_clause(self, clause: PullClause) -> None:
        """One query of a clause less: forget what nobody uses any more."""
        kept = clause.kept
        assert isinstance(kept, BodyResults)
        clause.users -= 1
        if clause.users:
            return
        self._failures_of_gone += clause.failures
        clause.close()
        del self._clauses[clause.key]
        self.release_part(kept)

    def keep_part(
        self, node: QueryNode, seat: Seat, circuit: Circuit, most_past: int | None
    ) -> BodyResults:
        """What is kept for a pattern of a query, for one user more.

        Raises:
            TooMuchFound: as in `use_clause`.
        """
        kept = self.bodies.get(seat)
        if kept is None:
            kept = self.bodies[seat] = self._keep(node, seat, circuit, most_past, from_now=False)
        kept.users += 1
        return kept

    def release_part(self, kept: BodyResults) -> None:
        """One user of what is kept less."""
        kept.users -= 1
        if not kept.users:
            self._failures_of_gone += kept.failures
            del self.bodies[kept.seat]
            self._forget(kept)

    def absent_clause(self, node: QueryNode, body: AbsentBody) -> PullClause:
        """The clause of a query whose rows depend on what is not there; it is nobody else's."""
        key = ("absent", node.name)
        clause = self._clauses[key] = PullClause(key, node, body, self._look)
        clause.users = 1
        return clause

    def release_absent(self, clause: PullClause) -> None:
        """Forget such a clause; its parts are released one by one."""
        self._failures_of_gone += clause.failures
        clause.close()
        del self._clauses[clause.key]

    def receive(self, found: Found) -> None:
        """Keep what an operator found for these bodies."""
        log = self._logs.get(found.source)
        if log is not None:
            log.receive(found)

    def purge(self, stream: str, before_us: int) -> None:
        """Nobody asks for tuples of a stream before an instant any more."""
        self._orders[stream].purge(before_us)

    def look_for_unused(self) -> None:
        """Now and then: let bodies that nobody asks for cost nothing."""
        self._rounds += 1
        if self._rounds % _ROUNDS_BETWEEN_LOOKS == 0:
            for kept in self.bodies.values():
                kept.forget_old()
                kept.turn_lazy_if_unused()

    # Counters

    @property
    def nbytes(self) -> int:
        """What is kept of the results of all bodies, and what was found that they have not taken yet."""
        found = sum(log.found.nbytes for log in self._logs.values())
        return found + sum(kept.nbytes for kept in self.bodies.values())

    def crowded(self, most: int) -> list[BodyResults]:
        """The bodies over joins for which more than so many rows are kept."""
        return [kept for kept in self._joins if kept.has_more_than(most)]

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL, those of queries that have left included."""
        plans = sum(clause.failures for clause in self._clauses.values())
        return self._failures_of_gone + plans + sum(kept.failures for kept in self.bodies.values())

    def measure(self) -> list[HistoryMetrics]:
        """What is kept, over each set of streams and tables."""
        among: dict[str, list[BodyResults]] = {}
        for kept in self.bodies.values():
            kept.take()
            among.setdefault(", ".join(each.name for each in kept.body.relations), []).append(kept)
        return [_history_metrics(f"history({names})", bodies) for names, bodies in among.items()]

    # Inside

    def _keep(
        self,
        node: QueryNode,
        seat: Seat,
        circuit: Circuit,
        most_past: int | None,
        *,
        from_now: bool,
    ) -> BodyResults:
        """Begin to keep what a body finds, with what it finds in the tuples that are there."""
        names = [fold(relation.name) for relation in node.body.relations]
        states = [self._states[name] for name in names]
        orders = [self._orders[name] for name in names]
        log = self._logs.setdefault(seat.source, _Log())
        # What came before does not show in results that are noted as they come; a scan would find it.
        maintenance = Maintenance.EAGER if from_now else self._maintenance
        kept = BodyResults(seat, circuit, states, orders, self._kept_from, log.found, maintenance)
        has_past = any(len(state) for state in states if state.relation.is_stream)
        is_join = node.body.host is not None
        is_periodic = node.pull is not None and node.pull.every_us is not None
        may_share = is_join and not (has_past or is_periodic)
        may_share = may_share and maintenance is Maintenance.AUTO
        log.add(kept, states, may_share=may_share)
        if is_join:
            self._joins.add(kept)
        if not from_now and has_past:
            try:
                kept.load_past(circuit.past(node, most_past))
            except (TooMuchFound, Flood):
                self._forget(kept)
                raise
        if maintenance is Maintenance.LAZY:
            kept.turn_lazy_if_unused()
        return kept

    def _forget(self, kept: BodyResults) -> None:
        """Let nothing more be noted for a body."""
        self._joins.discard(kept)
        log = self._logs[kept.seat.source]
        log.remove(kept)
        if not log.all:
            del self._logs[kept.seat.source]


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
