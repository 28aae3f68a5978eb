"""Everything about a join node that depends on its slots, made anew when slots come or go.

For every stream item that can start (where a packet arrives) the routes through the other items; what a tuple must not
lack; the conditions that are left to be evaluated by expression; and how far apart in time two items can be at most.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.join.plan.item_order import EVERY, JoinOrder, pairs_of
from cqc.runtime.join.plan.routes import RouteBuilder, Traveller
from cqc.runtime.join.step.probe_step import KeyEdge, ProbeStep
from cqc.runtime.join.step.theta_forms import theta_form
from cqc.runtime.join.step.theta_lists import predicate_lists
from cqc.runtime.lineage.rank_lineage import FAR_US, WORD_BITS, bitmap, interval_sets
from cqc.runtime.state.hash_chains import KeyKind
from cqc.runtime.state.scan_lane import ScanLane

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import EquiJoin, ThetaJoin
    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.slots import Slot
    from cqc.runtime.join.plan.routes import Branch, Edge, Routes
    from cqc.runtime.join.step.phase_order import PhaseCounts
    from cqc.runtime.join.step.probe_step import JoinInput, Work
    from cqc.runtime.join.step.theta_forms import ThetaForm
    from cqc.runtime.join.step.theta_lists import Condition
    from cqc.runtime.lineage.rank_lineage import RankSets
    from cqc.runtime.state.shared_state import SharedState


@dataclass(frozen=True, slots=True)
class Required:
    """Slots that no tuple with NULL in the column can match."""

    column: int
    slots: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class WholeLimit:
    """A whole-number column that some theta condition computes as a double, exactly up to the limit."""

    state: SharedState
    column: int
    limit: float

    @property
    def exceeded(self) -> bool:
        return self.state.largest_value(self.column) > self.limit


@dataclass(slots=True, eq=False)
class PartPlan:
    """The slots of one host, and what they ask for."""

    part: HostAtNode
    slots: list[Slot]
    words: int
    numbers: list[int] = field(init=False)
    mask: NDArray[np.uint64] = field(init=False)
    conditions: list[Condition] = field(default_factory=list)  # of the node's items
    checked: dict[Expression, list[int]] = field(default_factory=dict)  # the slots of each
    most_us_of: NDArray[np.int64] = field(init=False)  # by slot, of the host's items
    most_us: NDArray[np.int64] = field(init=False)
    checks: list[Expression] = field(default_factory=list)
    check_slots: NDArray[np.uint64] = field(init=False)
    # Whether the lineage of a row says all about the queries that have it: nothing is left to check, nor members to rank.
    is_counted_by_slot: bool = False

    def __post_init__(self) -> None:
        self.numbers = [slot.number for slot in self.slots]
        self.mask = bitmap(self.numbers, self.words)
        count = len(self.part.items)
        stacked = [slot.most_us for slot in self.slots]
        self.most_us_of = np.stack(stacked or [np.full((count, count), -FAR_US, np.int64)])
        self.most_us = self.most_us_of.max(axis=0)
        self.most_us_of = self.most_us_of[: len(self.slots)]

    def settle_checks(self) -> None:
        """All conditions are known now."""
        self.checks = list(self.checked)
        masks = [bitmap(numbers, self.words) for numbers in self.checked.values()]
        self.check_slots = np.array(masks, np.uint64).reshape(-1, self.words)
        left = self.checks or self.part.checks.text_edges
        self.is_counted_by_slot = not left and not any(slot.is_family for slot in self.slots)

    def most_between(self, item: int, other: int) -> NDArray[np.int64]:
        """By slot, the largest ts of `other` minus that of `item` (the node's items)."""
        items = self.part.items
        return self.most_us_of[:, items.index(item), items.index(other)]


class JoinPlan:
    """The routes and conditions for a set of slots."""

    def __init__(
        self,
        inputs: Sequence[JoinInput],
        parts: Sequence[HostAtNode],
        slots: Sequence[Slot],
        words: int,
        orders: Mapping[int, tuple[int, ...]],
        work: Sequence[Work],
        phases: PhaseCounts,
        *,
        counts_only: bool = False,
    ) -> None:
        self._phases = phases
        self._counts_only = counts_only
        self._inputs = inputs
        self._words = words
        self._work = work
        self.families = np.array([slot.number for slot in slots if slot.is_family], np.int64)
        self.inexact_families: set[int] = (
            set()
        )  # numbers of slots whose ranks must be found by expression
        self._limits: dict[tuple[int, int], WholeLimit] = {}
        slots_of: dict[HostAtNode, list[Slot]] = {part: [] for part in parts}
        for slot in slots:
            slots_of[slot.part].append(slot)
        self._parts = {part: PartPlan(part, own, words) for part, own in slots_of.items()}
        for each in self._parts.values():
            self._collect_conditions(each)
            each.settle_checks()
        self.whole_limits = list(self._limits.values())
        self._first = self._parts[parts[0]]
        self.required = self._required()
        self.lanes: dict[int, ScanLane] = {}
        self._scanning: dict[int, list[ProbeStep]] = {}  # the levels that scan an item
        self._forced = orders
        self._builder = RouteBuilder(words, self._make_level)
        self._built: dict[tuple[int, tuple[tuple[int, ...], ...]], Routes] = {}
        self._current: dict[int, Routes] = {}
        self._travellers = {item: self._travellers_from(item) for item in self.starts}
        self._packets = dict.fromkeys(self._travellers, 0)
        self.observing = False  # whether the packet at hand teaches something about the orders

    @property
    def starts(self) -> list[int]:
        """The items whose packets start a join: those of streams."""
        return sorted({each.item for part in self._parts for each in part.stream_inputs})

    @property
    def checks(self) -> list[Expression]:
        """The conditions of the first host that are evaluated by expression."""
        return self._first.checks

    @property
    def check_slots(self) -> NDArray[np.uint64]:
        """For each of `checks` the slots that have it."""
        return self._first.check_slots

    @property
    def levels(self) -> list[ProbeStep]:
        """Every level that was used."""
        return self._builder.levels

    def of(self, part: HostAtNode) -> PartPlan:
        """What is known of one host."""
        return self._parts[part]

    def reaches(self) -> Iterator[tuple[JoinInput, JoinInput, int]]:
        """Pairs of inputs of one host, and how much later the second may be; FAR_US: nothing limits it."""
        for part, plan in self._parts.items():
            if plan.slots:
                for at, one in enumerate(part.inputs):
                    for other, two in enumerate(part.inputs):
                        if at != other and two.state.relation.is_stream:
                            yield one, two, int(plan.most_us[at, other])

    def reach_us(self, item: int) -> dict[int, int]:
        """How much later than a tuple of the item one of each other stream item may be; FAR_US: nothing limits it."""
        found: dict[int, int] = {}
        for one, two, us in self.reaches():
            if one.item == item:
                found[two.item] = max(us, found.get(two.item, us))
        return found

    # Routes

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
        most_us = int(self._parts[each.part].most_us[items.index(item), items.index(start)])
        state = self._inputs[item].state
        return state.head - state.first_since(oldest_us - most_us)

    def _travellers_from(self, start: int) -> list[Traveller]:
        found = []
        for part, plan in self._parts.items():
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

    # Conditions

    def _collect_conditions(self, plan: PartPlan) -> None:
        for slot in plan.slots:
            forms = []
            for at, theta in enumerate(slot.body.theta_joins):
                forms.append(self._usable_form(plan, slot, theta, is_ranked=at == 0))
            plan.conditions += slot.conditions(forms)
            for residual in slot.body.residuals:
                plan.checked.setdefault(residual.expression, []).append(slot.number)

    def _usable_form(
        self, plan: PartPlan, slot: Slot, theta: ThetaJoin, *, is_ranked: bool
    ) -> ThetaForm:
        """The exact form of a condition, or one that finds too much together with a check by expression."""
        form = theta_form(theta)
        if is_ranked:
            form = replace(form, left_limit=slot.left_limit, right_limit=slot.right_limit)
        is_exact = not form.shape.wide and self._is_exact(plan.part, form)
        form = replace(form, shape=plan.part.shape(form.shape))
        if is_exact:
            return form
        if is_ranked and slot.is_family:
            self.inexact_families.add(slot.number)
        else:
            plan.checked.setdefault(theta.expression, []).append(slot.number)
        return replace(form, shape=replace(form.shape, wide=True))

    def _is_exact(self, part: HostAtNode, form: ThetaForm) -> bool:
        shape = form.shape
        sides = (
            (shape.left_item, shape.left_column, form.left_limit),
            (shape.right_item, shape.right_column, form.right_limit),
        )
        limits = []
        for item, column, limit in sides:
            state = part.states[item]
            state.value_column(column)
            if limit < float("inf"):
                limits.append(WholeLimit(state, column, limit))
        if any(limit.exceeded for limit in limits):
            return False
        for each in limits:
            key = (id(each.state), each.column)
            known = self._limits.get(key)
            if known is None or each.limit < known.limit:
                self._limits[key] = each
        return True

    def _required(self) -> dict[int, list[Required]]:
        slots_of: dict[tuple[int, int], list[int]] = {}
        for part, plan in self._parts.items():
            for edge in part.equi_joins:
                for end in _ends(edge):
                    slots_of.setdefault(end, []).extend(plan.numbers)
            for condition in plan.conditions:
                shape = condition.shape
                left, right = (
                    (shape.left_item, shape.left_column),
                    (shape.right_item, shape.right_column),
                )
                slots_of.setdefault(left, []).append(condition.slot)
                slots_of.setdefault(right, []).append(condition.slot)
        found: dict[int, list[Required]] = {}
        for (item, column), slots in slots_of.items():
            found.setdefault(item, []).append(Required(column, bitmap(slots, self._words)))
        return found

    # Levels

    def _make_level(
        self,
        bound: tuple[int, ...],
        target: int,
        edges: tuple[Edge, ...],
        parts: Sequence[HostAtNode],
    ) -> tuple[ProbeStep, int]:
        """The level that extends rows of the bound items by the target, for the hosts that come by."""
        plans = [self._parts[part] for part in parts]
        start, joined = self._inputs[bound[0]], self._inputs[target]
        numbers = [number for plan in plans for number in plan.numbers]
        between = [
            each
            for plan in plans
            for each in plan.conditions
            if target in (each.shape.left_item, each.shape.right_item)
            and (each.shape.left_item in bound or each.shape.right_item in bound)
        ]
        level = ProbeStep(
            [self._inputs[item] for item in bound],
            joined,
            [self._key_edge(bound, target, edge) for edge in edges],
            [_windows(plans, item, target, numbers, self._words) for item in bound],
            predicate_lists(between, self._words, numbers),
            self._words,
            self._work[target],
            before_packet=joined.state is start.state and target < start.item,
            completes=len(parts) == 1
            and len(parts[0].items) == len(parts[0].stream_inputs) == len(bound) + 1,
        )
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
        """BIGINT that meets DOUBLE is compared as DOUBLE; everything else as it is."""
        item, column, target_column = edge
        states = self._inputs[item].state, self._inputs[target].state
        columns = column, target_column
        types = [state.relation.columns[at].type for state, at in zip(states, columns, strict=True)]
        forms = [
            state.key_form(
                at,
                KeyKind.PLAIN
                if types[0] is types[1] or type_ is ColumnType.DOUBLE
                else KeyKind.AS_DOUBLE,
            )
            for state, at, type_ in zip(states, columns, types, strict=True)
        ]
        return KeyEdge(bound.index(item), forms[0], forms[1])


def _windows(
    plans: Sequence[PartPlan], bound: int, target: int, numbers: Sequence[int], words: int
) -> RankSets:
    high = np.concatenate([plan.most_between(bound, target) for plan in plans])
    low = -np.concatenate([plan.most_between(target, bound) for plan in plans])
    return interval_sets(numbers, low, high, words)


def _ends(edge: EquiJoin) -> tuple[tuple[int, int], tuple[int, int]]:
    return (edge.left_item, edge.left_column), (edge.right_item, edge.right_column)
