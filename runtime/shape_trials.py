"""When a join takes another shape: what `--join auto` does while it runs.

Now and then the costs of all shapes are worked out anew from the tuples that are there (`shape_costs`). A shape that would cost
clearly less than the one the join has is tried: the join is made anew from its base tuples between two micro-batches, so no
result is lost or repeated. If a tuple then takes no less time than before, the join goes back, and the next trial comes after
twice as long. An estimate that is wrong is so tried ever more seldom, and a join does not go back and forth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from cqc.runtime.join_statistics import sample_join
from cqc.runtime.operators.demand_join import DemandJoin
from cqc.runtime.operators.join_tree import JoinTree
from cqc.runtime.shape_costs import MOST_ITEMS, ShapeCosts

if TYPE_CHECKING:
    from cqc.runtime.operators.multi_join import MultiJoin
    from cqc.runtime.operators.tree_shape import Shape

LOOK_TUPLES = 256  # from one look to the next, at first
_MOST_TUPLES = 1 << 20
LOOKS_SHARE = 0.03  # of the time of the join is spent on looking at it
_CLEARLY = 0.6  # another shape must be expected to cost less than so much
_BETTER = 0.9  # and a tuple must then take less than so much of the time


@dataclass(slots=True)
class ShapeTrials:
    """The looks at one join; `shape` is the one that it has, None for flat."""

    shape: Shape | None = None
    changes: int = 0
    returns: int = 0  # changes that were taken back
    _tuples: int = 0
    _seconds: float = 0.0
    _period: int = field(default_factory=lambda: LOOK_TUPLES)
    _pause: int = field(default_factory=lambda: LOOK_TUPLES)
    _before: tuple[Shape | None, float] | None = (
        None  # of a trial: where it came from, seconds a tuple
    )
    _settling: bool = False
    _look_s: float = 0.005

    def is_due(self, join: MultiJoin) -> bool:
        """Whether enough tuples came since the last look, and took so long that another one does not count."""
        if join.tuples_in - self._tuples < self._period:
            return False
        return (join.seconds - self._seconds) * LOOKS_SHARE >= self._look_s

    def look(self, join: MultiJoin) -> bool:
        """Whether the join should be made anew, with the `shape` that is now here."""
        each_s = (join.seconds - self._seconds) / max(join.tuples_in - self._tuples, 1)
        self._note(join)
        if join.alone is None:  # other hosts sit there too
            self._before, self._settling = None, False
            self._wait_longer()
            return False
        if self._settling:  # the first stretch after a change compiles, builds and fills
            self._settling = False
            return False
        if self._before is not None:
            came_from, before_s = self._before
            self._before = None
            if each_s >= _BETTER * before_s:
                self.shape = came_from
                self.returns += 1
                self._pause = self._period = min(4 * self._pause, _MOST_TUPLES)
                return True
            self._pause = LOOK_TUPLES
            return False
        started = perf_counter()
        is_new = self._choose(join, each_s)
        self._look_s = perf_counter() - started
        return is_new

    def _choose(self, join: MultiJoin, each_s: float) -> bool:
        part = join.alone
        assert part is not None
        # The estimate knows nothing of pairs that are never made because nobody awaits them: such a join is left alone.
        is_asking = isinstance(join, DemandJoin) and join.is_asking
        if is_asking or not 3 <= len(part.inputs) <= MOST_ITEMS:
            self._wait_longer()
            return False
        costs = ShapeCosts(sample_join(part, join.slots))
        flat = costs.flat()
        tree, cost = costs.best()
        now = flat if self.shape is None else costs.of(self.shape)
        best, least = (None, flat) if flat <= cost or _is_flat(tree) else (tree, cost)
        if best == self.shape or least >= _CLEARLY * now:
            self._wait_longer()
            return False
        self._before = (self.shape, each_s)
        self._settling = True
        self._period = LOOK_TUPLES  # a trial is short, however long the pause before it was
        self.shape = best
        self.changes += 1
        return True

    def _wait_longer(self) -> None:
        self._pause = self._period = min(2 * self._pause, _MOST_TUPLES)

    def _note(self, join: MultiJoin) -> None:
        self._tuples, self._seconds = join.tuples_in, join.seconds

    def moved(self, join: MultiJoin) -> None:
        """The join was made anew."""
        self._note(join)
        if isinstance(join, JoinTree):
            join.chosen = True


def _is_flat(shape: Shape) -> bool:
    return not isinstance(shape, int) and all(isinstance(part, int) for part in shape)
