"""An expression with its direct operands changed: what every rewrite that goes through a whole expression is made of."""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    Aggregate,
    And,
    Arithmetic,
    Case,
    Cast,
    Comparison,
    Expression,
    FunctionCall,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Match,
    Negate,
    Not,
    Or,
    Over,
    UserCall,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.bound import Order, Pull

    Change = Callable[[Expression], Expression]


def rebuilt(expression: Expression, change: Change) -> Expression:
    """The expression with `change` made to each direct operand; the same object where all of them stay as they are."""
    match expression:
        case Arithmetic() | Comparison() | IsDistinct():
            left, right = change(expression.left), change(expression.right)
            same = left is expression.left and right is expression.right
            return expression if same else replace(expression, left=left, right=right)
        case Negate() | Not() | Match() | IsNull() | IsTruth() | Cast():
            operand = change(expression.operand)
            return (
                expression
                if operand is expression.operand
                else replace(expression, operand=operand)
            )
        case And() | Or():
            operands = _all(expression.operands, change)
            same = operands is expression.operands
            return expression if same else replace(expression, operands=operands)
        case InList():
            operand, values = change(expression.operand), _all(expression.values, change)
            same = operand is expression.operand and values is expression.values
            return expression if same else replace(expression, operand=operand, values=values)
        case Case():
            branches = tuple([(change(when), change(then)) for when, then in expression.branches])
            return replace(expression, branches=branches, otherwise=change(expression.otherwise))
        case FunctionCall() | UserCall():
            arguments = _all(expression.arguments, change)
            same = arguments is expression.arguments
            return expression if same else replace(expression, arguments=arguments)
        case Aggregate():
            return _aggregate(expression, change)
        case Over():
            return replace(
                expression,
                aggregate=None
                if expression.aggregate is None
                else _aggregate(expression.aggregate, change),
                arguments=_all(expression.arguments, change),
                partition=_all(expression.partition, change),
                order=_orders(expression.order, change),
            )
        case _:  # a literal or a column
            return expression


def rebuilt_clauses(pull: Pull, change: Change) -> Pull:
    """The clauses after WINDOW with `change` made to each of their expressions."""
    return replace(
        pull,
        group_by=_all(pull.group_by, change),
        having=None if pull.having is None else change(pull.having),
        qualify=None if pull.qualify is None else change(pull.qualify),
        order_by=_orders(pull.order_by, change),
    )


def _all(expressions: tuple[Expression, ...], change: Change) -> tuple[Expression, ...]:
    changed = tuple([change(each) for each in expressions])
    return expressions if all(map(is_, changed, expressions)) else changed


def _aggregate(aggregate: Aggregate, change: Change) -> Aggregate:
    return replace(
        aggregate,
        argument=None if aggregate.argument is None else change(aggregate.argument),
        more=_all(aggregate.more, change),
        times=_all(aggregate.times, change),
        order_by=_orders(aggregate.order_by, change),
    )


def _orders(orders: tuple[Order, ...], change: Change) -> tuple[Order, ...]:
    return tuple([replace(each, expression=change(each.expression)) for each in orders])
