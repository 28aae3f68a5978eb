"""How the FROM items of a query with outer joins or EXISTS come together.

Items are numbered through the whole query: first those of FROM, then those of each EXISTS in the order in which they are written,
so that every ColumnRef means one item wherever it stands. A plain query has no tree: its items are a product.

    FROM A LEFT JOIN B ON c, D      Joined(INNER, Joined(LEFT, 0, 1, c), 2, None)
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Union

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression, Item


class JoinKind(Enum):
    """RIGHT is LEFT with its sides exchanged; a comma is INNER without a condition."""

    INNER = "INNER"
    LEFT = "LEFT"
    FULL = "FULL"

    __hash__ = object.__hash__  # as in `ColumnType`


@record
class Joined:
    """Two sides; `condition` is ON together with the WINDOW conditions that belong to this join."""

    kind: JoinKind
    left: JoinTree
    right: JoinTree
    condition: Expression | None
    is_comma: bool = False


JoinTree = Union[int, Joined]  # noqa: UP007  # a recursive alias needs the name as text


@record
class Exists:
    """`[NOT] EXISTS (SELECT ..)` as a conjunct of WHERE. `x [NOT] IN (SELECT y ..)` has `x` and `y` as `compared`.

    `first` is the number of its first item; its items follow one another.
    """

    negated: bool
    first: int
    items: tuple[Item, ...]
    tree: JoinTree
    where: Expression | None
    window: Expression | None
    max_window_us: int | None
    exists: tuple[Exists, ...]
    compared: tuple[Expression, Expression] | None
    span: Span = field(compare=False, repr=False)


def leaves(tree: JoinTree) -> tuple[int, ...]:
    """The items of a tree, from left to right."""
    if isinstance(tree, int):
        return (tree,)
    return (*leaves(tree.left), *leaves(tree.right))


def joins_of(tree: JoinTree) -> Iterator[Joined]:
    """Every join of a tree, inner ones first."""
    if isinstance(tree, Joined):
        yield from joins_of(tree.left)
        yield from joins_of(tree.right)
        yield tree


def nullable_items(tree: JoinTree) -> frozenset[int]:
    """The items that may be NULL in a combination."""
    if isinstance(tree, int):
        return frozenset()
    found = nullable_items(tree.left) | nullable_items(tree.right)
    if tree.kind is not JoinKind.INNER:
        found |= frozenset(leaves(tree.right))
    if tree.kind is JoinKind.FULL:
        found |= frozenset(leaves(tree.left))
    return found


def product_of(items: range) -> JoinTree:
    """Items that are only listed."""
    tree: JoinTree = items[0]
    for at in items[1:]:
        tree = Joined(JoinKind.INNER, tree, at, None, is_comma=True)
    return tree


def all_exists(exists: tuple[Exists, ...]) -> Iterator[Exists]:
    """Every EXISTS, with those inside it."""
    for each in exists:
        yield each
        yield from all_exists(each.exists)
