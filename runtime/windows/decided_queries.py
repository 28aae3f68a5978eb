"""All queries whose rows wait for the watermark.

What the operators before find for them is held (`holder`), and what the watermark decides becomes result rows. Queries that ask the
same and were registered at the same place among the tuples share one holder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.bound import Decision
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.deliver.results import ResultBlock
from cqc.runtime.windows.complete_partitions import CompletePartitions
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.grouped_windows import GroupedWindows
from cqc.runtime.windows.plain_windows import PlainWindows
from cqc.runtime.windows.running_rows import RunningRows
from cqc.runtime.windows.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.windows.holder import Decisions, Holder
    from cqc.runtime.windows.waiting_rows import Place


@dataclass(slots=True, eq=False)
class Clause:
    """A holder with the queries that share it, by name and number of results."""

    key: Hashable
    seat: Seat
    node: QueryNode  # one of the queries
    stream: str  # whose watermark decides, by folded name
    plan: DecidedPlan
    holder: Holder
    time_type: ColumnType
    results: dict[str, int] = field(default_factory=dict)
    is_feed: bool = False

    @staticmethod
    def of(key: Hashable, node: QueryNode, seat: Seat) -> Clause:
        """A new one, without queries."""
        decided = node.decided
        assert decided is not None
        plan, relation = DecidedPlan(node), node.items[decided.by].relation
        name, time_type = fold(relation.name), relation.time_type
        return Clause(key, seat, node, name, plan, holder_of(plan), time_type)


def holder_of(plan: DecidedPlan) -> Holder:
    """The one that makes of rows what a query wants."""
    match plan.decided.decision:
        case Decision.GROUPS:
            return GroupedWindows(plan)
        case Decision.SESSIONS | Decision.SESSION_ROWS:
            return Sessions(plan)
        case Decision.COMPLETE:
            return CompletePartitions(plan)
        case Decision.RUNNING:
            return RunningRows(plan)
        case Decision.ROWS:
            return PlainWindows(plan)


class DecidedQueries:
    """The queries with windows or OVER and without BEGIN-END."""

    def __init__(self) -> None:
        self._clauses: dict[Hashable, Clause] = {}
        self._by_seat: dict[Seat, list[Clause]] = {}
        self._of: dict[str, Clause] = {}
        self._failures_of_gone = 0

    def __len__(self) -> int:
        return len(self._of)

    # Queries come and go

    def add(
        self, node: QueryNode, seat: Seat, since: Mapping[str, int], *, is_feed: bool = False
    ) -> None:
        """Answer a query from now on; `since` says how many tuples of each stream have come.

        `is_feed`: its rows are those of a view, and asked for by its name.
        """
        decided = node.decided
        assert decided is not None
        outputs = tuple((output.name, output.expression) for output in node.outputs)
        own = node.name if is_feed else ""
        key = own, seat, node.positions, outputs, decided, tuple(sorted(since.items()))
        clause = self._clauses.get(key)
        if clause is None:
            clause = self._begin(Clause.of(key, node, seat))
        clause.is_feed = is_feed
        clause.results[node.name] = 0
        self._of[node.name] = clause

    def _begin(self, clause: Clause) -> Clause:
        self._clauses[clause.key] = clause
        self._by_seat.setdefault(clause.seat, []).append(clause)
        return clause

    def remove(self, node: QueryNode) -> None:
        """Forget a query and what only it used."""
        clause = self._of.pop(node.name)
        del clause.results[node.name]
        if clause.results:
            return
        self._failures_of_gone += clause.holder.failures
        del self._clauses[clause.key]
        others = self._by_seat[clause.seat]
        others.remove(clause)
        if not others:
            del self._by_seat[clause.seat]

    # Rows in, results out

    def receive(self, found: Found) -> None:
        """Take what an operator found for these queries."""
        if not self._by_seat:
            return
        for seat in found.hits():
            for clause in self._by_seat.get(seat, ()):
                rows = found.rows_of(seat)
                clause.holder.take(
                    clause.plan.rows(found.ts_us[rows], _columns(clause, found, rows))
                )

    def due(
        self, watermarks: Mapping[str, int], feeds: Container[str] | None = None
    ) -> list[ResultBlock]:
        """What is decided now: of the queries, or of those with these names that feed views."""
        blocks: list[ResultBlock] = []
        for clause in self._clauses.values():
            wanted = not clause.is_feed if feeds is None else clause.node.name in feeds
            if not wanted:
                continue
            for decisions in clause.holder.decide(watermarks[clause.stream]):
                blocks += self._blocks(clause, decisions)
        return blocks

    def _blocks(self, clause: Clause, decisions: Decisions) -> list[ResultBlock]:
        blocks = []
        for name in clause.results:
            clause.results[name] += len(decisions)
            blocks.append(
                ResultBlock(
                    name,
                    clause.plan.answers.names,
                    decisions.columns,
                    None,
                    decisions.times_us,
                    clause.time_type,
                    is_at=clause.plan.decided.is_at,
                )
            )
        return blocks

    # Going on elsewhere

    def save(self) -> list[dict[str, Any]]:
        """What must be remembered beside the base tuples."""
        return [
            {"queries": list(clause.results), "state": clause.holder.save()}
            for clause in self._clauses.values()
        ]

    def load(self, states: list[dict[str, Any]]) -> None:
        """Go on where another engine was."""
        for saved in states:
            by_clause: dict[Hashable, list[str]] = {}
            for name in saved["queries"]:
                if name in self._of:
                    by_clause.setdefault(self._of[name].key, []).append(name)
            for key, names in by_clause.items():
                self._part(self._clauses[key], names).holder.load(saved["state"])

    def _part(self, clause: Clause, names: list[str]) -> Clause:
        """The clause of these queries alone: others that ask the same may have come at another time, and hold something else."""
        if len(names) == len(clause.results):
            return clause
        part = self._begin(Clause.of((clause.key, *names), clause.node, clause.seat))
        for name in names:
            part.results[name] = clause.results.pop(name)
            self._of[name] = part
        return part

    # Counters

    def results_of(self, name: str) -> int:
        """Result rows of a query so far."""
        return self._of[name].results[name]

    def set_results(self, name: str, results: int) -> None:
        """Count from so many results on."""
        self._of[name].results[name] = results

    def kept_bytes(self, name: str) -> int:
        """What is held for a query; queries that share it have a part each."""
        clause = self._of.get(name)
        return 0 if clause is None else clause.holder.nbytes // len(clause.results)

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL, those of queries that have left included."""
        return self._failures_of_gone + sum(
            clause.holder.failures for clause in self._clauses.values()
        )


def _columns(clause: Clause, found: Found, rows: NDArray[np.int64]) -> Any:
    def column(place: Place) -> Column:
        item, number = place
        return found.column(clause.node.positions[item], number, rows)

    return column
