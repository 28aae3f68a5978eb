"""The driver's part: how far the streams are, which queries run and where, and what the parts of an answer come to.

The coordinator holds no tuples. It makes the header of each micro-batch, and takes in what tasks and cells found in it. All it
knows between two micro-batches is in `CoordinatorState`, which a checkpoint holds.
"""

from __future__ import annotations

import secrets
import time
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.functions.registered import functions_in, missing_functions
from cqc.compiler.graph.partitioning import Chooser, Group, relations_of
from cqc.compiler.meaning.bound import Decision
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.pipeline import normalise
from cqc.runtime.columns.event_time import watermarks_after_end
from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.engine.engine import Engine
from cqc.runtime.engine.query_book import QueryHandle
from cqc.runtime.errors import RunError
from cqc.runtime.expressions.function_faults import noted_in
from cqc.runtime.files.sealed import ADVICE
from cqc.runtime.intake.intake_warnings import intake_warnings
from cqc.runtime.intake.stream_input import StreamCount
from cqc.runtime.intake.typed_batch import Absent
from cqc.runtime.pull.pull_plan import PullPlan
from cqc.runtime.pull.pull_window import instant_us
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from cqc.runtime.spark.distributed.leaps import Leaps, known_before
from cqc.runtime.spark.distributed.messages.spec import (
    Ask,
    Change,
    ClockState,
    Header,
    Spec,
    signed,
)
from cqc.runtime.spark.distributed.stages.cell import AWAKE
from cqc.runtime.spark.distributed.stages.skew import Skew
from cqc.runtime.spark.distributed.stages.stage_one import bare_program
from cqc.runtime.spark.distributed.stages.wire import FIRST_CELL, Output
from cqc.runtime.spark.rows.row_spans import gaps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cqc.compiler import Program
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.graph.partitioning import Placement
    from cqc.compiler.meaning.catalog import Catalog
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.compiler.physical.strategy import Strategy
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.intake.typed_batch import Reject, TypedBatch
    from cqc.runtime.spark.distributed.messages.spec import Spread
    from cqc.runtime.spark.distributed.stages.wire import PartialAnswer

PAST_REASON = "queries that come later may look back at any tuple"


@dataclass(slots=True)
class Findings:
    """What a micro-batch came to."""

    blocks: list[ResultBlock]
    answers: dict[int, ResultBlock]
    rejects: list[tuple[str, list[Reject]]]
    late: list[tuple[str, Packet]]
    controls: int = 0  # rows of the control source that were heard


