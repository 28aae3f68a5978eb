"""In which order a step of a join looks at attribute, join and window conditions, and by what it reaches its candidates.

With `--order` every step goes through the phases of `phase_kernels` in that order; the first of J and W says which structure
lists the candidates. `adaptive` decides for each step again and again, from a few of the rows at hand: how many candidates
each structure would list for them, counted or estimated without building anything, times what a candidate costs, which is
measured. The fused kernels are one of the choices, AJW by key or AWJ by time, and the usual one. They go through candidates
that many rows share once, so what they cost is measured against what the structure would list, not against what they saw;
and as rows share more or fewer, they are tried again now and then. What remains is put in the order of what each phase takes
away for its cost. A choice is given up only for one that is clearly cheaper, and the fused kernel not before it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import inf
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.decision import Decision, counted
from cqc.runtime.adapt.measured_cost import MeasuredCost
from cqc.runtime.adapt.settings import PHASES
from cqc.runtime.join.step.phase_kernels import (
    attribute_phase,
    count_by_key,
    join_phase,
    list_by_key,
    list_in_run,
    stretches,
    value_ranges,
    window_phase,
    write_candidates,
)
from cqc.runtime.join.step.probe_kernels import GAVE_UP, MOST_STEPS, NO_LIMIT
from cqc.runtime.join.step.step_arguments import Thetas
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US
from cqc.runtime.metrics.parts import PhaseMetrics, StepOrderMetrics
from cqc.runtime.state.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.join.step.probe_step import Rows
    from cqc.runtime.state.lanes import Lane
    from cqc.runtime.state.shared_state import SharedState

ORDERS = ("AJW", "AWJ", "JAW", "JWA", "WAJ", "WJA")
_ROWS_AT_ONCE = 4096
_FIRST_ROOM = 4096


class Access(Enum):
    """By what the candidates are listed; FUSED is whatever the step's own kernel uses."""

    FUSED = "fused"
    KEY = "key"
    VALUE = "value"
    TIME = "time"


class StepParts(NamedTuple):
    """What a step of a join is made of; groups of arrays are as its kernels need them (`step_arguments`)."""

    state: SharedState
    lineage: Lane  # of the tuples there, for the item that is met
    target: tuple[Any, ...]  # a ChainTarget
    keys: NDArray[np.int64]  # [equalities, rows]
    forms: NDArray[np.int64]  # of the target, for each equality
    windows: tuple[NDArray[Any], ...]  # Windows
    loosest: NDArray[np.int64]
    thetas: tuple[NDArray[Any], ...]  # Thetas
    out: Rows


@dataclass(slots=True)
class PhaseCount:
    """Candidates that a phase looked at and left, and how long it took."""

    compared: int = 0
    kept: int = 0
    seconds: float = 0.0
    share: MeasuredCost = field(default_factory=lambda: MeasuredCost(0.5, spike=inf))  # it leaves
    cost: MeasuredCost = field(default_factory=lambda: MeasuredCost(1e-8))  # seconds a candidate

    def saw(self, compared: int, kept: int, seconds: float) -> None:
        self.compared += compared
        self.kept += kept
        self.seconds += seconds
        if compared:
            self.share.saw(kept / compared)
            self.cost.saw(seconds / compared)

    @property
    def rank(self) -> float:
        """What it takes away for its cost."""
        return (1.0 - self.share.each) / max(self.cost.each, 1e-10)


@dataclass(slots=True)
class PhaseCounts:
    """What a join did in phases so far, over all its steps; `order` is what was asked for."""

    order: str = "adaptive"
    phases: dict[str, PhaseCount] = field(
        default_factory=lambda: {letter: PhaseCount() for letter in "AJW"}
    )
    orders: dict[str, int] = field(default_factory=dict)  # steps in each order
    listed: int = 0

    def metrics(self) -> tuple[tuple[PhaseMetrics, ...], tuple[StepOrderMetrics, ...]]:
        """What the phases left, and how many steps went in which order."""
        phases = tuple(
            PhaseMetrics(letter, phase.compared, phase.kept)
            for letter, phase in self.phases.items()
            if phase.compared
        )
        orders = tuple(
            StepOrderMetrics(order, access, steps)
            for label, steps in sorted(self.orders.items())
            for order, _, access in [label.partition(" ")]
        )
        return phases, orders


