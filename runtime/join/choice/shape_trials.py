"""When a join takes another shape: what `--join auto` does while it runs.

Now and then the costs of all shapes are worked out anew from the tuples that are there (`shape_costs`). A shape that would cost
clearly less than the one the join has is tried (`trials`): the join is made anew from its base tuples between two micro-batches, so
no result is lost or repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.syntax.join_hint import hint_text
from cqc.runtime.adapt import settings
from cqc.runtime.adapt.decision import Decision
from cqc.runtime.adapt.trials import Trials
from cqc.runtime.join.choice.join_statistics import sample_join
from cqc.runtime.join.choice.shape_costs import ShapeCosts
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.tree.tree_join import TreeJoin

if TYPE_CHECKING:
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode


class ShapeTrials(Trials["JoinNode", "Shape | None"]):
    """The looks at one join; the arm is its shape, None for flat."""

    def __init__(self) -> None:
        super().__init__(settings.SHAPE, None)

    def _may_change(self, subject: JoinNode) -> bool:
        return subject.alone is not None  # no other hosts sit there too

    def _choose(self, subject: JoinNode, each_s: float) -> bool:
        part = subject.alone
        assert part is not None
        # The estimate knows nothing of pairs that are never made because nobody awaits them: such a join is left alone.
        steps = subject.executor.steps if isinstance(subject.executor, FlatJoin) else None
        is_asking = isinstance(steps, DemandSteps) and steps.is_asking
        if is_asking or not 3 <= len(part.inputs) <= settings.SHAPE_MOST_ITEMS:
            self._wait_longer()
            return False
        costs = ShapeCosts(sample_join(part, subject.slots))
        flat = costs.flat()
        tree, cost = costs.best()
        now = flat if self.arm is None else costs.of(self.arm)
        best, least = (None, flat) if flat <= cost or _is_flat(tree) else (tree, cost)
        if not self.controller.is_clearly_cheaper(best, least, now):
            self._wait_longer()
            return False
        self.decision = Decision(
            subject.name, _runs(subject, best), _name(subject, self.arm), least / max(now, 1.0)
        )
        self._try(subject, best, each_s)
        return True

    def moved(self, subject: JoinNode, seconds: float = 0.0) -> None:
        """The join was made anew."""
        super().moved(subject, seconds)
        if isinstance(subject.executor, TreeJoin):
            subject.executor.chosen = True

    def _tell(
        self, subject: JoinNode, before_s: float, each_s: float, tuples: int, *, stays: bool
    ) -> None:
        tried = self.decision
        ratio = each_s / max(before_s, 1e-12)
        if stays:
            does, other = _runs(subject, self.arm), tried.instead_of if tried else "before"
        else:
            does, other = _runs(subject, self.arm), "what was tried last"
            ratio = 1.0 / max(ratio, 1e-12)
        note = f"{self.changes} tried, {self.returns} taken back"
        self.decision = Decision(
            subject.name, does, other, ratio, tuples, is_measured=True, note=note
        )


def _name(join: JoinNode, shape: Shape | None) -> str:
    if shape is None:
        return "the flat join"
    assert join.alone is not None
    names = [each.state.relation.name for each in join.alone.inputs]
    return f"the tree {hint_text(shape, names)}"


def _runs(join: JoinNode, shape: Shape | None) -> str:
    return "runs flat" if shape is None else f"runs as {_name(join, shape)}"


def _is_flat(shape: Shape) -> bool:
    return not isinstance(shape, int) and all(isinstance(part, int) for part in shape)
