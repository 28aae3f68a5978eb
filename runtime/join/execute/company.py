"""Rows that could never be whole do not start: for each slot, some tuple of every other item must be near enough in time.

A rule of several steps has a rare one nearly always. Its other steps may match thousands of tuples, each of which would meet the other
states for nothing. So before the tuples of a packet start, their lineage is left with the slots that have company: a tuple of each
other stream item, wanted by the slot and within its window, whatever its keys. One pass over the times answers this for all tuples of
the packet; it is asked where that costs little beside the packet, and rests where it takes too few away.

    slot 0: a then b within 5 s      a at 10, 11, 40; b at 12        a at 10 and 11 start, a at 40 does not

What is stored keeps its lineage: a tuple that comes later starts by itself, and finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.adapt import settings
from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.decision import Decision, counted
from cqc.runtime.join.step.company_kernels import slots_in_company, times_by_slot
from cqc.runtime.join.step.conditions import shifted
from cqc.runtime.lineage.rank_lineage import FAR_US, bitmap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.join.step.probe_step import JoinInput

_IN_ORDER = np.zeros(0, np.int64)


@record
class Needs:
    """What tuples of one item must find: entry k says that slot `slots[k]` needs a tuple of item `others[k]`."""

    slots: NDArray[np.int64]  # ascending
    others: NDArray[np.int64]
    lows: NDArray[np.int64]  # how much later the tuple is at least (earlier when negative)
    highs: NDArray[np.int64]
    of_slot: NDArray[np.int64]  # where the needs of each slot begin, and the end
    masks: dict[int, NDArray[np.uint64]]  # by other item, the slots that need it
    is_all: bool  # every slot that a tuple of the item can have needs another one


class Company:
    """Takes slots away from the tuples that start, for one plan."""

    def __init__(self, plan: JoinPlan) -> None:
        self._inputs: Sequence[JoinInput] = plan.inputs
        self._words = plan.words
        self._needs = {item: _needs_of(plan, item) for item in plan.starts}
        self._controllers: dict[int, Controller[bool]] = {}
        self._doubted = set(plan.starts)  # items for which asking is not known to be worth it
        self.asked = self.left = 0  # pairs of tuple and slot

    def of(
        self, item: int, lineage: NDArray[np.uint64], ts_us: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """The lineage of tuples that start, as far as they have company; they are in their state already. Empty: none has."""
        needs, count = self._needs[item], len(ts_us)
        if count < settings.COMPANY_LEAST_LOOKS or not len(needs.slots):
            return lineage
        oldest = int(ts_us.min())
        reach = {other: self._within_reach(needs, other, oldest) for other in needs.masks}
        if not any(map(len, reach.values())):
            return self._alone(needs, lineage)
        if (
            count < settings.COMPANY_LEAST_ROWS
            or sum(len(each) for each in reach.values()) > settings.COMPANY_MOST_TUPLES * count
        ):
            return lineage
        controller = self._controllers.setdefault(item, Controller(settings.COMPANY, True))
        if not controller.arm:
            controller.budget.worked(0.0)
            controller.arm = controller.is_rested()
            if not controller.arm:
                return lineage
        every = count // settings.COMPANY_SAMPLE
        if every > 1 and item in self._doubted:
            some = np.ascontiguousarray(lineage[::every]), np.ascontiguousarray(ts_us[::every])
            _, asked, left = self._ask(needs, reach, *some)
            if self._judge(item, asked, left):
                return lineage
        kept, asked, left = self._ask(needs, reach, lineage, ts_us)
        self._judge(item, asked, left)
        return kept

    def _judge(self, item: int, asked: int, left: int) -> bool:
        """Note what asking took away; whether it was not worth it."""
        self.asked += asked
        self.left += left
        controller, lost = self._controllers[item], left > settings.COMPANY_MOST_LEFT * asked
        controller.arm = not controller.loses(lost=lost)
        if lost:
            self._doubted.add(item)
        else:
            self._doubted.discard(item)
        return lost

    def _alone(self, needs: Needs, lineage: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The lineage where no other item has a tuple that is young enough: slots that need one are not looked at one by one."""
        if needs.is_all:
            self.asked += int(np.bitwise_count(lineage).sum())
            return lineage[:0]
        words = min(lineage.shape[1], self._words)
        kept = lineage.copy()
        for mask in needs.masks.values():
            kept[:, :words] &= ~mask[:words]
        self.asked += int(np.bitwise_count(lineage).sum())
        self.left += int(np.bitwise_count(kept).sum())
        return kept

    def decision(self, about: str) -> Decision | None:
        """How much was taken away."""
        if not self.asked:
            return None
        does = f"starts {self.left:,} of {self.asked:,} pairs of tuple and query: no others have a tuple of every stream in time"
        rests = sum(not each.arm for each in self._controllers.values())
        return Decision(about, does, note=f"rests for {counted(rests, 'stream')}" if rests else "")

    def _within_reach(self, needs: Needs, other: int, oldest_us: int) -> range:
        """The indexes of an item's tuples that are not too old for all."""
        state = self._inputs[other].state
        begin, end = state.first - state.base, state.head - state.base
        least = shifted.py_func(oldest_us, int(needs.lows[needs.others == other].min()))
        return range(begin + int(np.searchsorted(state.newest[begin:end], least)), end)

    def _ask(
        self,
        needs: Needs,
        reach: dict[int, range],
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
    ) -> tuple[NDArray[np.uint64], int, int]:
        count = len(needs.slots)
        begins, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
        lists, length = [], 0
        for other, indexes in reach.items():
            each = self._inputs[other]
            part = slice(indexes.start, indexes.stop)
            times = each.state.ts[part]
            ordered = _IN_ORDER
            if not (times[1:] >= times[:-1]).all():
                ordered = np.argsort(times, kind="stable")
            starts, found = times_by_slot(
                each.lineage.values[part], times, ordered, needs.masks[other]
            )
            own = needs.others == other
            begins[own] = starts[needs.slots[own]] + length
            ends[own] = starts[needs.slots[own] + 1] + length
            lists.append(found)
            length += len(found)
        # The rarest need of a slot is asked first.
        order = np.lexsort((ends - begins, needs.slots))
        begins, ends = begins[order], ends[order]
        missing = np.unique(needs.slots[order][begins == ends])
        possible = ~bitmap(missing.tolist(), self._words)
        kept: tuple[Any, int, int] = slots_in_company(
            lineage, ts_us, possible, (needs.of_slot, begins, ends),
            (needs.lows[order], needs.highs[order]), np.concatenate(lists),
        )  # fmt: skip
        return kept


def _needs_of(plan: JoinPlan, item: int) -> Needs:
    found: list[tuple[int, int, int, int]] = []
    is_all = True
    for part, own in plan.parts.items():
        if item not in part.items:
            continue
        is_all &= any(each.item != item for each in part.stream_inputs)
        for each in part.stream_inputs:
            if each.item != item:
                latest = own.most_between(item, each.item)
                earliest = own.most_between(each.item, item)
                found += [
                    (slot, each.item, -min(int(low), FAR_US), min(int(high), FAR_US))
                    for slot, low, high in zip(own.numbers, earliest, latest, strict=True)
                ]
    table = np.array(sorted(found), np.int64).reshape(-1, 4)
    slots, others, lows, highs = (np.ascontiguousarray(column) for column in table.T)
    of_slot = np.searchsorted(slots, np.arange(64 * plan.words + 1))
    masks = {
        int(other): bitmap(slots[others == other].tolist(), plan.words)
        for other in np.unique(others)
    }
    return Needs(slots, others, lows, highs, of_slot.astype(np.int64), masks, is_all)