class Coordinator:
    """Plans a program over cells, and puts together what they find.

    Args:
        program: what to run.
        partitions: how many cells a group of queries may have.
        strategy: of the engines.
        only: names of the queries to run; all by default.
        keep_past: keep tuples for pull queries that come later.
        weights: how much each stream carries, by folded name.
        first: the queries that a run began with, where it goes on from a checkpoint; those of the program by default.
        max_instants: of a query with EVERY, one after the other without a row; more end the run.
    """

    def __init__(
        self,
        program: Program,
        partitions: int,
        *,
        strategy: Strategy,
        only: Sequence[str] = (),
        keep_past: bool = False,
        weights: Mapping[str, float] | None = None,
        first: Mapping[str, NormalQuery] | None = None,
        max_instants: int | None = None,
    ) -> None:
        self.program = program
        self._strategy = strategy
        self._key = secrets.token_bytes(32)
        self.run = uuid.uuid4().hex  # its name, by which it knows what it said itself
        # It is given no tuples: it knows the queries, in words and as nodes of the shared graph.
        self.engine = Engine(
            bare_program(program.catalog),
            strategy=strategy,
            keep_past=False,
            clock=lambda: AWAKE,
        )
        self._leaps = None if max_instants is None else Leaps(self.engine, max_instants)
        self._max_instants = max_instants
        self._gaps_known: tuple[int, dict[str, int]] = (-1, {})  # with so many changes
        wanted = {fold(name) for name in only}
        self._first_queries = (
            dict(first)
            if first is not None
            else {
                name: program.normal(name)
                for name in program.queries.names
                if not wanted or fold(name) in wanted
            }
        )
        for normal in self._first_queries.values():
            self.engine.register_compiled(normal)
        nodes = [self.engine.node(name) for name in self.engine.queries]
        self._chooser = Chooser(partitions, weights)
        self._chooser.prefer(nodes)
        self._past: int | None = None
        if keep_past:
            streams = {name for name, each in program.catalog.relations.items() if each.is_stream}
            past = Group(0, (), frozenset(streams), (), PAST_REASON, frozenset(streams))
            self._past = self._chooser.add_group(past).number
        for node in nodes:
            self._chooser.add(node)
        self.placement: Placement = self._chooser.placement
        self._chooser.settle()
        streams_only = [name for name, each in program.catalog.relations.items() if each.is_stream]
        self.state = CoordinatorState(
            {name: ClockState() for name in streams_only},
            counts={name: StreamCount() for name in program.catalog.relations},
        )
        self.skew = Skew()
        self._plans: dict[str, PullPlan] = {}
        self._failed_before = 0
        self._asked = 0
        self._last_seen = dict.fromkeys(streams_only, time.monotonic())

    @property
    def first_queries(self) -> dict[str, NormalQuery]:
        """The queries that the run began with."""
        return self._first_queries

    def waits_in_cells(self, name: str) -> bool:
        """Whether rows of a query wait in cells, beside the tuples that these hold."""
        decided = self.engine.node(name).decided
        return decided is not None and decided.decision is not Decision.ROWS

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups there are."""
        return self._chooser.groups

    def spec(
        self,
        tables: dict[str, TypedBatch],
        *,
        collect: bool,
        shuffle_partitions: int,
        tells_rejects: bool = False,
        tells_late: bool = False,
        moved: str | None = None,
    ) -> Spec:
        """What executors are told once."""
        for name, taken in tables.items():
            self._count_table(name, taken)
        return Spec(
            self.run,
            _without_guard(self.program.catalog),
            self._first_queries,
            self.placement.stateless,
            self.placement.groups,
            tables,
            self._strategy,
            collect,
            self._past,
            shuffle_partitions,
            tells_rejects,
            tells_late,
            moved,
            self.functions(),
            self._max_instants,
            self._key,
        )

    def functions(self) -> tuple[UserFunction, ...]:
        """Of users, as far as queries call them that are there from the start or came later."""
        changes = map(Change.from_text, self.state.changes)
        return functions_in([*self._first_queries.values(), *(each.normal for each in changes)])

    def resume(self, state: CoordinatorState, *, moved: bool = False) -> None:
        """Go on from a state; queries that came and left before it come and leave again.

        Args:
            state: what was known.
            moved: with another number of cells than before.

        Raises:
            RunError: when one of them calls a function that nobody has registered since.
        """
        self.state = state
        for at, text in enumerate(state.changes):
            change = Change.from_text(text)
            if change.spread is not None:
                if moved:
                    change = replace(change, spread=replace(change.spread, stream=""))
                assert change.spread is not None
                self._remember_spread(change.spread, change.batch)
            elif change.normal is None:
                self.engine.unregister(change.name)
                self._chooser.drop(change.name)
            else:
                _check_functions(change)
                self.engine.register_compiled(change.normal)
                if change.group is not None and change.group.number == self._past:
                    group: Group | None = self._chooser.groups_with(self._past)
                else:
                    group = self._chooser.add(self.engine.node(change.name))
                change = replace(change, group=group) if moved else change
            if moved:
                state.changes[at] = change.to_text()
        if self._leaps is not None:
            clocks = {
                name: (clock.first_us, clock.largest_us) for name, clock in state.clocks.items()
            }
            state.leaps = state.leaps or known_before(clocks)
            self._leaps.resume(state.leaps)

    def header(
        self,
        batch: int,
        *,
        ended: bool = False,
        closing: bool = False,
        closing_us: int | None = None,
        asks: tuple[Ask, ...] = (),
    ) -> Header:
        """The header of a micro-batch that comes next.

        Raises:
            RunError: when a query would answer about too long a time without a row because of it.
        """
        made = self._header(batch, ended, closing, closing_us, asks)
        self._check_leaps(made)
        return made

    def _header(
        self,
        batch: int,
        ended: bool = False,
        closing: bool = False,
        closing_us: int | None = None,
        asks: tuple[Ask, ...] = (),
    ) -> Header:
        return Header(
            batch,
            self.state.clocks,
            self._idle(),
            ended,
            closing,
            closing_us,
            asks,
            tuple(self.state.changes),
            self.run,
        )

    def take(self, packed: Iterable[bytes], batch: int) -> Findings:
        """Take in what tasks and cells found in a micro-batch.

        Raises:
            RunError: when Spark delivers another micro-batch, or not all of it: its part of a checkpoint is damaged then.
        """
        outputs = sorted(map(Output.unpack, packed), key=lambda output: output.origin)
        _check_whole(outputs, batch)
        findings = Findings([], {}, [], [])
        partials: list[PartialAnswer] = []
        for output in outputs:
            findings.blocks += output.blocks
            findings.answers.update(output.answers)
            findings.rejects += output.rejects
            findings.late += output.late
            findings.controls += output.controls
            partials += output.partials
            self.state.results.update(output.counts)
            self.state.failures += output.failures
            self.state.faults.add(output.faults)
            self.state.tuples_sent += output.tuples_sent
            self.state.bytes_sent += output.bytes_sent
            self.state.cells_met += output.origin >= FIRST_CELL
            self.state.cells_rebuilt += output.rebuilt
            self._warn(output.warnings)
            for name, part in output.streams.items():
                self._count(name, part)
            self.skew.note(output.load)
        for name, clock in self.state.clocks.items():
            if clock.largest_us is not None:
                delay_us = self.program.catalog.relations[name].delay_us
                clock.watermark_us = max(clock.watermark_us, clock.largest_us - delay_us)
        if any(output.ended for output in outputs):
            self._end_input()
        self._check_leaps(self._header(batch + 1))  # before it counts
        with noted_in(self.state.faults):
            merged, answers = self._put_together(partials)
        findings.blocks = in_time_order(findings.blocks + merged)
        findings.answers.update(answers)
        self._spread_heavy(outputs, batch)
        return findings

    # Queries come and go

    def register(self, text: str, name: str | None, batch: int) -> QueryHandle:
        """Add a query from micro-batch `batch` on.

        Raises:
            CompileError: when it has errors.
        """
        query = self.program.bind_one(text, name=name, taken=self.engine.taken_names)
        normal = normalise(query)
        self.engine.register_compiled(normal)
        node = self.engine.node(query.name)
        if node.pull is not None and self._past is not None:
            group: Group | None = self._chooser.groups_with(self._past)
        else:
            group = self._chooser.add(node)
        functions = signed(functions_in(normal), self._key)
        change = Change(batch, query.name, normal, group, functions=functions)
        self.state.changes.append(change.to_text())
        return QueryHandle(query.name)

    def unregister(self, query: QueryHandle | str, batch: int) -> None:
        """Remove a query from micro-batch `batch` on."""
        name = self.engine.name_of(query)
        self.engine.unregister(name)
        self._chooser.drop(name)
        self._plans.pop(name, None)
        self.state.changes.append(Change(batch, name, None, None).to_text())

    def ask(self, query: QueryHandle | str, at: Any = None) -> Ask:
        """A question for the value of a pull query; its answer comes by its number."""
        name = self.engine.name_of(query)
        node = self.engine.node(name)
        if node.pull is None:
            raise RunError(
                f"query {name} delivers its results as they happen; only queries with BEGIN-END can be asked"
            )
        at_us = None if at is None else instant_us(at, _time_type(node))
        self._asked += 1
        return Ask(self._asked, name, at_us)

    def plan_of(self, name: str) -> PullPlan:
        """What a pull query does with its rows."""
        if name not in self._plans:
            node = self.engine.node(name)
            assert node.pull is not None
            self._plans[name] = PullPlan(node.outputs, node.pull)
        return self._plans[name]

    # Counters

    def stream_counts(self) -> dict[str, StreamCount]:
        """Rows read, late and rejected by stream and table."""
        relations = self.program.catalog.relations
        return {relations[name].name: count for name, count in self.state.counts.items()}

    def result_counts(self) -> dict[str, int]:
        """Results by query, those that have left included."""
        zero = dict.fromkeys(self.engine.queries, 0)
        return {**zero, **self.state.results}

    @property
    def tuples_read(self) -> int:
        return sum(count.read for count in self.state.counts.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know about answers so far, and which functions failed."""
        relations = self.program.catalog.relations
        return (
            *self.state.warnings,
            *self.state.faults.sentences(),
            *(
                sentence
                for name, count in self.state.counts.items()
                for sentence in intake_warnings(
                    relations[name], count, self.state.latest_us.get(name)
                )
            ),
        )

    @property
    def failures(self) -> int:
        return self.state.failures + sum(plan.failures for plan in self._plans.values())

    # Inside

    def _spread_heavy(self, outputs: Iterable[Output], batch: int) -> None:
        """See which values are heavy, and which of those can be dealt out, from the next micro-batch on."""
        groups = self._chooser.groups
        queries = {name: self.engine.node(name) for name in self.engine.queries}
        steps = [
            step
            for output in outputs
            if output.origin >= FIRST_CELL
            for number, cell in [divmod(output.origin - FIRST_CELL, FIRST_CELL)]
            for step in self.skew.ready(number, cell, groups[number].cells, output.oldest)
        ]
        for step in [*steps, *self.skew.starting(groups, queries)]:
            self._remember_spread(step, batch + 1)
            self.state.changes.append(Change(batch + 1, "", None, None, step).to_text())

    def _remember_spread(self, spread: Spread, batch: int) -> None:
        self.skew.remember(spread, batch)
        self._chooser.close(spread.group)

    def _count(self, name: str, part: Any) -> None:
        count, clock = self.state.counts[name], self.state.clocks[name]
        count.read += part.read
        count.late += part.late
        count.rejected += part.rejected
        count.reasons.update(part.reasons)
        count.nulled.update(part.nulled)
        if part.absent is not None:
            absent = Absent(frozenset(part.absent), part.sample) if part.absent else None
            count.note_columns(absent)
        if part.latest_us is not None:
            self.state.latest_us[name] = max(
                self.state.latest_us.get(name, part.latest_us), part.latest_us
            )
        if part.first_us is not None:
            seen = part.first_us if clock.first_us is None else clock.first_us
            clock.first_us = min(seen, part.first_us)
            seen = part.largest_us if clock.largest_us is None else clock.largest_us
            clock.largest_us = max(seen, part.largest_us)
            self._last_seen[name] = time.monotonic()
        if part.spans and self._leaps is not None:
            self._leaps.note(name, part.spans, self._gaps().get(name, 0))

    def _gaps(self) -> dict[str, int]:
        """By stream, the time without a row that all queries with EVERY allow."""
        known, gaps = self._gaps_known
        if known != len(self.state.changes):
            changes = map(Change.from_text, self.state.changes)
            came = [change.normal for change in changes if change.normal is not None]
            gaps = gaps_of([*self._first_queries.values(), *came], self._max_instants)
            self._gaps_known = len(self.state.changes), gaps
        return gaps

    def _check_leaps(self, header: Header) -> None:
        if self._leaps is not None:
            self._leaps.check(header)
            self.state.leaps = self._leaps.state

    def _end_input(self) -> None:
        """More input may be found one day: its watermarks are those of an engine that goes on after the end."""
        relations = self.program.catalog.relations
        after_end = watermarks_after_end(
            {
                name: (clock.largest_us, relations[name].delay_us)
                for name, clock in self.state.clocks.items()
            },
            settled=self.engine.waits_for_time,
        )
        for name, clock in self.state.clocks.items():
            clock.watermark_us = after_end[name]

    def _count_table(self, name: str, taken: TypedBatch) -> None:
        count = self.state.counts[name] = StreamCount()
        count.read, count.rejected = taken.read, len(taken.rejects)
        count.reasons.update(reject.reason for reject in taken.rejects)
        count.nulled.update(taken.nulled or ())

    def _idle(self) -> tuple[str, ...]:
        idle_us = self.program.settings.idle_us
        if idle_us is None:
            return ()
        now = time.monotonic()
        return tuple(
            name for name, seen in self._last_seen.items() if (now - seen) * 1_000_000 > idle_us
        )

    def _warn(self, warnings: Iterable[str]) -> None:
        self.state.warnings += [each for each in warnings if each not in self.state.warnings]

    def _put_together(
        self, partials: Sequence[PartialAnswer]
    ) -> tuple[list[ResultBlock], dict[int, ResultBlock]]:
        """The answers of pull queries from the parts that the cells gave."""
        together: dict[tuple[str, int | None, tuple[int, ...]], list[PartialAnswer]] = {}
        for each in partials:
            key = (each.query, each.ask, tuple(each.instants.tolist()))
            together.setdefault(key, []).append(each)
        blocks, answers = [], {}
        for (name, ask, instants), parts in together.items():
            plan = self.plan_of(name)
            answer = plan.put_together([each.part for each in parts], len(instants))
            block = ResultBlock(
                query=name,
                names=plan.names,
                columns=answer.columns,
                picks=None,
                times_us=np.array(instants, np.int64)[answer.window],
                time_type=_time_type(self.engine.node(name)),
                is_at=True,
            )
            self.state.results[name] += len(block)
            if ask is None:
                blocks.append(block)
            else:
                answers[ask] = block
        return blocks, answers


