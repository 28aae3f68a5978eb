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
    Over,
    UserCall,
    children,
)

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
        case Aggregate():
            return _with_inputs(expression, lambda each: renumber(each, positions))
        case Over():
            return _renumber_over(expression, positions)


def _renumber_over(over: Over, positions: Sequence[int]) -> Over:
    aggregate = None if over.aggregate is None else renumber(over.aggregate, positions)
    assert aggregate is None or isinstance(aggregate, Aggregate)
    return replace(
        over,
        aggregate=aggregate,
        arguments=_renumber_all(over.arguments, positions),
        partition=_renumber_all(over.partition, positions),
        order=tuple(
            replace(each, expression=renumber(each.expression, positions)) for each in over.order
        ),
    )


def _substitute_over(over: Over, change: Callable[[ColumnRef], Expression]) -> Over:
    aggregate = None if over.aggregate is None else substitute(over.aggregate, change)
    assert aggregate is None or isinstance(aggregate, Aggregate)
    return replace(
        over,
        aggregate=aggregate,
        arguments=tuple(substitute(each, change) for each in over.arguments),
        partition=tuple(substitute(each, change) for each in over.partition),
        order=tuple(
            replace(each, expression=substitute(each.expression, change)) for each in over.order
        ),
    )


def substitute(expression: Expression, change: Callable[[ColumnRef], Expression]) -> Expression:
    """The expression with every column replaced by what `change` makes of it."""
    match expression:
        case Literal():
            return expression
        case ColumnRef():
            return change(expression)
        case Arithmetic() | Comparison() | IsDistinct():
            left, right = substitute(expression.left, change), substitute(expression.right, change)
            return replace(expression, left=left, right=right)
        case Negate() | Not() | Match() | IsNull() | IsTruth() | Cast():
            return replace(expression, operand=substitute(expression.operand, change))
        case And() | Or():
            operands = tuple([substitute(each, change) for each in expression.operands])
            return replace(expression, operands=operands)
        case InList():
            operand = substitute(expression.operand, change)
            values = tuple([substitute(each, change) for each in expression.values])
            return replace(expression, operand=operand, values=values)
        case Case():
            branches = tuple(
                (substitute(when, change), substitute(then, change))
                for when, then in expression.branches
            )
            otherwise = substitute(expression.otherwise, change)
            return replace(expression, branches=branches, otherwise=otherwise)
        case FunctionCall() | UserCall():
            arguments = tuple([substitute(each, change) for each in expression.arguments])
            return replace(expression, arguments=arguments)
        case Aggregate():
            return _with_inputs(expression, lambda each: substitute(each, change))
        case Over():
            return _substitute_over(expression, change)


def _with_inputs(aggregate: Aggregate, change: Callable[[Expression], Expression]) -> Aggregate:
    """An aggregate with each of its inputs changed."""
    return replace(
        aggregate,
        argument=None if aggregate.argument is None else change(aggregate.argument),
        more=tuple([change(each) for each in aggregate.more]),
        times=tuple([change(each) for each in aggregate.times]),
        order_by=tuple(
            [replace(each, expression=change(each.expression)) for each in aggregate.order_by]
        ),
    )


def _renumber_all(
    expressions: Sequence[Expression], positions: Sequence[int]
) -> tuple[Expression, ...]:
    return tuple([renumber(each, positions) for each in expressions])
