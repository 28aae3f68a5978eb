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

from cqc.runtime.adapt.work_watch import REMOVED, SlotSeconds, WorkWatch, too_long
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.join.step.row_kernels import count_slots
from cqc.runtime.join.step.theta_lists import code_of, count_members, member_ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.join.membership.membership import JoinMembership
    from cqc.runtime.join.membership.slots import Member, Slot

NO_BOUND = np.iinfo(np.int64).max // 2
_SAMPLE = 64  # values of either side by which the members of a family are compared


class JoinLimits:
    """What one packet may cost each slot of a node."""

    def __init__(self) -> None:
        # Results of a slot in one packet, beside one for each tuple.
        self.most_found: int | None = None
        self.watch = WorkWatch()
        self.silenced: dict[Member, str] = {}  # whose queries must leave, and why
        # Told by the owner: a query of a slot, and the members that are left by all their queries when some queries go.
        self.query_at: Callable[[int], str] = lambda slot: ""
        self.left_by: Callable[[set[str]], list[Member]] = lambda queries: []
        self._slot_seconds = SlotSeconds()

    @property
    def is_limited(self) -> bool:
        """Whether a packet may have to be joined again without some of the slots."""
        return self.most_found is not None or self.watch.most_seconds is not None

    def look(self, members: JoinMembership, lineage: NDArray[np.uint64], rows: int) -> None:
        """Credit the slots of the rows that were just joined.

        Raises:
            Flood: when some of them have taken too long, or nobody wants them.
            Halted: when everything has to stop.
        """
        watch, table, counts = self.watch, members.table, members.counts
        seconds = watch.taken()
        size = table.size
        spent = self._slot_seconds.of(watch.turn, size)
        count_slots(lineage, rows, counts)
        spent[:size] += counts[:size] * (seconds / max(rows, 1))
        shares = max(int(counts[:size].sum()), 1)
        credit: NDArray[np.float64] = counts[:size] * np.float64(seconds / shares)
        table.totals.add_seconds(credit)
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

    def seconds(self, slots: int) -> NDArray[np.float64]:
        """A copy of what each slot has taken in this turn."""
        return self._slot_seconds.of(self.watch.turn, slots).copy()

    def restore(self, seconds: NDArray[np.float64]) -> None:
        """Those that are left begin again, from what they had taken before."""
        self._slot_seconds.restore(seconds)
        self.watch.resume()

    def muted(self, members: JoinMembership) -> list[int]:
        """The slots of which nobody is left."""
        if not self.silenced:
            return []
        return sorted(
            number
            for number, slot in members.table.slots.items()
            if all(member in self.silenced for member in slot.members)
        )

    def silence(self, members: JoinMembership, flood: Flood, *, all_members: bool) -> bool:
        """Let those that went too far leave; whether what is checked for others has changed by that.

        `all_members`: of a family all go, else those first that accept most.
        """
        going = list(flood.members)
        for slot in [members.table.slots[number] for number in flood.slots]:
            left = [each for each in slot.members if each not in self.silenced]
            going += left if all_members or len(left) < 2 else _loosest(slot, left)
        self.silenced |= dict.fromkeys(going, flood.why)
        changed = [slot for slot in members.slots if slot.is_family and slot.mute(self.silenced)]
        return bool(changed)


def _loosest(slot: Slot, members: list[Member]) -> list[Member]:
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
