"""How the rows of a flat join travel: from the tuples that start to the combinations that are whole.

Rows set out on the routes of their starting item (`routes`). Where nothing has to be known of a level before the next one they
go through all of them at once (`fused_probe`), else branch by branch, and may wait there for others of the same history
(`metaqueues`). What is whole leaves with the slots that want it.

    tuples of S -> R -> T: whole
               -> U: waits, and goes on with the next packet's
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.join.step.probe_kernels import GAVE_UP
from cqc.runtime.join.step.row_kernels import pick_rows, start_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.join.execute.executor import NodeContext, Turn
    from cqc.runtime.join.execute.metaqueues import MetaQueue, MetaQueues
    from cqc.runtime.join.execute.result_maker import ResultMaker
    from cqc.runtime.join.execute.route_steps import RouteSteps
    from cqc.runtime.join.plan.route_planner import RoutePlanner
    from cqc.runtime.join.plan.routes import Branch, Routes
    from cqc.runtime.join.step.fused_probe import FusedProbe
    from cqc.runtime.join.step.probe_step import Rows

_FIRST_PART = 64  # tuples that start a join, before it is known what they find


class RouteWalk:
    """The rows of one node on their way, while its plan lasts."""

    def __init__(
        self,
        context: NodeContext,
        planner: RoutePlanner,
        steps: RouteSteps,
        maker: ResultMaker,
        queues: MetaQueues,
        part_rows: dict[int, int],
    ) -> None:
        """`queues` are where rows wait. `part_rows` by starting item: how many tuples start at a time, as far as it is known; written here."""
        self._members = context.members
        self._limits = context.limits
        self._planner = planner
        self._steps = steps
        self._maker = maker
        self._queues = queues
        self._part_rows = part_rows
        # Tuples from which the order of probes is learned do not wait: how far they reach is known for them alone.
        self._teaching = False

    def start(
        self,
        item: int,
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
        first: int,
        turn: Turn,
    ) -> None:
        """Start with the tuples from position `first` on: so many at a time that what they find first would fit."""
        begin, more = 0, turn.more
        while begin < len(ts_us):
            end = begin + self._part_rows.get(item, _FIRST_PART)
            turn.more = more or end < len(ts_us)
            times = ts_us[begin:end]
            routes = self._planner.routes(item, times)
            rows = routes.start
            if len(times) > rows.room:
                rows.resize(2 * len(times))
            rows.count = start_rows(
                lineage[begin:end], times, first + begin, rows.positions, rows.ts, rows.lineage
            )
            if rows.count:
                self.set_out(item, routes, rows, turn, len(times))
            else:
                self._learn_part(item, (), len(times))
            self._steps.started(item)
            begin = end
        turn.more = more

    def none_starts(self, item: int, ts_us: NDArray[np.int64]) -> None:
        """Tuples came of which none starts: what is counted by packets is counted."""
        self._planner.routes(item, ts_us)
        self._learn_part(item, (), len(ts_us))
        self._steps.started(item)

    def set_out(self, item: int, routes: Routes, rows: Rows, turn: Turn, offered: int) -> None:
        """Rows that start go on: through all levels at once where that may be, else branch by branch.

        They are those of the `offered` tuples that somebody wants.
        """
        queues, through = self._queues, routes.through
        if through is not None and self._goes_through(through, rows, turn):
            before = self._part_rows.get(item, _FIRST_PART)
            self._part_rows[item] = through.start_rows(rows.count, offered, before)
        else:
            queues.came(routes.branches, 0)
            oldest_us = rows.oldest_us
            self._teaching = self._planner.observing
            for branch in routes.branches:
                self._arrive(branch, rows, oldest_us, turn)
            self._teaching = False
            self._learn_part(item, routes.branches, offered)
        limits = self._limits
        if limits.watch.clock() > limits.watch.look_at:
            limits.look(self._members, rows.lineage, rows.count)
        if queues:
            while (queue := queues.next_ready()) is not None:
                self._take(queue, turn)

    def _learn_part(self, item: int, branches: Sequence[Branch], offered: int) -> None:
        """How many tuples start together the next time."""
        before = self._part_rows.get(item, _FIRST_PART)
        self._part_rows[item] = self._queues.start_rows(branches, offered, before)

    def drain(self, turn: Turn) -> None:
        """Everything that waits goes on."""
        while (queue := self._queues.next_ready() or self._queues.next_waiting()) is not None:
            self._take(queue, turn)

    def begin_again(self) -> None:
        """What was begun is forgotten."""
        self._teaching = False

    def _goes_through(self, through: FusedProbe, rows: Rows, turn: Turn) -> bool:
        """Take starting rows through as many levels at once as may be, and through the others one by one; FALSE: through none."""
        if turn.more or self._planner.observing or not self._queues.lets_through:
            return False
        if not self._steps.goes_through or not through.fits(self._queues, rows.count):
            return False
        passed = self._steps.go_through(through, rows, turn.packet_first, self._queues)
        if passed is None:
            return False
        made, reached = passed
        if made.count:
            if reached == len(through.levels):
                whole = through.levels[-1].completes
                turn.found += self._maker.leave(through.leaving, made, whole=whole)
            else:
                self._go_on(through.queue(reached), made, rows.oldest_us, turn)
        return True

    def _arrive(self, branch: Branch, rows: Rows, oldest_us: int, turn: Turn) -> None:
        """Rows come to a branch: they go on, or wait for others."""
        state = branch.level.target.state
        if state.head == state.first or state.newest_us < oldest_us + branch.least_us:
            return  # nothing that is there is young enough
        if branch.picked is not None:
            rows = _pick(rows, branch.mask, branch.picked)
        if not rows.count:
            return
        queue = self._queues.of(branch)
        queue.came = rows.count
        if self._teaching or self._queues.passes(queue, rows.count, more=turn.more):
            self._go_on(queue, rows, oldest_us, turn)
        else:
            self._queues.put(queue, rows, oldest_us)

    def _take(self, queue: MetaQueue, turn: Turn) -> None:
        """The rows that wait in a queue go on."""
        oldest_us = queue.oldest_us
        self._go_on(queue, queue.take(), oldest_us, turn)

    def _go_on(self, queue: MetaQueue, rows: Rows, oldest_us: int, turn: Turn) -> None:
        """Take the rows through a level and on from there; what is complete is added to what was found."""
        branch, limits = queue.branch, self._limits
        for train in queue.trains(rows):
            probes = train.count
            made = self._steps.extend(branch, train, turn.packet_first)
            if limits.watch.clock() > limits.watch.look_at:
                limits.look(self._members, train.lineage, probes)
            if made.count == GAVE_UP:
                queue.gave_up(probes)
                continue
            if self._teaching:
                self._planner.observe(branch, probes, made.count)
            self._queues.ran(queue, probes, made.count)
            if made.count:
                tally = branch.level.tally
                for each in branch.exits:
                    if tally is not None:
                        self._maker.count(each.part, tally, made.count)
                        continue
                    turn.found += self._maker.leave(each, made, whole=branch.level.completes)
                for child in branch.children:
                    self._arrive(child, made, oldest_us, turn)


def _pick(rows: Rows, mask: NDArray[np.uint64] | None, picked: Rows) -> Rows:
    """The rows that have a slot of the mask, with those slots only."""
    if rows.count > picked.room:
        picked.resize(2 * rows.count)
    picked.count = pick_rows(
        rows.count, rows.positions, rows.ts, rows.lineage, mask,
        picked.positions, picked.ts, picked.lineage,
    )  # fmt: skip
    return picked
