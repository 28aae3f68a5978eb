"""Everything about a join that depends on its slots, made anew when slots come or go.

For every stream item that can start (where a packet arrives) a path of levels through the other items; what a tuple must not
lack; the conditions that are left to be evaluated by expression; and how far apart in time two items can be at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.types import ColumnType
from cqc.runtime.operators.hash_chains import KeyKind
from cqc.runtime.operators.join_level import KeyEdge, Level, Rows
from cqc.runtime.operators.join_order import JoinOrder, pairs_of
from cqc.runtime.operators.rank_lineage import FAR_US, bitmap, interval_sets
from cqc.runtime.operators.scan_lane import ScanLane
from cqc.runtime.operators.theta_forms import theta_form
from cqc.runtime.operators.theta_lists import predicate_lists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.bound import Expression
    from cqc.compiler.normal import EquiJoin, ThetaJoin
    from cqc.runtime.operators.join_level import JoinInput, Work
    from cqc.runtime.operators.join_slots import Slot
    from cqc.runtime.operators.rank_lineage import RankSets
    from cqc.runtime.operators.shared_state import SharedState
    from cqc.runtime.operators.theta_forms import ThetaForm
    from cqc.runtime.operators.theta_lists import Condition


@dataclass(frozen=True, slots=True)
class Path:
    """From a starting item through the others: `places[item]` is where the item is in a full row."""

    item: int
    start: Rows
    levels: tuple[Level, ...]
    places: NDArray[np.int64]
    stream_places: NDArray[np.int64]


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


class JoinPlan:
    """The paths and conditions for a set of slots."""

    def __init__(
        self,
        inputs: Sequence[JoinInput],
        equi_joins: Sequence[EquiJoin],
        slots: Sequence[Slot],
        words: int,
        orders: Mapping[int, tuple[int, ...]],
        work: Sequence[Work],
    ) -> None:
        self._inputs = inputs
        self._equi_joins = equi_joins
        self._slots = slots
        self._words = words
        self._work = work
        self._numbers = [slot.number for slot in slots]
        self.families = np.array([slot.number for slot in slots if slot.is_family], np.int64)
        self.whole_limits: list[WholeLimit] = []
        self.inexact_families: set[int] = (
            set()
        )  # numbers of slots whose ranks must be found by expression
        self._checks: dict[Expression, list[int]] = {}
        self._conditions = self._collect_conditions()
        count = len(inputs)
        stacked = [slot.most_us for slot in slots] or [np.full((count, count), -FAR_US, np.int64)]
        self._most_us_of = np.stack(stacked)[: len(slots)]  # by slot
        self._most_us: NDArray[np.int64] = np.stack(stacked).max(axis=0)
        self.required = [self._required(each.item) for each in inputs]
        self.checks = list(self._checks)
        masks = [bitmap(numbers, words) for numbers in self._checks.values()]
        self.check_slots = np.array(masks, np.uint64).reshape(-1, words)
        self.lanes: dict[int, ScanLane] = {}
        self._scanning: dict[int, list[Level]] = {}  # the levels that scan an item
        self._paths: dict[tuple[int, tuple[int, ...]], Path] = {}
        self._current: dict[int, Path] = {}
        self._forced = orders
        self._order_of = {item: self._join_order(item) for item in self.starts}

    @property
    def starts(self) -> list[int]:
        """The items whose packets start a join: those of streams."""
        return [each.item for each in self._inputs if each.state.relation.is_stream]

    @property
    def paths(self) -> list[Path]:
        """Every path that was used."""
        return list(self._paths.values())

    def path(self, start: int, ts_us: NDArray[np.int64]) -> Path:
        """The path for a packet of the item with these event times."""
        order = self._order_of[start]
        if order.is_due():
            oldest_us = int(ts_us.min())
            reach = {item: self._within_reach(start, item, oldest_us) for item in order.items}
            chosen = order.choose(reach)
            self._current[start] = self._path(
                self._inputs[start], self._forced.get(start) or chosen
            )
        return self._current[start]

    def current_levels(self, start: int) -> tuple[Level, ...]:
        """The levels that the last packet of the item went through."""
        return self._current[start].levels if start in self._current else ()

    def observe(self, start: int, level: Level, probes: int, found: int) -> None:
        """Tell how many partners a level found for so many rows of the packet at hand."""
        order = self._order_of[start]
        if order.observing:
            order.observe(level.bound_items, level.target.item, probes, found)

    def _within_reach(self, start: int, item: int, oldest_us: int) -> int:
        """How many tuples of the item are young enough for a packet that starts at `oldest_us`."""
        if item == start:
            return 0
        state = self._inputs[item].state
        return state.head - state.first_since(oldest_us - int(self._most_us[item, start]))

    def _join_order(self, start: int) -> JoinOrder:
        thetas = frozenset(
            (each.shape.left_item, each.shape.right_item) for each in self._conditions
        )
        items = [each.item for each in self._inputs]
        return JoinOrder(start, items, pairs_of(self._equi_joins), thetas)

    def reach_us(self, item: int) -> dict[int, int]:
        """How much later than a tuple of the item one of each other stream item may be; FAR_US: nothing limits it."""
        return {
            each.item: int(self._most_us[item, each.item])
            for each in self._inputs
            if each.item != item and each.state.relation.is_stream
        }

    def _collect_conditions(self) -> list[Condition]:
        conditions: list[Condition] = []
        for slot in self._slots:
            forms = []
            for at, theta in enumerate(slot.body.theta_joins):
                forms.append(self._usable_form(slot, theta, is_ranked=at == 0))
            conditions += slot.conditions(forms)
            for residual in slot.body.residuals:
                self._checks.setdefault(residual.expression, []).append(slot.number)
        return conditions

    def _usable_form(self, slot: Slot, theta: ThetaJoin, *, is_ranked: bool) -> ThetaForm:
        """The exact form of a condition, or one that finds too much together with a check by expression."""
        form = theta_form(theta)
        if is_ranked:
            form = replace(form, left_limit=slot.left_limit, right_limit=slot.right_limit)
        if not form.shape.wide and self._is_exact(form):
            return form
        if is_ranked and slot.is_family:
            self.inexact_families.add(slot.number)
        else:
            self._checks.setdefault(theta.expression, []).append(slot.number)
        return replace(form, shape=replace(form.shape, wide=True))

    def _is_exact(self, form: ThetaForm) -> bool:
        shape = form.shape
        sides = (
            (shape.left_item, shape.left_column, form.left_limit),
            (shape.right_item, shape.right_column, form.right_limit),
        )
        limits = []
        for item, column, limit in sides:
            state = self._inputs[item].state
            state.value_column(column)
            if limit < float("inf"):
                limits.append(WholeLimit(state, column, limit))
        if any(limit.exceeded for limit in limits):
            return False
        self.whole_limits += limits
        return True

    def _required(self, item: int) -> list[Required]:
        slots_of: dict[int, list[int]] = {}
        for edge in self._equi_joins:
            for edge_item, column in _ends(edge):
                if edge_item == item:
                    slots_of.setdefault(column, []).extend(self._numbers)
        for condition in self._conditions:
            shape = condition.shape
            for theta_item, column in (
                (shape.left_item, shape.left_column),
                (shape.right_item, shape.right_column),
            ):
                if theta_item == item:
                    slots_of.setdefault(column, []).append(condition.slot)
        return [Required(column, bitmap(slots, self._words)) for column, slots in slots_of.items()]

    def _path(self, start: JoinInput, order: tuple[int, ...]) -> Path:
        known = self._paths.get((start.item, order))
        if known is not None:
            return known
        bound = [start]
        levels: list[Level] = []
        for item in order:
            levels.append(self._level(start, bound, self._inputs[item]))
            bound.append(self._inputs[item])
        places = np.zeros(len(bound), np.int64)
        for place, each in enumerate(bound):
            places[each.item] = place
        path = Path(start.item, Rows(1, self._words), tuple(levels), places, places[self.starts])
        self._paths[start.item, order] = path
        for level in levels:
            if not level.by_key:
                self._give_lane(level)
        return path

    def _give_lane(self, level: Level) -> None:
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

    def _level(self, start: JoinInput, bound: Sequence[JoinInput], target: JoinInput) -> Level:
        edges = self._edges(bound, target)
        windows = [self._windows(each, target) for each in bound]
        items = {each.item for each in bound}
        between = [
            each
            for each in self._conditions
            if target.item in (each.shape.left_item, each.shape.right_item)
            and (each.shape.left_item in items or each.shape.right_item in items)
        ]
        thetas = predicate_lists(between, self._words, self._numbers)
        before_packet = target.state is start.state and target.item < start.item
        work = self._work[target.item]
        return Level(
            bound, target, edges, windows, thetas, self._words, work, before_packet=before_packet
        )

    def _windows(self, bound: JoinInput, target: JoinInput) -> RankSets:
        high = self._most_us_of[:, bound.item, target.item]
        low = -self._most_us_of[:, target.item, bound.item]
        return interval_sets(self._numbers, low, high, self._words)

    def _edges(self, bound: Sequence[JoinInput], target: JoinInput) -> list[KeyEdge]:
        places = {each.item: place for place, each in enumerate(bound)}
        edges = []
        for edge in self._equi_joins:
            left, right = _ends(edge)
            if right[0] != target.item:
                left, right = right, left
            if right[0] != target.item or left[0] not in places:
                continue
            kinds = self._key_kinds(left, right)
            edges.append(
                KeyEdge(
                    places[left[0]],
                    self._inputs[left[0]].state.key_form(left[1], kinds[0]),
                    self._inputs[right[0]].state.key_form(right[1], kinds[1]),
                )
            )
        return edges

    def _key_kinds(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[KeyKind, KeyKind]:
        """BIGINT that meets DOUBLE is compared as DOUBLE; everything else as it is."""
        types = [
            self._inputs[item].state.relation.columns[column].type for item, column in (left, right)
        ]
        if types[0] is types[1]:
            return KeyKind.PLAIN, KeyKind.PLAIN
        first, second = (
            KeyKind.PLAIN if type_ is ColumnType.DOUBLE else KeyKind.AS_DOUBLE for type_ in types
        )
        return first, second


def _ends(edge: EquiJoin) -> tuple[tuple[int, int], tuple[int, int]]:
    return (edge.left_item, edge.left_column), (edge.right_item, edge.right_column)
