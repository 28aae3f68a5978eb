"""How the rows of a join travel: from the tuples that start to the combinations that are whole.

Rows set out on the routes of their starting item (`join_routes`). Where nothing has to be known of a level before the next one they
go through all of them at once (`through_route`), else branch by branch, and may wait there for others of the same history
(`metaqueues`). What is whole leaves with the slots that want it.

    tuples of S -> R -> T: whole
               -> U: waits, and goes on with the next packet's
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.join.execute.member_ranks import rank_members
from cqc.runtime.join.execute.metaqueues import MetaQueues
from cqc.runtime.join.execute.results import JoinResults
from cqc.runtime.join.membership.membership import JoinMembership
from cqc.runtime.join.step.probe_kernels import (
    GAVE_UP,
    count_slots,
    count_slots_of,
    finish_rows,
    finish_whole,
    keep_rows,
    pick_rows,
    start_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.join.execute.metaqueues import MetaQueue
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.join.plan.routes import Branch, Exit, Routes
    from cqc.runtime.join.step.fused_probe import FusedProbe
    from cqc.runtime.join.step.probe_step import Rows
    from cqc.runtime.state.shared_state import SharedState

_FIRST_PART = 64  # tuples that start a join, before it is known what they find


class JoinExecutor(JoinMembership):
    """The rows of one node on their way."""

    _goes_through = True  # whether nothing has to be known of a level before the next one

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name."""
        super().__init__(host, states)
        self.queues = MetaQueues()
        # Tuples from which the order of probes is learned do not wait: how far they reach is known for them alone.
        self._teaching = False
        self._part_rows: dict[int, int] = {}  # by starting item, tuples that start at a time
        self.counts_only = False  # nobody asks for rows, only how many there are
        self.watch = WorkWatch()

    def _look(self, lineage: NDArray[np.uint64], rows: int) -> None:
        """A few milliseconds have passed, lately with these rows: count them, and stop where that must be."""
        raise NotImplementedError

    def _in_parts(
        self,
        plan: JoinPlan,
        item: int,
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
        first: int,
        packet_first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """Start with so many tuples at a time that what they find first would fit, as far as it is known."""
        begin = 0
        while begin < len(ts_us):
            end = begin + self._part_rows.get(item, _FIRST_PART)
            self._start(
                plan, item, lineage[begin:end], ts_us[begin:end], first + begin, packet_first,
                found, more=more or end < len(ts_us),
            )  # fmt: skip
            begin = end

    def _start(
        self,
        plan: JoinPlan,
        item: int,
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
        first: int,
        packet_first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """Take tuples into the join, and everything on that is ready then."""
        routes = plan.routes(item, ts_us)
        rows = routes.start
        if len(ts_us) > rows.room:
            rows.resize(2 * len(ts_us))
        rows.count = start_rows(lineage, ts_us, first, rows.positions, rows.ts, rows.lineage)
        if rows.count:
            self._set_out(plan, item, routes, rows, packet_first, found, more=more)

    def _set_out(
        self,
        plan: JoinPlan,
        item: int,
        routes: Routes,
        rows: Rows,
        packet_first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """Rows that start go on: through all levels at once where that may be, else branch by branch."""
        through = routes.through if self._goes_through else None
        alone = self.queues.lets_through and not (more or plan.observing)
        if (
            through is None
            or not alone
            or not through.fits(self.queues, rows.count)
            or not self._go_through(plan, through, rows, packet_first, found)
        ):
            oldest_us = rows.oldest_us
            self._teaching = plan.observing
            for branch in routes.branches:
                self._arrive(plan, branch, rows, packet_first, oldest_us, found, more=more)
            self._teaching = False
        self._part_rows[item] = self.queues.start_rows(routes.branches)
        if self.watch.clock() > self.watch.look_at:
            self._look(rows.lineage, rows.count)
        while (queue := self.queues.next_ready()) is not None:
            self._take(plan, queue, packet_first, found, more=more)

    def _go_through(
        self,
        plan: JoinPlan,
        through: FusedProbe,
        start: Rows,
        packet_first: int,
        found: list[JoinResults],
    ) -> bool:
        """Take starting tuples through as many levels at once as may be, and through the others one by one; FALSE: through none."""
        end = through.open_to(0)
        if not end:
            return False
        rows, reached = through.run(start, 0, end, packet_first)
        if not reached:
            return False
        through.note_work(0, end, self.queues)
        if rows.count:
            self._come_out(plan, through, reached, rows, start, packet_first, found)
        return True

    def _come_out(
        self,
        plan: JoinPlan,
        through: FusedProbe,
        end: int,
        rows: Rows,
        start: Rows,
        packet_first: int,
        found: list[JoinResults],
    ) -> None:
        """Rows have passed the levels before `end`."""
        if end == len(through.levels):
            whole = through.levels[-1].completes
            found += self._finish(plan, through.leaving, rows, whole=whole)
        else:
            queue = through.queue(end)
            self._go_on(plan, queue, rows, packet_first, start.oldest_us, found, more=False)

    def _arrive(
        self,
        plan: JoinPlan,
        branch: Branch,
        rows: Rows,
        packet_first: int,
        oldest_us: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """Rows come to a branch: they go on, or wait for others."""
        state = branch.level.target.state
        if state.head == state.first or state.newest_us < oldest_us + branch.least_us:
            return  # nothing that is there is young enough
        if branch.picked is not None:
            rows = _pick(rows, branch.mask, branch.picked)
        if not rows.count:
            return
        queue = self.queues.of(branch)
        if self._teaching or self.queues.passes(queue, rows.count, more=more):
            self._go_on(plan, queue, rows, packet_first, oldest_us, found, more=more)
        else:
            self.queues.put(queue, rows, oldest_us)

    def _take(
        self,
        plan: JoinPlan,
        queue: MetaQueue,
        packet_first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """The rows that wait in a queue go on."""
        oldest_us = queue.oldest_us
        self._go_on(plan, queue, queue.take(), packet_first, oldest_us, found, more=more)

    def _go_on(
        self,
        plan: JoinPlan,
        queue: MetaQueue,
        rows: Rows,
        packet_first: int,
        oldest_us: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        """Take the rows through a level and on from there; what is complete is added to `found`."""
        branch = queue.branch
        for train in queue.trains(rows):
            probes = train.count
            made = self._extend(branch, train, packet_first)
            if self.watch.clock() > self.watch.look_at:
                self._look(train.lineage, probes)
            if made.count == GAVE_UP:
                queue.gave_up(probes)
                continue
            if self._teaching:
                plan.observe(branch, probes, made.count)
            self.queues.ran(queue, probes, made.count)
            if made.count:
                tally = branch.level.tally
                for each in branch.exits:
                    if tally is not None:
                        self._count(each.part, tally, made.count)
                        continue
                    found += self._finish(plan, each, made, whole=branch.level.completes)
                for child in branch.children:
                    self._arrive(plan, child, made, packet_first, oldest_us, found, more=more)

    def _drain(self, plan: JoinPlan, packet_first: int, found: list[JoinResults]) -> None:
        """Everything that waits goes on."""
        while (queue := self.queues.next_ready() or self.queues.next_waiting()) is not None:
            self._take(plan, queue, packet_first, found, more=False)

    def _extend(self, branch: Branch, rows: Rows, packet_first: int) -> Rows:
        """What a level makes of the rows; for joins that have something to say to that."""
        return branch.level.extend(rows, packet_first)

    def _finish(
        self, plan: JoinPlan, leaving: Exit, rows: Rows, *, whole: bool
    ) -> list[JoinResults]:
        """The results of a host that leaves; `whole`: all rows are its own and have their result time."""
        part, own = leaving.part, plan.of(leaving.part)
        if own.is_counted_by_slot:
            if self.counts_only:
                count = count_slots_of(rows.lineage, rows.count, leaving.mask, self._counts)
                self._count(part, self._counts, count)
                return []
            if whole:
                positions, ts_us, lineage, counts = finish_whole(
                    rows.count, rows.positions, rows.ts, rows.lineage, leaving.places, self._table.size
                )  # fmt: skip
                self._count(part, counts, rows.count)
                return [JoinResults(part, positions, ts_us, lineage, counts, self._table, {})]
        if whole:
            positions = rows.positions[leaving.places, : rows.count]
            ts_us = rows.ts[0, : rows.count].copy()
            lineage = rows.lineage[: rows.count].copy()
        else:
            positions, ts_us, lineage = finish_rows(
                rows.count, rows.positions, rows.ts, rows.lineage,
                leaving.mask, leaving.places, leaving.stream_places,
            )  # fmt: skip
        if own.checks or part.checks.text_edges:
            part.checks.apply(positions, lineage, own.checks, own.check_slots)
            kept = keep_rows(lineage)
            if len(kept) < len(lineage):
                positions, lineage, ts_us = positions[:, kept], lineage[kept], ts_us[kept]
        if not len(ts_us):
            return []
        count_slots(lineage, len(lineage), self._counts)
        counts = self._counts[: self._table.size].copy()
        ranges = rank_members(
            plan, self._table, part.states, part.checks, positions, lineage, counts
        )
        self._results += len(ts_us)
        part.results += len(ts_us)
        return [JoinResults(part, positions, ts_us, lineage, counts, self._table, ranges)]

    def _count(self, part: HostAtNode, counts: NDArray[np.int64], rows: int) -> None:
        """Rows were found that only have to be counted; `counts` by slot."""
        self._table.totals.add(counts[: self._table.size])
        self._results += rows
        part.results += rows


def _pick(rows: Rows, mask: NDArray[np.uint64] | None, picked: Rows) -> Rows:
    """The rows that have a slot of the mask, with those slots only."""
    if rows.count > picked.room:
        picked.resize(2 * rows.count)
    picked.count = pick_rows(
        rows.count, rows.positions, rows.ts, rows.lineage, mask,
        picked.positions, picked.ts, picked.lineage,
    )  # fmt: skip
    return picked