def _without_guard(catalog: Catalog) -> Catalog:
    """What is far ahead is decided before executors see it."""
    return replace(catalog, settings=replace(catalog.settings, max_ahead_us=None))


def _check_functions(change: Change) -> None:
    """See that the functions of a query that comes from a checkpoint, which holds no code, are known to this process."""
    missing = missing_functions(change.normal)
    if missing:
        raise RunError(
            f"query {change.name} of the checkpoint calls the function {missing[0]}, which is not registered: "
            f'call cqc.function("{missing[0]}", ...) before the start, or name another folder'
        )


def _check_whole(outputs: Sequence[Output], batch: int) -> None:
    """See that outputs are those of a micro-batch, and that no task is missing."""
    others = [each.batch for each in outputs if each.batch not in (None, batch)]
    counts = {each.tasks for each in outputs if each.tasks is not None}
    origins = [each.origin for each in outputs if each.tasks is not None]
    if others or (counts and (len(counts) > 1 or origins != list(range(min(counts))))):
        found = f"micro-batch {others[0]}" if others else f"a part of micro-batch {batch}"
        raise RunError(
            f"Spark's part of the checkpoint is damaged (it delivers {found} where {batch} should come): {ADVICE}"
        )


def _time_type(node: QueryNode) -> Any:
    """How instants of a query are shown: as by an engine, where its streams may have event times of several types."""
    relations = [*node.body.relations, *relations_of(node)]
    for relation in relations:
        if relation.is_stream:
            return relation.time_type
    made = [each.made_by.numeric_time for each in relations if each.made_by is not None]
    return ColumnType.DOUBLE if any(made) else ColumnType.TIMESTAMP
