"""All queries whose rows wait for the watermark.

What the operators before find for them is held (`holder`), and what the watermark decides becomes result rows. Queries that ask the
same and were registered at the same place among the tuples share one holder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import Decision
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.deliver.results import ResultBlock
from cqc.runtime.filter.selections import SelectionSeat
from cqc.runtime.windows.complete_partitions import CompletePartitions
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.grouped_windows import GroupedWindows
from cqc.runtime.windows.plain_windows import PlainWindows
from cqc.runtime.windows.running_rows import RunningRows
from cqc.runtime.windows.sessions import Sessions
from cqc.runtime.windows.shared_windows import Member, SharedWindows, can_be_shared
from cqc.runtime.windows.thresholds import Rule, Thresholds, threshold_of

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.windows.holder import Decisions, Holder
    from cqc.runtime.windows.thresholds import Reached
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

    @property
    def rule(self) -> Rule | Member | None:
        """Its place in a family, where it has no holder of its own."""
        return self.holder if isinstance(self.holder, Rule | Member) else None


def holder_of(plan: DecidedPlan) -> Holder:
    """The holder for the clauses of a query."""
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
        # What is held together, by operator, stream and the rest: sliding thresholds by PARTITION BY, KEY_IDLE, and whether rows
        # of one instant belong together; windows by their clauses, and since which end of the input.
        self._families: dict[tuple[Any, ...], Thresholds | SharedWindows] = {}
        self._by_rule: dict[Rule | Member, Clause] = {}
        self._ended = 0
        self._held: dict[Hashable, Clause] = {}  # the clauses with holders of their own

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
            clause = self._begin(self._new(key, node, seat, is_feed=is_feed))
        clause.is_feed = is_feed
        clause.results[node.name] = 0
        self._of[node.name] = clause

    def _new(self, key: Hashable, node: QueryNode, seat: Seat, *, is_feed: bool) -> Clause:
        """A clause without queries: sliding thresholds over one stream have one holder together."""
        decided = node.decided
        assert decided is not None
        relation = node.items[decided.by].relation
        name, time_type = fold(relation.name), relation.time_type
        threshold = None if is_feed or not isinstance(seat, SelectionSeat) else threshold_of(node)
        holder: Holder
        if threshold is None:
            plan = DecidedPlan(node)
            is_alone = is_feed or not isinstance(seat, SelectionSeat) or not can_be_shared(plan)
            holder = holder_of(plan) if is_alone else self._shared(node, seat, name, plan)
            plan = holder.plan if isinstance(holder, Member) else plan
        else:
            waits, idle_us = decided.waits_for_equals, decided.key_idle_us
            of = seat.source, name, threshold.partition, idle_us, waits
            if of not in self._families:
                self._families[of] = Thresholds(threshold.partition, idle_us, waits=waits)
            outputs = tuple((each.name, each.expression) for each in node.outputs)
            family = self._families[of]
            assert isinstance(family, Thresholds)
            plan = family.plan_of(outputs, node)
            holder = family.add(seat, plan, threshold)
        clause = Clause(key, seat, node, name, plan, holder, time_type)
        if isinstance(holder, Rule | Member):
            self._by_rule[holder] = clause
        return clause

    def _shared(
        self, node: QueryNode, seat: Seat, stream: str, plan: DecidedPlan, since: object = None
    ) -> Member:
        """A place among the queries that do the same with windows of the same rows; those of another past are for themselves."""
        outputs = tuple((each.name, each.expression) for each in node.outputs)
        of = seat.source, stream, outputs, node.decided, self._ended if since is None else since
        if of not in self._families:
            self._families[of] = SharedWindows(plan)
        family = self._families[of]
        assert isinstance(family, SharedWindows)
        return family.add(seat)

    def _begin(self, clause: Clause) -> Clause:
        self._clauses[clause.key] = clause
        if clause.rule is None:
            self._held[clause.key] = clause
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
        rule = clause.rule
        if rule is not None:
            self._leave(rule)
            return
        del self._held[clause.key]
        others = self._by_seat[clause.seat]
        others.remove(clause)
        if not others:
            del self._by_seat[clause.seat]

    def _leave(self, rule: Rule | Member) -> None:
        del self._by_rule[rule]
        rule.family.remove(rule)  # type: ignore[arg-type]
        if not len(rule.family):
            self._failures_of_gone += rule.family.failures
            self._families = {
                of: each for of, each in self._families.items() if each is not rule.family
            }

    # Rows in, results out

    def receive(self, found: Found) -> None:
        """Take what an operator found for these queries."""
        for of, family in self._families.items():
            if of[0] == found.source:
                family.receive(found)
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
        if feeds is None:
            for of, family in self._families.items():
                watermark_us = watermarks[of[1]]
                if watermark_us == ALL_SEEN:
                    self._ended += 1  # queries that come now see windows that others are done with
                for reached in family.decide(watermark_us):
                    blocks += self._reached(reached)
        for clause in self._held.values():
            wanted = not clause.is_feed if feeds is None else clause.node.name in feeds
            if not wanted:
                continue
            for decisions in clause.holder.decide(watermarks[clause.stream]):
                blocks += self._blocks(clause, decisions)
        return blocks

    def _reached(self, reached: Reached) -> list[ResultBlock]:
        """The rows of rules that have the same outputs: each rule has some of one table."""
        blocks, begin = [], 0
        for rule, end in zip(reached.rules, reached.ends.tolist(), strict=True):
            clause = self._by_rule[rule]
            for name in clause.results:
                clause.results[name] += end - begin
                blocks.append(
                    ResultBlock(
                        name,
                        clause.plan.answers.names,
                        reached.columns,
                        np.arange(begin, end),
                        reached.times_us[begin:end],
                        clause.time_type,
                        is_at=clause.plan.decided.is_at,
                    )
                )
            begin = end
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
                clause = self._part(self._clauses[key], names)
                if isinstance(clause.holder, Member):
                    self._go_apart(clause, saved["state"]["closed_us"])
                clause.holder.load(saved["state"])

    def _go_apart(self, clause: Clause, closed_us: int) -> None:
        """Let a query stand among those that have closed as many windows as it has."""
        assert isinstance(clause.holder, Member)
        self._leave(clause.holder)
        member = self._shared(
            clause.node, clause.seat, clause.stream, DecidedPlan(clause.node), ("closed", closed_us)
        )
        clause.holder, clause.plan = member, member.plan
        self._by_rule[member] = clause

    def _part(self, clause: Clause, names: list[str]) -> Clause:
        """The clause of these queries alone: others that ask the same may have come at another time, and hold something else."""
        if len(names) == len(clause.results):
            return clause
        key = (clause.key, *names)
        part = self._begin(self._new(key, clause.node, clause.seat, is_feed=clause.is_feed))
        for name in names:
            part.results[name] = clause.results.pop(name)
            self._of[name] = part
        return part

    # Counters

    def results_of(self, name: str) -> int:
        """How many result rows a query has had so far."""
        return self._of[name].results[name]

    def set_results(self, name: str, results: int) -> None:
        """Count from so many results on."""
        self._of[name].results[name] = results

    def kept_bytes(self, name: str) -> int:
        """Memory that is held for a query; those that share a holder have a part of it each."""
        clause = self._of.get(name)
        return 0 if clause is None else clause.holder.nbytes // len(clause.results)

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL, those of queries that have left included."""
        keys = sum(family.failures for family in self._families.values())
        shown = sum(clause.holder.failures for clause in self._clauses.values())
        return self._failures_of_gone + keys + shown


def _columns(clause: Clause, found: Found, rows: NDArray[np.int64]) -> Any:
    def column(place: Place) -> Column:
        item, number = place
        return found.column(clause.node.positions[item], number, rows)

    return column