class PhaseOrder:
    """Decides for one step of a join, and takes the step where its own kernel does not."""

    def __init__(
        self,
        counts: PhaseCounts,
        *,
        by_key: bool,
        has_thetas: bool,
        clock: Callable[[], float] = thread_time,
    ) -> None:
        forced = counts.order
        self._counts = counts
        self._by_key = by_key
        self._has_thetas = has_thetas
        self._clock = clock
        self._adapts = forced not in ORDERS
        self.order = ("AJW" if by_key else "AWJ") if self._adapts else forced
        first = Access.FUSED if self._adapts else self._access_of(forced)
        self.controller: Controller[Access] = Controller(PHASES, first)
        self.access = first
        self._label = f"{self.order} {self.access.value}"
        self._fused_label = self._label
        self._own = {letter: PhaseCount() for letter in "AJW"}
        self._steps = 0
        self._listed = (
            0.0  # candidates that the natural structure would list for this step; 0: not estimated
        )
        self._knows_fused = False
        self._again = False  # the fused kernel takes this step, to be measured
        self._decided = 0  # decisions since the fused kernel was last measured
        self._fused = self.controller.cost(settings.PHASES_FUSED_S)  # seconds a candidate
        self._phased = self.controller.cost(settings.PHASES_PHASED_S)
        self._runs: dict[Access, SortedRuns] = {}
        self._room(_FIRST_ROOM, 1)

    def takes(self, make_parts: Callable[[int], StepParts], rows: Rows, limit: int) -> bool:
        """Whether to take the next step in phases; asked once a step."""
        self._steps += 1
        self._listed = 0.0
        self._again = False
        if self._adapts and self._is_due(self._steps):
            self._decide(make_parts(limit), rows, limit)
            self._decided += 1
        label = self._fused_label if self._again else self._label
        orders = self._counts.orders
        orders[label] = orders.get(label, 0) + 1
        return self.access is not Access.FUSED and not self._again

    def _is_due(self, steps: int) -> bool:
        """Every few steps, and more often while little is known."""
        every = PHASES.longest if self.access is Access.FUSED else PHASES.stretch
        return steps % every == 0 or (steps < every and steps & (steps - 1) == 0)

    @property
    def measures(self) -> bool:
        """Whether to tell how long the fused kernel takes this time."""
        return self._listed > 0.0

    @property
    def stays_fused(self) -> bool:
        """Whether the next step is the fused kernel's, and nothing about it is to be decided or measured."""
        is_usual = self._adapts and self.access is Access.FUSED
        return is_usual and not self._is_due(self._steps + 1)

    def passed(self) -> None:
        """The fused kernel took a step by itself, when `stays_fused` allowed it."""
        self._steps += 1
        self._counts.orders[self._label] = self._counts.orders.get(self._label, 0) + 1

    def decision(self, about: str, step: str) -> Decision | None:
        """By what a step reaches its candidates, where that is not the usual way."""
        costs, arm = self.controller.costs, self.controller.arm
        if arm is Access.FUSED or not costs:
            return None
        does = f"takes {step} by {arm.value}, in the order {self.order}"
        ratio = costs[arm] / max(costs[Access.FUSED], 1e-12)
        changes = counted(self.controller.changes, "change")
        return Decision(about, does, "the fused kernel", ratio, self._steps, "steps", note=changes)

    def extend(self, parts: StepParts, rows: Rows, limit: int) -> tuple[int, int]:
        """Take the step in phases; (rows found, candidates seen), GAVE_UP rows where that would be too much at once."""
        started = self._clock()
        low = self._lowest(parts, rows, limit)
        lows, highs = self._ranges(parts, rows)
        parts.out.count = found = candidates = 0
        for begin in range(0, rows.count, _ROWS_AT_ONCE):
            end = min(begin + _ROWS_AT_ONCE, rows.count)
            listed = self._list(parts, rows, (begin, end), (low, limit), lows, highs)
            candidates += listed
            if candidates > MOST_STEPS and rows.count > 2:
                return GAVE_UP, candidates
            left = self._through(parts, rows, listed)
            if found + left > parts.out.room:
                _grow(parts.out, found, max(found + left, 2 * parts.out.room))
            out = parts.out
            found = write_candidates(left, self._lists, parts.target, rows.block, found, out.block)
        self._counts.listed += candidates
        self._saw(self._clock() - started, candidates, fused=False)
        return found, candidates

    def saw_fused(self, seconds: float) -> None:
        """What the step's own kernel took."""
        is_stale = self._decided > 1 or not self._knows_fused
        self._decided = 0
        if self._listed >= settings.PHASES_FUSED_ENOUGH:
            took = max(seconds - settings.PHASES_CALL_S, 0.0)
            self._saw(took, self._listed, fused=True, is_stale=is_stale)
            self._knows_fused = True

    def _saw(
        self, seconds: float, candidates: float, *, fused: bool, is_stale: bool = False
    ) -> None:
        if not fused:
            self.controller.budget.worked(seconds)
        if candidates < PHASES.enough:
            return
        cost = seconds / candidates
        if is_stale:
            self._fused.begin_at(cost)
        else:
            (self._fused if fused else self._phased).saw(cost)

    # Through the phases

    def _list(
        self,
        parts: StepParts,
        rows: Rows,
        block: tuple[int, int],
        span: tuple[int, int],
        lows: NDArray[np.float64],
        highs: NDArray[np.float64],
    ) -> int:
        """List the candidates of a block of rows."""
        words = rows.lineage.shape[1]
        most = MOST_STEPS if rows.count > 2 else NO_LIMIT
        while True:
            if self._lists[2].shape[1] != words:
                self._room(len(self._lists[0]), words)
            if self.access is Access.KEY:
                listed = list_by_key(
                    *block, rows.lineage, parts.keys[0], parts.forms[0], parts.target, span[0], self._lists, most
                )  # fmt: skip
            else:
                listed, live = 0, (parts.state.first, span[1])
                for run in self._run_of(parts).runs:
                    listed = list_in_run(
                        *block, rows.lineage, (lows, highs), run, live, listed, self._lists, most
                    )
            if listed > most or listed <= len(self._lists[0]):
                return int(listed)
            self._room(2 * listed, words)

    def _through(self, parts: StepParts, rows: Rows, count: int) -> int:
        """Take the candidates through the phases; how many are left."""
        for letter in self.order:
            if not count:
                break
            started = self._clock()
            kept = self._phase(letter, parts, rows, count)
            seconds = self._clock() - started
            for known in (self._own[letter], self._counts.phases[letter]):
                known.saw(count, kept, seconds)
            count = kept
        return count

    def _phase(self, letter: str, parts: StepParts, rows: Rows, count: int) -> int:
        if letter == "A":
            return int(attribute_phase(count, self._lists, parts.target))
        if letter == "W":
            return int(window_phase(count, self._lists, parts.target, rows.ts, parts.windows))
        # The equality whose chain was walked holds.
        known = 1 if self.access is Access.KEY else 0
        keys, forms = parts.keys[known : len(parts.forms)], parts.forms[known:]
        return int(join_phase(count, self._lists, parts.target, keys, forms, parts.thetas))

    def _ranges(
        self, parts: StepParts, rows: Rows, access: Access | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which values or times the candidates of each row are."""
        access = access or self.access
        lows, highs = np.empty(rows.count), np.empty(rows.count)
        if access is Access.TIME:
            stretches(rows.count, rows.ts, parts.loosest, lows, highs)
        elif access is Access.VALUE:
            number = _largest_list(parts)
            value_ranges(rows.count, rows.lineage, number, parts.thetas, lows, highs)
        return lows, highs

    def _lowest(self, parts: StepParts, rows: Rows, limit: int) -> int:
        """The first position whose tuple is not too old for all rows."""
        state = parts.state
        oldest = int(rows.ts[0, : rows.count].min()) + int(parts.loosest[0, 0])
        newest = state.newest[state.first - state.base : max(limit - state.base, 0)]
        return state.first + int(
            np.searchsorted(newest, max(oldest - 1, BEFORE_ALL_US), side="right")
        )

    def _run_of(self, parts: StepParts) -> SortedRuns:
        runs = self._runs.get(self.access)
        if runs is None:
            if self.access is Access.TIME:
                runs = SortedRuns.by_time(parts.state, parts.lineage)
            else:
                runs = SortedRuns.by_value(parts.state, _largest_column(parts), parts.lineage)
            self._runs[self.access] = runs
        runs.catch_up()
        return runs

    def _room(self, room: int, words: int) -> None:
        self._lists = (
            np.empty(room, np.int64),
            np.empty(room, np.int64),
            np.empty((room, words), np.uint64),
        )

    # The choice

    def _access_of(self, order: str) -> Access:
        if order.index("W") < order.index("J"):
            return Access.TIME
        if self._by_key:
            return Access.KEY
        return Access.VALUE if self._has_thetas else Access.TIME

    def _decide(self, parts: StepParts, rows: Rows, limit: int) -> None:
        """Choose the structure by what its candidates would cost, and the order of the phases by what they leave."""
        natural = Access.KEY if self._by_key else Access.TIME
        offered = {natural: self._estimate(natural, parts, rows, limit)}
        self._listed = offered[natural]
        fused = offered[natural] * self._fused.each
        others = [Access.TIME] if self._by_key else [Access.VALUE] if self._has_thetas else []
        if fused < settings.PHASES_WORTH_S or not self._knows_fused:
            costs = {Access.FUSED: fused}
        else:
            offered |= {each: self._estimate(each, parts, rows, limit) for each in others}
            fixed = settings.PHASES_STEP_S + rows.count * settings.PHASES_ROW_S
            costs = {
                access: candidates * self._phased.each + fixed
                for access, candidates in offered.items()
            }
            costs[Access.FUSED] = fused
        taken = self.controller.decide(costs, (Access.FUSED,))
        self.access = self.controller.arm
        self._again = taken is not self.access and offered[natural] > 0.0
        if self.access is Access.FUSED:
            self.order = "AJW" if self._by_key else "AWJ"
            self._runs.clear()
        else:
            first = "W" if self.access is Access.TIME else "J"
            self.order = _by_rank(self._own, first)
        self._label = f"{self.order} {self.access.value}"

    def _estimate(self, access: Access, parts: StepParts, rows: Rows, limit: int) -> float:
        """How many candidates a structure would list for all rows, from a few of them."""
        state = parts.state
        step = max(1, rows.count // settings.PHASES_SAMPLE_ROWS)
        sample = np.arange(0, rows.count, step)
        if access is Access.KEY:
            low = self._lowest(parts, rows, limit)
            counted = count_by_key(
                sample, parts.keys[0], parts.forms[0], parts.target, low, 1 << 16
            )
            return float(counted * step)
        lows, highs = self._ranges(parts, rows, access)
        live = np.arange(state.first - state.base, max(limit - state.base, 0))
        some = live[:: max(1, len(live) // settings.PHASES_SAMPLE_TUPLES)]
        # Sorted runs have only the tuples that somebody wants as this item.
        wanted = float(parts.lineage.values[some].any(axis=1).mean()) if len(some) else 0.0
        if access is Access.TIME:
            newest = state.newest[state.first - state.base : max(limit - state.base, 0)]
            bounds = np.clip(np.stack((lows[sample], highs[sample])), -(2.0**62), 2.0**62)
            begin, end = np.searchsorted(newest, bounds.astype(np.int64))
            return float(np.maximum(end - begin, 0).sum() * step) * wanted
        values = state.values[some, _largest_column(parts)]
        inside = (values >= lows[sample][:, None]) & (values <= highs[sample][:, None])
        return float(inside.mean() * len(live) * rows.count) * wanted if inside.size else 0.0


def _by_rank(own: dict[str, PhaseCount], first: str) -> str:
    """The phases by what each takes away for its cost, `first` before the other of J and W."""
    ordered = sorted("AJW", key=lambda letter: -own[letter].rank)
    second = "J" if first == "W" else "W"
    if ordered.index(second) < ordered.index(first):
        one, other = ordered.index(first), ordered.index(second)
        ordered[one], ordered[other] = second, first
    return "".join(ordered)


def _largest_list(parts: StepParts) -> int:
    """The theta list that serves most slots."""
    members = Thetas(*parts.thetas).members
    return int(np.bitwise_count(members).sum(axis=1).argmax())


def _largest_column(parts: StepParts) -> int:
    """The target's column that it compares."""
    return int(Thetas(*parts.thetas).columns[_largest_list(parts)])


def _grow(rows: Rows, count: int, room: int) -> None:
    """Make room and keep the first `count` rows."""
    positions, ts, lineage = rows.positions, rows.ts, rows.lineage
    rows.resize(room)
    rows.positions[:, :count] = positions[:, :count]
    rows.ts[:, :count] = ts[:, :count]
    rows.lineage[:count] = lineage[:count]
