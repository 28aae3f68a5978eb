"""Shapes of join trees: which items meet first. A shape is an item, or the shapes whose results are joined.

    left-deep over 4 items   (((0, 1), 2), 3)
    bushy over 6 items       (((0, 1), (2, 3)), (4, 5))
    a node of three inputs   ((0, 1, 2), 3): nothing is kept between 0, 1 and 2

Items that an equality connects are brought together where possible, because without one a join is a cross product within
the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from cqc.compiler.graph.lower import classes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import EquiJoin

Shape = Union[int, tuple["Shape", ...]]  # noqa: UP007  # a recursive alias needs the name as text


def items_of(shape: Shape) -> tuple[int, ...]:
    """The items of a shape from left to right."""
    if isinstance(shape, int):
        return (shape,)
    return tuple(item for part in shape for item in items_of(part))


def left_deep(count: int, equi_joins: Sequence[EquiJoin]) -> Shape:
    """One item after the other."""
    shape: Shape = 0
    rest: list[Shape] = list(range(1, count))
    while rest:
        shape = (shape, rest.pop(_partner(shape, rest, equi_joins)))
    return shape


def bushy(count: int, equi_joins: Sequence[EquiJoin]) -> Shape:
    """Pairs, then pairs of pairs."""
    shapes: list[Shape] = list(range(count))
    while len(shapes) > 1:
        paired: list[Shape] = []
        while len(shapes) > 1:
            first = shapes.pop(0)
            paired.append((first, shapes.pop(_partner(first, shapes, equi_joins))))
        shapes = paired + shapes
    return shapes[0]


def order_by_shape(shape: Shape, start: int, equi_joins: Sequence[EquiJoin]) -> tuple[int, ...]:
    """The other items in the order in which a tuple of `start` meets them on its way up, connected ones first."""
    order: list[int] = []
    for beside in _beside(shape, start):
        rest: list[Shape] = list(items_of(beside))
        while rest:
            bound: Shape = start
            for item in order:
                bound = (bound, item)
            order += items_of(rest.pop(_partner(bound, rest, equi_joins)))
    return tuple(order)


def _beside(shape: Shape, start: int) -> list[Shape]:
    """What is beside the start, beside its parent, and so on up."""
    if isinstance(shape, int):
        return []
    (own,) = [part for part in shape if start in items_of(part)]
    return [*_beside(own, start), *(part for part in shape if part is not own)]


def all_equalities(
    equi_joins: Sequence[EquiJoin], relations: Sequence[Relation]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The equalities as pairs of (item, column), with those that follow where all columns of a class have one type.

    A whole number equals a double as a double, and two of them that equal one double may differ: nothing follows there.
    """
    pairs = [
        ((edge.left_item, edge.left_column), (edge.right_item, edge.right_column))
        for edge in equi_joins
    ]
    found = list(pairs)
    for each in classes_of(pairs):
        types = {relations[item].columns[column].type for item, column in each}
        if len(types) == 1:
            following = [
                (one, two)
                for at, one in enumerate(each)
                for two in each[at + 1 :]
                if one[0] != two[0] and (one, two) not in pairs and (two, one) not in pairs
            ]
            found += following
    return found


def _partner(shape: Shape, others: Sequence[Shape], equi_joins: Sequence[EquiJoin]) -> int:
    """The place of the first of the others that an equality connects with the shape; else 0."""
    own = set(items_of(shape))
    for at, other in enumerate(others):
        there = set(items_of(other))
        for edge in equi_joins:
            ends = {edge.left_item, edge.right_item}
            if ends & own and ends & there:
                return at
    return 0
