"""When a join goes on without one of its queries: it finds too much, takes too long, or is not wanted any more.

What a packet finds is handed on only when the packet is done. So when a query has to leave in the middle, what was found so far is
taken back, the query's slot is silenced, and the packet is joined again: the others get exactly what they would have got. Whoever owns
the engine is told which queries were silenced, and why, and lets them go.

Time is credited to slots by the rows that were joined (`work_watch`): a slot that is in all of them is credited with all of it, as if
it were alone; so the sum over slots may be more than the time that passed. In a family the members with the loosest conditions make
the others work: they go first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.adapt.work_watch import REMOVED, SlotSeconds, too_long
from cqc.runtime.join.execute.executor import JoinExecutor
from cqc.runtime.join.execute.result_limits import Flood, FoundWithin
from cqc.runtime.join.step.probe_kernels import count_slots
from cqc.runtime.join.step.theta_lists import code_of, count_members, member_ranges
from cqc.runtime.lineage.rank_lineage import bitmap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.slots import Member, Slot
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.state.shared_state import SharedState

_NO_BOUND = np.iinfo(np.int64).max // 2
_SAMPLE = 64  # values of either side by which the members of a family are compared


class JoinLimits(JoinExecutor):
    """What one packet may cost each slot of a node."""

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name."""
        super().__init__(host, states)
        # Results of a slot in one packet, beside one for each tuple.
        self.most_found: int | None = None
        self.silenced: dict[Member, str] = {}  # whose queries must leave, and why
        # Told by the owner: a query of a slot, and the members that are left by all their queries when some queries go.
        self.query_at: Callable[[int], str] = lambda slot: ""
        self.left_by: Callable[[set[str]], list[Member]] = lambda queries: []
        self._slot_seconds = SlotSeconds()
        self._admitted: dict[int, NDArray[np.uint64]] = {}  # by item, of the packet at hand

    @property
    def is_limited(self) -> bool:
        """Whether a packet may have to be joined again without some of the slots."""
        return self.most_found is not None or self.watch.most_seconds is not None

    def _look(self, lineage: NDArray[np.uint64], rows: int) -> None:
        """Credit the slots of the rows that were just joined.

        Raises:
            Flood: when some of them have taken too long, or nobody wants them.
            Halted: when everything has to stop.
        """
        watch = self.watch
        seconds = watch.taken()
        size = self._table.size
        spent = self._slot_seconds.of(watch.turn, size)
        count_slots(lineage, rows, self._counts)
        spent[:size] += self._counts[:size] * (seconds / max(rows, 1))
        shares = max(int(self._counts[:size].sum()), 1)
        credit: NDArray[np.float64] = self._counts[:size] * np.float64(seconds / shares)
        self._table.totals.add_seconds(credit)
        if watch.dropped:
            going = [each for each in self.left_by(watch.dropped) if each not in self.silenced]
            if going:
                raise Flood([], REMOVED, going)
        if watch.most_seconds is not None:
            over = np.flatnonzero(spent > watch.most_seconds).tolist()
            if over:
                raise Flood(over, too_long(watch.most_seconds))
        if watch.is_time_to_tell():
            watch.busiest = self.query_at(int(spent.argmax()))

    def _join_stored(
        self,
        plan: JoinPlan,
        relation: str,
        count: int,
        first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        raise NotImplementedError

    def _prepare(self) -> JoinPlan:
        raise NotImplementedError

    def _join_within(
        self, plan: JoinPlan, relation: str, count: int, first: int
    ) -> list[JoinResults]:
        """Join the tuples that were stored from `first` on; a slot that goes too far is silenced, and the others miss nothing.

        Nothing waits for a next packet: when a slot is silenced the packet is joined again without it.
        """
        most = _NO_BOUND if self.most_found is None else self.most_found
        before = self._slot_seconds.of(self.watch.turn, self._table.size).copy()
        while True:
            self._mute(relation)
            found = FoundWithin(most + count, self._table.size, plan.families)
            try:
                self._join_stored(plan, relation, count, first, found, more=False)
            except Flood as flood:
                self._results -= sum(map(len, found))
                found.take_back()
                self._begin_again(relation, first)
                self._silence(flood)
                plan = self._plan or self._prepare()
                self._slot_seconds.restore(before)  # those that are left begin again
                self.watch.resume()
            else:
                return found

    def _begin_again(self, relation: str, first: int) -> None:
        """Forget what was begun with the packet that is stored at `first`."""
        del relation, first
        self.queues.clear()
        self._teaching = False

    def _mute(self, relation: str) -> None:
        """Let no tuple of a packet start for the slots that are silenced."""
        muted = self._muted()
        if muted:
            others = ~bitmap(muted, self._words)
            for item in self._items_of[relation]:
                lineage = self._admitted[item]
                self._admitted[item] = lineage & others[: lineage.shape[1]]

    def _muted(self) -> list[int]:
        """The slots of which nobody is left."""
        if not self.silenced:
            return []
        return sorted(
            number
            for number, slot in self._table.slots.items()
            if all(member in self.silenced for member in slot.members)
        )

    def _silence(self, flood: Flood) -> None:
        going = list(flood.members)
        for slot in [self._table.slots[number] for number in flood.slots]:
            left = [each for each in slot.members if each not in self.silenced]
            going += self._loosest(slot, left) if len(left) > 1 else left
        self.silenced |= dict.fromkeys(going, flood.why)
        for slot in self._table.slots.values():
            if slot.is_family and slot.mute(self.silenced):
                self._plan = None  # the conditions that its levels check are narrower now

    def _loosest(self, slot: Slot, members: list[Member]) -> list[Member]:
        """The members of a family that accept most, told by some of the values that are there."""
        shape, states = slot.shape, slot.part.states
        assert shape is not None
        sides = []
        for item, column in (
            (shape.left_item, shape.left_column),
            (shape.right_item, shape.right_column),
        ):
            state = states[item]
            live = state.values[state.first - state.base : state.head - state.base]
            values = live[:: max(1, len(live) // _SAMPLE), state.value_column(column)]
            sides.append(np.ascontiguousarray(values))
        left = np.repeat(sides[0], len(sides[1]))
        right = np.tile(sides[1], len(sides[0]))
        lower, upper = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
        member_ranges(code_of(shape, shape.left_item), left, right, slot.parameters, lower, upper)
        counts = np.zeros(len(slot.members), np.int64)
        count_members(lower, upper, counts)
        most = max((int(counts[each.place]) for each in members), default=0)
        return [each for each in members if 2 * counts[each.place] >= most]
