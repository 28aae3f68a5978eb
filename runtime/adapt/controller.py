"""The controller of one decision: which arm runs, when another one is tried, and when a worse one is left.

Every adaptive decision of the runtime has one, with a row of the table (`settings`). The decision point hands in its arms with what
each is expected or measured to cost, and gets the arm back. The notions are the same everywhere:

- *arm*: one of the ways in which the same answers can be found;
- *cost*: seconds, or anything in proportion to them, for the next piece of work;
- *hysteresis*: the present arm is left only for one that is clearly cheaper;
- *trial*: an arm runs to be measured, for one piece of work (`decide`) or for a stretch (`begin_trial`, `judge`). It is begun only
  within the budget, and one that is far worse is left before the stretch is over;
- *giving up*: an arm that lost often enough in a row rests, each time for twice as long (`loses`, `is_rested`).

    controller = Controller(FILTER_SIDE, "packet")
    side = controller.decide({"packet": 2e-4, "access": 1e-4})     # "access": it is clearly cheaper
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import TYPE_CHECKING, Generic, TypeVar

from cqc.runtime.adapt.budget import Budget
from cqc.runtime.adapt.measured_cost import MeasuredCost
from cqc.runtime.adapt.pause import Pause

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cqc.runtime.adapt.settings import Rule

Arm = TypeVar("Arm", bound=Hashable)


class Controller(Generic[Arm]):
    """Decides one thing, again and again."""

    def __init__(self, rule: Rule, arm: Arm) -> None:
        self.rule = rule
        self._clearly = rule.clearly
        self.arm = arm  # that runs
        self.changes = 0
        self.returns = 0  # changes that were taken back
        self.decisions = 0
        self.pause = Pause(rule.stretch, rule.longest)
        self.budget = Budget(rule.budget)
        self.costs: Mapping[Arm, float] = {}  # when it was last decided
        self._taken: dict[Arm, int] = {}  # the number of the decision for which an arm last ran
        # Before this decision no arm has rested long enough to be measured again.
        self._look_at: float = rule.again or inf
        self._losses = 0
        self._before: tuple[Arm, float] | None = None  # of a trial: where it came from, its cost

    def cost(self, each: float, least: float = 0.0) -> MeasuredCost:
        """A cost that is measured as the rule says, with what is expected at first."""
        return MeasuredCost(each, self.rule.newest, self.rule.spike, least)

    # Decisions for one piece of work

    def is_clearly_cheaper(self, arm: Arm, cost: float, now: float) -> bool:
        """Whether an arm is another one, and costs clearly less than the present one does."""
        return arm != self.arm and cost < self.rule.clearly * now

    def prefer(self, costs: Mapping[Arm, float]) -> Arm:
        """The arm that runs from now on: the present one unless another is clearly cheaper."""
        self.decisions += 1
        self.costs = costs
        best, least = self.arm, self._clearly * costs.get(self.arm, inf)
        for arm, cost in costs.items():  # packets may be small: this is asked for every one
            if cost < least:
                best, least = arm, cost
        if best != self.arm:
            self.arm = best
            self.changes += 1
        return best

    def decide(self, costs: Mapping[Arm, float], measured: Collection[Arm] | None = None) -> Arm:
        """The arm for the next piece of work: now and then one that rests, to measure it.

        `measured` are the arms that are worth it; all of them unless it is said. How much work is done, `budget` is told by
        whoever does it.
        """
        arm = self.prefer(costs)
        number = self._taken[arm] = self.decisions
        if number < self._look_at:
            return arm
        return self._one_that_rests(arm, costs, costs if measured is None else measured)

    def _one_that_rests(
        self, arm: Arm, costs: Mapping[Arm, float], measured: Collection[Arm]
    ) -> Arm:
        """An arm to be measured again where one has rested long enough and the budget allows it, else the present one."""
        rule, number, now = self.rule, self.decisions, costs[arm]
        self._look_at = number + rule.again
        for other in measured:
            if other == arm or other not in costs:
                continue
            due = self._taken.get(other, 0) + rule.again
            if due > number:
                self._look_at = min(self._look_at, due)
            elif costs[other] < rule.nearly * now and self.budget.allows(costs[other] - now):
                self._taken[other] = number
                self.budget.tried(costs[other] - now)
                return other
            else:  # it seems too dear: that may be another matter soon
                self._look_at = min(self._look_at, number + max(1, rule.again // 8))
        return arm

    # Trials over a stretch of work

    @property
    def is_trying(self) -> bool:
        """Whether a trial goes on, whose outcome is not known yet."""
        return self._before is not None

    def begin_trial(self, arm: Arm, cost: float) -> None:
        """Change to an arm, from the present one that costs so much."""
        self._before = (self.arm, cost)
        self.arm = arm
        self.changes += 1

    def is_far_worse(self, cost: float) -> bool:
        """Whether a trial need not go on to the end of its stretch."""
        return self._before is not None and cost > self.rule.worse * self._before[1]

    def judge(self, cost: float, *, is_void: bool = False) -> tuple[bool, float]:
        """End a trial; whether its arm stays, and what the arm before cost. A void one goes back whatever it cost."""
        assert self._before is not None
        (came_from, before), self._before = self._before, None
        if cost < self.rule.better * before and not is_void:
            self.pause.shortest()
            return True, before
        self.arm = came_from
        self.returns += 1
        self.pause.longer(4)
        return False, before

    def end_trial(self) -> None:
        """Forget the trial that goes on: the arm stays."""
        self._before = None

    # Arms that lose rest

    def loses(self, *, lost: bool) -> bool:
        """Whether to give the arm up, after one more look at which it lost or not."""
        self._losses = self._losses + 1 if lost else 0
        if self._losses < self.rule.losses:
            return False
        self._losses = 0
        self.returns += 1
        self.pause.begin()
        return True

    def is_rested(self) -> bool:
        """Whether an arm that was given up gets another trial, after one more look."""
        if not self.pause.is_over() or not self.budget.allows_another():
            return False
        self.changes += 1
        return True
