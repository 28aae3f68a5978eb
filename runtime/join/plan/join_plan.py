"""What a join node will do, as data: made from its members, and made anew when slots come or go.

What every host's slots ask for, what a tuple must not lack, the conditions that are left to be evaluated by expression, and how far
apart in time two items can be at most. By which ways rows go is the executor's own affair (`route_planner` for the flat join).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.join.step.theta_forms import theta_form
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, FAR_US, bitmap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import EquiJoin, ThetaJoin
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.membership import JoinMembership
    from cqc.runtime.join.membership.slots import Slot
    from cqc.runtime.join.step.probe_step import JoinInput
    from cqc.runtime.join.step.theta_forms import ThetaForm
    from cqc.runtime.join.step.theta_lists import Condition
    from cqc.runtime.state.shared_state import SharedState


_Limits = dict[tuple[int, int], "WholeLimit"]  # by state and column


@record
class Required:
    """Slots that no tuple with NULL in the column can match."""

    column: int
    slots: NDArray[np.uint64]


@record
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
    """What the slots of a node ask for; nothing in it changes."""

    def __init__(self, members: JoinMembership) -> None:
        """The members must not change while the plan is used."""
        slots = members.slots
        for slot in slots:
            slot.arrange()
        self.inputs: Sequence[JoinInput] = members.inputs
        self.words = members.words
        self.families = np.array([slot.number for slot in slots if slot.is_family], np.int64)
        # Numbers of slots whose ranks must be found by expression.
        self.inexact_families: set[int] = set()
        limits: dict[tuple[int, int], WholeLimit] = {}
        slots_of: dict[HostAtNode, list[Slot]] = {part: [] for part in members.parts}
        for slot in slots:
            slots_of[slot.part].append(slot)
        self._parts = {part: PartPlan(part, own, self.words) for part, own in slots_of.items()}
        for each in self._parts.values():
            self._collect_conditions(each, limits)
            each.settle_checks()
        self.whole_limits = list(limits.values())
        self.required = self._required()
        self._later_us = self._later_by_relation(members.items_of)

    @property
    def is_outgrown(self) -> bool:
        """Whether a number came that a condition cannot compute exactly as it does."""
        return any(limit.exceeded for limit in self.whole_limits)

    @property
    def starts(self) -> list[int]:
        """The items whose packets start a join: those of streams."""
        return sorted({each.item for part in self._parts for each in part.stream_inputs})

    @property
    def parts(self) -> Mapping[HostAtNode, PartPlan]:
        """What is known of each host."""
        return self._parts

    def of(self, part: HostAtNode) -> PartPlan:
        """What is known of one host."""
        return self._parts[part]

    def reach_us(self, item: int) -> dict[int, int]:
        """How much later than a tuple of the item one of each other stream item may be; FAR_US: nothing limits it."""
        found: dict[int, int] = {}
        for one, two, us in self._reaches():
            if one.item == item:
                found[two.item] = max(us, found.get(two.item, us))
        return found

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """Tuples of the relation older than this can meet no future tuple; None when nothing may be purged.

        `watermarks` by folded stream name: no future tuple of the stream is older. A stream that is not there has no
        future tuples.
        """
        before = FAR_US
        for name, later_us in self._later_us[relation].items():
            watermark = watermarks.get(name)
            if watermark is not None:
                if later_us >= FAR_US:
                    return None
                before = min(before, watermark - later_us)
        return max(before, BEFORE_ALL_US)

    def _reaches(self) -> Iterator[tuple[JoinInput, JoinInput, int]]:
        """Pairs of inputs of one host, and how much later the second may be; FAR_US: nothing limits it."""
        for part, plan in self._parts.items():
            if plan.slots:
                for at, one in enumerate(part.inputs):
                    for other, two in enumerate(part.inputs):
                        if at != other and two.state.relation.is_stream:
                            yield one, two, int(plan.most_us[at, other])

    def _later_by_relation(self, relations: Iterable[str]) -> dict[str, dict[str, int]]:
        """By relation: how much later than its tuples those of other streams may be."""
        found: dict[str, dict[str, int]] = {name: {} for name in relations}
        for one, two, us in self._reaches():
            reach = found[fold(one.state.relation.name)]
            later = fold(two.state.relation.name)
            reach[later] = max(us, reach.get(later, us))
        return found

    # Conditions

    def _collect_conditions(self, plan: PartPlan, limits: _Limits) -> None:
        for slot in plan.slots:
            forms = []
            for at, theta in enumerate(slot.body.theta_joins):
                forms.append(self._usable_form(plan, slot, theta, limits, is_ranked=at == 0))
            plan.conditions += slot.conditions(forms)
            for residual in slot.body.residuals:
                plan.checked.setdefault(residual.expression, []).append(slot.number)

    def _usable_form(
        self, plan: PartPlan, slot: Slot, theta: ThetaJoin, limits: _Limits, *, is_ranked: bool
    ) -> ThetaForm:
        """The exact form of a condition, or one that finds too much together with a check by expression."""
        form = theta_form(theta)
        if is_ranked:
            form = replace(form, left_limit=slot.left_limit, right_limit=slot.right_limit)
        is_exact = not form.shape.wide and _is_exact(plan.part, form, limits)
        form = replace(form, shape=plan.part.shape(form.shape))
        if is_exact:
            return form
        if is_ranked and slot.is_family:
            self.inexact_families.add(slot.number)
        else:
            plan.checked.setdefault(theta.expression, []).append(slot.number)
        return replace(form, shape=replace(form.shape, wide=True))

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
            found.setdefault(item, []).append(Required(column, bitmap(slots, self.words)))
        return found


def _is_exact(part: HostAtNode, form: ThetaForm, limits: _Limits) -> bool:
    """Whether a condition can be computed in doubles; the columns for which that must stay so are added to `limits`."""
    shape = form.shape
    sides = (
        (shape.left_item, shape.left_column, form.left_limit),
        (shape.right_item, shape.right_column, form.right_limit),
    )
    own = []
    for item, column, limit in sides:
        state = part.states[item]
        state.value_column(column)
        if limit < float("inf"):
            own.append(WholeLimit(state, column, limit))
    if any(limit.exceeded for limit in own):
        return False
    for each in own:
        key = (id(each.state), each.column)
        known = limits.get(key)
        if known is None or each.limit < known.limit:
            limits[key] = each
    return True


def _ends(edge: EquiJoin) -> tuple[tuple[int, int], tuple[int, int]]:
    return (edge.left_item, edge.left_column), (edge.right_item, edge.right_column)
