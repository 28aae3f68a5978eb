"""All queries whose rows wait for the watermark.

What the operators before find for them is held (`holder`), and what the watermark decides becomes result rows. Queries that ask the
same and were registered at the same place among the tuples share one holder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from cqc.compiler.graph.derive import OF_KIND
from cqc.compiler.meaning.bound import Decision
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.deliver.results import ResultBlock, ResultGroup
from cqc.runtime.filter.selections import SelectionSeat
from cqc.runtime.windows.complete_partitions import CompletePartitions
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.grouped_windows import GroupedWindows
from cqc.runtime.windows.lifted_constants import lifted
from cqc.runtime.windows.members import Member
from cqc.runtime.windows.plain_windows import PlainWindows
from cqc.runtime.windows.running_rows import RunningRows
from cqc.runtime.windows.sessions import Sessions
from cqc.runtime.windows.shared_running import SharedRunning
from cqc.runtime.windows.shared_windows import SharedWindows, can_be_shared
from cqc.runtime.windows.thresholds import Thresholds, threshold_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.windows.holder import Decisions, Holder
    from cqc.runtime.windows.members import Family, Reached
    from cqc.runtime.windows.waiting_rows import Place

Kind = TypeVar("Kind", bound="Family")


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
    feeds: str | None = None  # the view that its rows are of

    @property
    def rule(self) -> Member | None:
        """Its place in a family, where it has no holder of its own."""
        return self.holder if isinstance(self.holder, Member) else None

    @property
    def name(self) -> str:
        """The query of a clause that feeds a view, which has no other."""
        return self.node.name


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
        # What is held together, by operator, stream, the view that is fed and the rest: sliding thresholds by PARTITION BY, KEY_IDLE,
        # and whether rows of one instant belong together; windows by their clauses, and since which end of the input; OVER by its clauses.
        self._families: dict[tuple[Any, ...], Family] = {}
        self._by_source: dict[Hashable, list[Family]] = {}
        self._by_rule: dict[Member, Clause] = {}
        self._ended = 0
        # What decides for the queries (None), and for each view: families, and clauses with holders of their own.
        self._due: dict[str | None, tuple[dict[tuple[Any, ...], Family], dict[Hashable, Clause]]]
        self._due = {None: ({}, {})}

    def __len__(self) -> int:
        return len(self._of)

    # Queries come and go

    def add(
        self, node: QueryNode, seat: Seat, since: Mapping[str, int], feeds: str | None = None
    ) -> None:
        """Answer a query from now on; `since` says how many tuples of each stream have come.

        `feeds`: its rows are those of a view, and asked for by the view's name.
        """
        decided = node.decided
        assert decided is not None
        outputs = tuple((output.name, output.expression) for output in node.outputs)
        own = "" if feeds is None else node.name
        key = own, seat, node.positions, outputs, decided, tuple(sorted(since.items()))
        clause = self._clauses.get(key)
        if clause is None:
            clause = self._begin(self._new(key, node, seat, feeds))
        clause.results[node.name] = 0
        self._of[node.name] = clause

    def _new(self, key: Hashable, node: QueryNode, seat: Seat, feeds: str | None) -> Clause:
        """A clause without queries; those over one stream have a holder together."""
        decided = node.decided
        assert decided is not None
        relation = node.items[decided.by].relation
        name, time_type = fold(relation.name), relation.time_type
        member = None
        if isinstance(seat, SelectionSeat):
            member = self._member(node, seat, name, feeds)
        if member is None:
            plan = DecidedPlan(node)
            return Clause(key, seat, node, name, plan, holder_of(plan), time_type, feeds=feeds)
        clause = Clause(key, seat, node, name, member.plan, member, time_type, feeds=feeds)
        self._by_rule[member] = clause
        return clause

    def _member(self, node: QueryNode, seat: Seat, stream: str, feeds: str | None) -> Member | None:
        """A place in the family of queries that do the same with rows of the same stream, if there can be one."""
        decided = node.decided
        assert decided is not None
        outputs = _outputs(node)
        threshold = None if feeds is not None else threshold_of(node)
        if threshold is not None:
            waits, idle_us = decided.waits_for_equals, decided.key_idle_us
            of: tuple[Any, ...] = (seat.source, stream, feeds, threshold.partition, idle_us, waits)
            family = self._family(of, lambda: Thresholds(threshold.partition, idle_us, waits=waits))
            return family.add(seat, family.plan_of(outputs, node), threshold)
        if decided.decision is Decision.RUNNING:
            alike, constants = lifted(decided)
            of = seat.source, stream, feeds, outputs, alike
            like = replace(node, decided=alike)
            running = self._family(of, lambda: SharedRunning(DecidedPlan(like)))
            return running.add(seat, constants)
        if feeds is None and can_be_shared(node):
            return self._in_windows(node, seat, stream, self._ended)
        return None

    def _in_windows(self, node: QueryNode, seat: Seat, stream: str, since: object) -> Member:
        """A place among the queries that do the same with windows of the same rows; those of another past are for themselves."""
        of = seat.source, stream, None, _outputs(node), node.decided, since
        return self._family(of, lambda: SharedWindows(DecidedPlan(node))).add(seat)

    def _family(self, of: tuple[Any, ...], make: Callable[[], Kind]) -> Kind:
        known = self._families.get(of)
        if known is not None:
            return cast("Kind", known)
        family = self._families[of] = make()
        self._by_source.setdefault(of[0], []).append(family)
        self._due.setdefault(of[2], ({}, {}))[0][of] = family
        return family

    def _begin(self, clause: Clause) -> Clause:
        self._clauses[clause.key] = clause
        if clause.rule is None:
            self._due.setdefault(clause.feeds, ({}, {}))[1][clause.key] = clause
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
        del self._due[clause.feeds][1][clause.key]
        others = self._by_seat[clause.seat]
        others.remove(clause)
        if not others:
            del self._by_seat[clause.seat]

    def _leave(self, rule: Member) -> None:
        del self._by_rule[rule]
        rule.family.remove(rule)
        if len(rule.family):
            return
        self._failures_of_gone += rule.family.failures
        (of,) = (of for of, each in self._families.items() if each is rule.family)
        del self._families[of], self._due[of[2]][0][of]
        self._by_source[of[0]].remove(rule.family)
        if not self._by_source[of[0]]:
            del self._by_source[of[0]]

    # Rows in, results out

    def receive(self, found: Found) -> None:
        """Take what an operator found for these queries."""
        for family in self._by_source.get(found.source, ()):
            family.receive(found)
        if not self._by_seat:
            return
        for seat in found.hits():
            for clause in self._by_seat.get(seat, ()):
                rows = found.rows_of(seat)
                clause.holder.take(
                    clause.plan.rows(found.ts_us[rows], _columns(clause, found, rows))
                )

    def due(self, watermarks: Mapping[str, int]) -> list[ResultBlock]:
        """What is decided now for the queries."""
        blocks: list[ResultBlock] = []
        families, clauses = self._due[None]
        for of, family in families.items():
            watermark_us = watermarks[of[1]]
            if watermark_us == ALL_SEEN:
                self._ended += 1  # queries that come now see windows that others are done with
            for reached in family.decide(watermark_us):
                blocks += self._reached(reached)
        for clause in clauses.values():
            for decisions in clause.holder.decide(watermarks[clause.stream]):
                blocks += self._blocks(clause, decisions)
        return blocks

    def due_for(self, view: str, watermark: Callable[[str], int]) -> Iterator[ResultGroup]:
        """What is decided now of the queries that feed a view, those of a family in one group; `watermark` says that of a stream."""
        families, clauses = self._due.get(view, ({}, {}))
        for of, family in families.items():
            for reached in family.decide(watermark(of[1])):
                yield self._group(reached)
        for clause in clauses.values():
            for decisions in clause.holder.decide(watermark(clause.stream)):
                for block in self._blocks(clause, decisions):
                    yield ResultGroup(
                        [block.query],
                        block.names,
                        block.columns,
                        np.arange(len(decisions)),
                        block.times_us,
                        np.array([len(decisions)]),
                        clause.time_type,
                    )

    def forget_view(self, view: str) -> None:
        """Nobody reads a view any more, and nothing feeds it."""
        self._due.pop(view, None)

    def _group(self, reached: Reached) -> ResultGroup:
        clauses = [self._by_rule[rule] for rule in reached.rules]
        for clause, count in zip(clauses, np.diff(reached.ends, prepend=0).tolist(), strict=True):
            clause.results[clause.name] += count
        return ResultGroup(
            [clause.name for clause in clauses],
            clauses[0].plan.answers.names,
            reached.columns,
            np.arange(len(reached.times_us)),
            reached.times_us,
            reached.ends,
            clauses[0].time_type,
        )

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
        known = {name for saved in states for name in saved["queries"]}
        for saved in states:
            by_clause: dict[Hashable, list[str]] = {}
            for name in saved["queries"]:
                # What feeds several views together had the name of its own view alone before there were such.
                of_kind = name + OF_KIND
                for each in (name,) if of_kind in known else (name, of_kind):
                    if each in self._of:
                        by_clause.setdefault(self._of[each].key, []).append(each)
            for key, names in by_clause.items():
                clause = self._part(self._clauses[key], names)
                if isinstance(clause.holder, Member) and "closed_us" in saved["state"]:
                    self._go_apart(clause, saved["state"]["closed_us"])
                clause.holder.load(saved["state"])

    def _go_apart(self, clause: Clause, closed_us: int) -> None:
        """Let a query stand among those that have closed as many windows as it has."""
        assert isinstance(clause.holder, Member)
        self._leave(clause.holder)
        member = self._in_windows(clause.node, clause.seat, clause.stream, ("closed", closed_us))
        clause.holder, clause.plan = member, member.plan
        self._by_rule[member] = clause

    def _part(self, clause: Clause, names: list[str]) -> Clause:
        """The clause of these queries alone: others that ask the same may have come at another time, and hold something else."""
        if len(names) == len(clause.results):
            return clause
        key = (clause.key, *names)
        part = self._begin(self._new(key, clause.node, clause.seat, clause.feeds))
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


def _outputs(node: QueryNode) -> tuple[tuple[str, Expression], ...]:
    return tuple((each.name, each.expression) for each in node.outputs)


def _columns(clause: Clause, found: Found, rows: NDArray[np.int64]) -> Any:
    def column(place: Place) -> Column:
        item, number = place
        return found.column(clause.node.positions[item], number, rows)

    return column
