"""Which FROM items an expression mentions, and the same expression with its items numbered otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    Aggregate,
    And,
    Arithmetic,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Expression,
    FunctionCall,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Match,
    Negate,
    Not,
    Or,
    UserCall,
    children,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    match expression:
        case Literal():
            return expression
        case ColumnRef(item=item):
            same = positions[item] == item
            return expression if same else replace(expression, item=positions[item])
        case Arithmetic() | Comparison() | IsDistinct():
            left, right = (
                renumber(expression.left, positions),
                renumber(expression.right, positions),
            )
            return replace(expression, left=left, right=right)
        case Negate() | Not() | Match() | IsNull() | IsTruth() | Cast():
            return replace(expression, operand=renumber(expression.operand, positions))
        case And() | Or():
            return replace(expression, operands=_renumber_all(expression.operands, positions))
        case InList():
            operand = renumber(expression.operand, positions)
            values = _renumber_all(expression.values, positions)
            return replace(expression, operand=operand, values=values)
        case Case():
            branches = tuple(
                (renumber(when, positions), renumber(then, positions))
                for when, then in expression.branches
            )
            otherwise = renumber(expression.otherwise, positions)
            return replace(expression, branches=branches, otherwise=otherwise)
        case FunctionCall() | UserCall():
            return replace(expression, arguments=_renumber_all(expression.arguments, positions))
        case Aggregate(argument=argument):
            moved = None if argument is None else renumber(argument, positions)
            return replace(expression, argument=moved)


def _renumber_all(
    expressions: Sequence[Expression], positions: Sequence[int]
) -> tuple[Expression, ...]:
    return tuple([renumber(each, positions) for each in expressions])
