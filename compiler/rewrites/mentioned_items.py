"""Which FROM items an expression mentions, and the same expression with its items numbered otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    Arithmetic,
    ColumnRef,
    Comparison,
    Expression,
    Literal,
    children,
)
from cqc.compiler.rewrites.rebuild import rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def item_mask(expression: Expression) -> int:
    """The items an expression mentions, item i as bit i."""
    kind = type(expression)
    if kind is ColumnRef:
        return 1 << expression.item  # type: ignore[union-attr]
    if kind is Literal:
        return 0
    if kind is Comparison or kind is Arithmetic:
        return item_mask(expression.left) | item_mask(expression.right)  # type: ignore[union-attr]
    mask = 0
    for child in children(expression):
        mask |= item_mask(child)
    return mask


def items_of(mask: int) -> tuple[int, ...]:
    """The item numbers of a mask, ascending."""
    return tuple([at for at in range(mask.bit_length()) if mask >> at & 1])


def renumber(expression: Expression, positions: Sequence[int]) -> Expression:
    """The expression with item i called `positions[i]`."""

    def moved(column: ColumnRef) -> Expression:
        at = positions[column.item]
        return column if at == column.item else replace(column, item=at)

    return substitute(expression, moved)


def substitute(expression: Expression, change: Callable[[ColumnRef], Expression]) -> Expression:
    """The expression with every column replaced by what `change` makes of it; the same object where nothing changes."""

    def changed(part: Expression) -> Expression:
        kind = type(part)
        if kind is Literal:
            return part
        return change(part) if kind is ColumnRef else rebuilt(part, changed)  # type: ignore[arg-type]

    return changed(expression)
