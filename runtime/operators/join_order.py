"""In which order a new tuple meets the other items of a join.

The order decides cost only. Items that an equality connects to what is bound come first, then static tables and items with
a narrow window, because they multiply the partial combinations least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.normal import EquiJoin


def default_order(
    start: int,
    items: Sequence[int],
    equi_joins: Sequence[EquiJoin],
    spread_us: Callable[[int, int], int],
    theta_pairs: frozenset[tuple[int, int]],
) -> tuple[int, ...]:
    """The other items, cheapest first. `spread_us(bound, item)` is how wide the window between two items is."""
    bound = [start]
    rest = [item for item in items if item != start]
    while rest:

        def cost(item: int) -> tuple[int, int, int, int]:
            joined = any(
                (edge.left_item == item and edge.right_item in bound)
                or (edge.right_item == item and edge.left_item in bound)
                for edge in equi_joins
            )
            compared = any((min(item, other), max(item, other)) in theta_pairs for other in bound)
            return (not joined, not compared, min(spread_us(other, item) for other in bound), item)

        best = min(rest, key=cost)
        bound.append(best)
        rest.remove(best)
    return tuple(bound[1:])
