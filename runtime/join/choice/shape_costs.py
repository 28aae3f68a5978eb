"""What each shape of a join would cost, from the tuples that its states hold.

Some tuples of every two items are compared: how many agree in what must be equal, and how many of those in windows and theta
conditions. With the sizes of the states that gives the number of combinations over any set of items, as if conditions were
independent, and from it the work of a node of the tree while so many tuples come as came so far:

- a row that arrives at an input meets the other inputs one after the other, the one first that leaves least; every candidate
  counts, and every row that is made;
- rows that a node keeps for the one above cost more than those that are forgotten at once.

The shape is put together from small sets to large ones: a set is best joined flat, or as two parts that are best themselves.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.runtime.adapt import settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.physical.tree_shape import Shape


@record
class Statistics:
    """Sizes of the items' states, how many tuples came, and, for two items, the share of pairs that agree.

    `equal[i, j]` in the values that must be equal, by class of equal columns; `rest[i, j]` in windows and theta conditions of those.
    """

    sizes: NDArray[np.float64]
    came: NDArray[np.float64]  # 0 for tables
    equal: Mapping[tuple[int, int], Mapping[int, float]]
    rest: NDArray[np.float64]
    has_theta: NDArray[np.bool_]


class ShapeCosts:
    """The costs of shapes over the same statistics."""

    def __init__(self, statistics: Statistics) -> None:
        self._known = statistics
        self._counts: dict[frozenset[int], float] = {}

    def combinations(self, items: frozenset[int]) -> float:
        """How many combinations of the items there are at a time."""
        if items not in self._counts:
            self._counts[items] = self._count(items)
        return self._counts[items]

    def flat(self) -> float:
        """Of the flat join."""
        return self._node([frozenset((item,)) for item in range(len(self._known.sizes))], 1.0)

    def of(self, shape: Shape) -> float:
        """Of a tree."""
        cost, items = self._tree(shape)
        return cost - settings.SHAPE_KEPT * self._rate(items)  # results are not kept

    def best(self) -> tuple[Shape, float]:
        """The tree that costs least."""
        count = len(self._known.sizes)
        best: dict[frozenset[int], tuple[float, Shape]] = {
            frozenset((item,)): (0.0, item) for item in range(count)
        }
        for size in range(2, count + 1):
            for chosen in combinations(range(count), size):
                items = frozenset(chosen)
                kept = settings.SHAPE_KEPT * self._rate(items) if size < count else 0.0
                parts = [frozenset((item,)) for item in chosen]
                found: list[tuple[float, Shape]] = [
                    (self._node(parts, settings.SHAPE_CHECKED), chosen)
                ]
                for one in _halves(chosen):
                    two = items - one
                    cost = (
                        best[one][0] + best[two][0] + self._node([one, two], settings.SHAPE_CHECKED)
                    )
                    found.append((cost, (best[one][1], best[two][1])))
                cost, shape = min(found, key=lambda each: each[0])
                best[items] = cost + kept, shape
        cost, shape = best[frozenset(range(count))]
        return shape, cost

    def _tree(self, shape: Shape) -> tuple[float, frozenset[int]]:
        if isinstance(shape, int):
            return 0.0, frozenset((shape,))
        parts = [self._tree(part) for part in shape]
        items = frozenset(item for _, own in parts for item in own)
        cost = sum(cost for cost, _ in parts) + self._node(
            [own for _, own in parts], settings.SHAPE_CHECKED
        )
        return cost + settings.SHAPE_KEPT * self._rate(items), items

    def _rate(self, items: frozenset[int]) -> float:
        """How many combinations come into being: with each tuple those that it completes."""
        return self._turnover(items) * self.combinations(items)

    def _turnover(self, items: frozenset[int]) -> float:
        """How often the combinations of the items are renewed, each part in its turn."""
        known = self._known
        return float(sum(known.came[item] / known.sizes[item] for item in items))

    def _node(self, parts: Sequence[frozenset[int]], checked: float) -> float:
        """The work of a node with these inputs."""
        cost = 0.0
        for start in parts:
            met, rest = start, [part for part in parts if part is not start]
            cost += self._rate(start)
            while rest:
                following = min(rest, key=lambda part: self.combinations(met | part))
                rest.remove(following)
                candidates = self._candidates(met, following)
                theta = any(self._known.has_theta[one, two] for one in met for two in following)
                met |= following
                made = self.combinations(met)
                cost += self._turnover(start) * (candidates * (checked if theta else 1.0) + made)
        return cost

    def _candidates(self, met: frozenset[int], following: frozenset[int]) -> float:
        """How many pairs of rows are looked at when all rows over `met` meet those over `following`."""
        pairs = self.combinations(met) * self.combinations(following)
        for share in self._classes(met, following).values():
            pairs *= share
        return pairs

    def _classes(self, met: frozenset[int], following: frozenset[int]) -> dict[int, float]:
        """For each class of equal columns that two sets share, the share of pairs that agree."""
        found: dict[int, float] = {}
        for one in met:
            for two in following:
                for number, share in self._known.equal.get((one, two), {}).items():
                    found[number] = min(share, found.get(number, 1.0))
        return found

    def _count(self, items: frozenset[int]) -> float:
        count = 1.0
        met: frozenset[int] = frozenset()
        for item in sorted(items):
            own = frozenset((item,))
            count *= self._known.sizes[item]
            for share in self._classes(met, own).values():
                count *= share
            for other in met:
                count *= self._known.rest[other, item]
            met |= own
        return float(count)


def _halves(items: Sequence[int]) -> Iterator[frozenset[int]]:
    """One part of each way to divide the items in two: the one with the first item."""
    first, *others = items
    for size in range(len(others)):
        for chosen in combinations(others, size):
            yield frozenset((first, *chosen))
