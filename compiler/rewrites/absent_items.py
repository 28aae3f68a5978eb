"""Expressions in which some items are NULL: their columns become NULL of the same type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    INSTANT,
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
    Over,
    UserCall,
)
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of, substitute

if TYPE_CHECKING:
    from collections.abc import Container


def without_items(expression: Expression, present: Container[int]) -> Expression:
    """The expression with NULL for the columns of all items but those present; the same object where nothing changes."""
    if all(item in present for item in items_of(item_mask(expression))):
        return expression
    match expression:
        case Literal():
            return expression
        case ColumnRef():
            return Literal(None, expression.type, expression.span)
        case Arithmetic() | Comparison() | IsDistinct():
            left = without_items(expression.left, present)
            return replace(expression, left=left, right=without_items(expression.right, present))
        case Negate() | Not() | Match() | IsNull() | IsTruth() | Cast():
            return replace(expression, operand=without_items(expression.operand, present))
        case And() | Or():
            operands = tuple(without_items(each, present) for each in expression.operands)
            return replace(expression, operands=operands)
        case InList():
            values = tuple(without_items(each, present) for each in expression.values)
            return replace(
                expression, operand=without_items(expression.operand, present), values=values
            )
        case Case():
            branches = tuple(
                (without_items(when, present), without_items(then, present))
                for when, then in expression.branches
            )
            otherwise = without_items(expression.otherwise, present)
            return replace(expression, branches=branches, otherwise=otherwise)
        case FunctionCall(name=name) if name == INSTANT:
            return Literal(None, expression.type, expression.span)
        case FunctionCall() | UserCall():
            arguments = tuple(without_items(each, present) for each in expression.arguments)
            return replace(expression, arguments=arguments)
        case Aggregate(argument=argument):
            inner = None if argument is None else without_items(argument, present)
            return replace(expression, argument=inner)
        case Over():
            return substitute(
                expression,
                lambda column: (
                    column if column.item in present else Literal(None, column.type, column.span)
                ),
            )
