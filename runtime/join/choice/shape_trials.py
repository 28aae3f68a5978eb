"""When a join takes another shape: what `--join auto` does while it runs.

Now and then the costs of all shapes are worked out anew from the tuples that are there (`shape_costs`). A shape that would cost
clearly less than the one the join has is tried (`trials`): the join is made anew from its base tuples between two micro-batches, so
no result is lost or repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.runtime.adapt import trials
from cqc.runtime.join.choice.join_statistics import sample_join
from cqc.runtime.join.choice.shape_costs import MOST_ITEMS, ShapeCosts
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.tree.tree_join import TreeJoin

if TYPE_CHECKING:
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode


@dataclass(slots=True)
class ShapeTrials(trials.Trials["JoinNode", "Shape | None"]):
    """The looks at one join; the way is its shape, None for flat."""

    way: Shape | None = None

    def _may_change(self, subject: JoinNode) -> bool:
        return subject.alone is not None  # no other hosts sit there too

    def _choose(self, subject: JoinNode, each_s: float) -> bool:
        part = subject.alone
        assert part is not None
        # The estimate knows nothing of pairs that are never made because nobody awaits them: such a join is left alone.
        steps = subject.executor.steps if isinstance(subject.executor, FlatJoin) else None
        is_asking = isinstance(steps, DemandSteps) and steps.is_asking
        if is_asking or not 3 <= len(part.inputs) <= MOST_ITEMS:
            self._wait_longer()
            return False
        costs = ShapeCosts(sample_join(part, subject.slots))
        flat = costs.flat()
        tree, cost = costs.best()
        now = flat if self.way is None else costs.of(self.way)
        best, least = (None, flat) if flat <= cost or _is_flat(tree) else (tree, cost)
        if best == self.way or least >= trials.CLEARLY * now:
            self._wait_longer()
            return False
        self._try(best, each_s)
        return True

    def moved(self, join: JoinNode) -> None:
        """The join was made anew."""
        self.note(join)
        if isinstance(join.executor, TreeJoin):
            join.executor.chosen = True


def _is_flat(shape: Shape) -> bool:
    return not isinstance(shape, int) and all(isinstance(part, int) for part in shape)
