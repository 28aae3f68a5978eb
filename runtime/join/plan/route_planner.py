"""By which ways the rows of a flat join go: orders that are decided again and again, and the steps on the way.

For every stream item that can start (where a packet arrives) each host chooses an order of its other items, from what was found
before and what is within reach now; the tree of steps for the chosen orders is made once and kept (`routes`). Steps that scan have a
lane of their item's tuples in time order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.join.plan.item_order import EVERY, JoinOrder, pairs_of
from cqc.runtime.join.plan.routes import RouteBuilder, Traveller
from cqc.runtime.join.step.key_forms import key_forms
from cqc.runtime.join.step.probe_step import KeyEdge, ProbeStep, StepPlan
from cqc.runtime.join.step.theta_lists import predicate_lists
from cqc.runtime.lineage.rank_lineage import WORD_BITS, interval_sets
from cqc.runtime.state.scan_lane import ScanLane

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.plan.join_plan import JoinPlan, PartPlan
    from cqc.runtime.join.plan.routes import Branch, Edge, Routes
    from cqc.runtime.join.step.phase_order import PhaseCounts
    from cqc.runtime.join.step.probe_step import JoinInput, Work
    from cqc.runtime.lineage.rank_lineage import RankSets


class RoutePlanner:
    """The ways through the items of one plan."""

    def __init__(
        self,
        plan: JoinPlan,
        orders: Mapping[int, tuple[int, ...]],
        work: Sequence[Work],
        phases: PhaseCounts,
        *,
        counts_only: bool = False,
    ) -> None:
        """`orders` by starting item, where they are forced; `work` by item and `phases` count what the steps do."""
        self._plan = plan
        self._inputs = plan.inputs
        self._words = plan.words
        self._forced = orders
        self._work = work
        self._phases = phases
        self._counts_only = counts_only
        self.lanes: dict[int, ScanLane] = {}
        self._scanning: dict[int, list[ProbeStep]] = {}  # the levels that scan an item
        self._builder = RouteBuilder(self._words, self._make_level)
        self._built: dict[tuple[int, tuple[tuple[int, ...], ...]], Routes] = {}
        self._current: dict[int, Routes] = {}
        self._travellers = {item: self._travellers_from(item) for item in plan.starts}
        self._packets = dict.fromkeys(self._travellers, 0)
        self.observing = False  # whether the packet at hand teaches something about the orders

    @property
    def levels(self) -> list[ProbeStep]:
        """Every level that was used."""
        return self._builder.levels

    def routes(self, start: int, ts_us: NDArray[np.int64]) -> Routes:
        """The ways for a packet of the item with these event times."""
        self.observing = self.is_due(start)
        self._packets[start] += 1
        if self.observing:
            travellers = self._travellers[start]
            self._current[start] = self._choose(start, travellers, int(ts_us.min()))
        return self._current[start]

    def is_due(self, start: int) -> bool:
        """Whether the next packet of the item decides about the ways: every few packets.

        While states fill, what was decided a packet ago is no longer right: at first after 1, 2, 4 and 8 packets.
        """
        packets = self._packets[start] + 1
        return packets % EVERY == 1 or (packets < EVERY and packets & (packets - 1) == 0)

    def next_routes(self, start: int) -> Routes:
        """The ways for a packet of the item that decides nothing."""
        self.observing = False
        self._packets[start] += 1
        return self._current[start]

    def observe(self, branch: Branch, probes: int, found: int) -> None:
        """Tell how many partners a level found for so many rows of the packet at hand."""
        for order in branch.orders:
            order.observe(branch.level.bound_items, branch.level.target.item, probes, found)

    def decisions(self, about: str) -> tuple[Decision, ...]:
        """In which orders items are met and by what their steps reach them, where there was a choice."""
        names = [each.state.relation.name for each in self._inputs]
        orders = [
            each.order.decision(about, names)
            for start, travellers in self._travellers.items()
            if start not in self._forced
            for each in travellers
        ]
        steps = [
            level.phases.decision(about, f"the step to {level.target.state.relation.name}")
            for level in self.levels
            if level.phases is not None
        ]
        return tuple(each for each in (*orders, *steps) if each is not None)

    def _choose(self, start: int, travellers: Sequence[Traveller], oldest_us: int) -> Routes:
        """Hosts of few items, which have few ways to go, choose first; the others follow them where it pays."""
        taken: set[tuple[int, ...]] = set()
        paths: list[tuple[Traveller, tuple[int, ...]]] = []
        forced = self._forced.get(start)
        for each in travellers:
            if forced:
                order = tuple(item for item in forced if item in each.part.items)
            else:
                reach = {
                    item: self._within_reach(each, start, item, oldest_us)
                    for item in each.part.items
                }
                order = each.order.choose(reach, taken)
            paths.append((each, order))
            taken.update((start, *order[:stop]) for stop in range(1, len(order) + 1))
        key = (start, tuple(order for _, order in paths))
        if key not in self._built:
            self._built[key] = self._builder.build(start, paths)
        return self._built[key]

    def _within_reach(self, each: Traveller, start: int, item: int, oldest_us: int) -> int:
        """How many tuples of the item are young enough for a packet that starts at `oldest_us`."""
        if item == start:
            return 0
        items = each.part.items
        most_us = int(self._plan.parts[each.part].most_us[items.index(item), items.index(start)])
        state = self._inputs[item].state
        return state.head - state.first_since(oldest_us - most_us)

    def _travellers_from(self, start: int) -> list[Traveller]:
        found = []
        for part, plan in self._plan.parts.items():
            if start in part.items and plan.slots:
                thetas = frozenset(
                    (
                        min(each.shape.left_item, each.shape.right_item),
                        max(each.shape.left_item, each.shape.right_item),
                    )
                    for each in plan.conditions
                )
                order = JoinOrder(start, part.items, pairs_of(part.equi_joins), thetas)
                found.append(Traveller(part, order, plan.mask))
        return sorted(found, key=lambda each: len(each.part.items))

    # Levels

    def _make_level(
        self,
        bound: tuple[int, ...],
        target: int,
        edges: tuple[Edge, ...],
        parts: Sequence[HostAtNode],
    ) -> tuple[ProbeStep, int]:
        """The level that extends rows of the bound items by the target, for the hosts that come by."""
        plans = [self._plan.of(part) for part in parts]
        start, joined = self._inputs[bound[0]], self._inputs[target]
        numbers = [number for plan in plans for number in plan.numbers]
        between = [
            each
            for plan in plans
            for each in plan.conditions
            if target in (each.shape.left_item, each.shape.right_item)
            and (each.shape.left_item in bound or each.shape.right_item in bound)
        ]
        step = StepPlan(
            tuple(self._inputs[item] for item in bound),
            joined,
            tuple(self._key_edge(bound, target, edge) for edge in edges),
            [_windows(plans, item, target, numbers, self._words) for item in bound],
            predicate_lists(between, self._words, numbers),
            self._words,
            before_packet=joined.state is start.state and target < start.item,
            completes=len(parts) == 1
            and len(parts[0].items) == len(parts[0].stream_inputs) == len(bound) + 1,
        )
        level = ProbeStep(step, self._work[target])
        level.order_phases(self._phases)
        counts = self._counts_only and plans[0].is_counted_by_slot
        if counts and level.completes and not level.by_key:
            level.tally = np.zeros(self._words * WORD_BITS, np.int64)
        if not level.by_key:
            self._give_lane(level)
        return level, level.least_us

    def _give_lane(self, level: ProbeStep) -> None:
        """Let a level scan its item; the lane is made, or made anew with more columns, from the state."""
        item = level.target.item
        levels = self._scanning.setdefault(item, [])
        levels.append(level)
        lane = self.lanes.get(item)
        if lane is not None and set(level.scanned_columns) <= set(lane.columns):
            level.scan_lane(lane)
            return
        columns = sorted({column for each in levels for column in each.scanned_columns})
        lane = self.lanes[item] = ScanLane(self._words, tuple(columns))
        self._fill(lane, self._inputs[item])
        for each in levels:
            each.scan_lane(lane)

    def _fill(self, lane: ScanLane, each: JoinInput) -> None:
        state = each.state
        live = slice(state.first - state.base, state.head - state.base)
        lane.insert(
            state.ts[live], state.first, each.lineage.values[live], state.values, state.base
        )

    def _key_edge(self, bound: tuple[int, ...], target: int, edge: Edge) -> KeyEdge:
        item, column, target_column = edge
        states = self._inputs[item].state, self._inputs[target].state
        return KeyEdge(
            bound.index(item), *key_forms((states[0], column), (states[1], target_column))
        )


def _windows(
    plans: Sequence[PartPlan], bound: int, target: int, numbers: Sequence[int], words: int
) -> RankSets:
    high = np.concatenate([plan.most_between(bound, target) for plan in plans])
    low = -np.concatenate([plan.most_between(target, bound) for plan in plans])
    return interval_sets(numbers, low, high, words)
