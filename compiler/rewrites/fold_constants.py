"""Replace operations on constants by their value.

Besides whole constants, AND and OR lose operands that decide nothing, so that what remains is what the data decides.
User functions are never called here: they may have effects, and they belong to the process that runs the query.

    WHERE x > 2 * 3 AND (1 = 1 OR y IS NULL)    becomes    WHERE x > 6
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
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
    Query,
    UserCall,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.rewrites.literal_values import NotFoldedError, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable


def fold_constants(query: Query) -> Query:
    """Fold the conditions of a query. Needs nothing; running it twice changes nothing."""
    where = None if query.where is None else fold(query.where)
    window = None if query.window is None else fold(query.window)
    if where is query.where and window is query.window:
        return query
    return replace(query, where=where, window=window)


def fold(expression: Expression) -> Expression:
    """The same expression with its constant parts computed; the same object where there are none."""
    kind = type(expression)
    if kind is Comparison:  # `column op literal` is most of what real rules hold
        left, right = expression.left, expression.right  # type: ignore[union-attr]
        if type(left) is ColumnRef and type(right) is Literal and right.value is not None:
            return expression
    fold_kind = _FOLDS.get(kind)
    return expression if fold_kind is None else fold_kind(expression)


def _literal(expression: Expression) -> Expression:
    try:
        return Literal(evaluate(expression), expression.type, expression.span)
    except NotFoldedError:
        return expression


def _fold_pair(expression: Arithmetic | Comparison | IsDistinct) -> Expression:
    left, right = fold(expression.left), fold(expression.right)
    if left is not expression.left or right is not expression.right:
        expression = replace(expression, left=left, right=right)
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _literal(expression)
    has_null = (isinstance(left, Literal) and left.value is None) or (
        isinstance(right, Literal) and right.value is None
    )
    if has_null and not isinstance(expression, IsDistinct):
        return Literal(None, expression.type, expression.span)
    return expression


def _fold_one(expression: Negate | Not | IsNull | IsTruth | Cast | Match) -> Expression:
    operand = expression.operand
    if type(operand) is ColumnRef and not (
        type(expression) is Match and expression.pattern is None
    ):
        return expression
    operand = fold(operand)
    if operand is not expression.operand:
        expression = replace(expression, operand=operand)
    if isinstance(expression, Match):
        is_null = expression.pattern is None or (
            isinstance(operand, Literal) and operand.value is None
        )
        return Literal(None, ColumnType.BOOLEAN, expression.span) if is_null else expression
    return _literal(expression) if isinstance(operand, Literal) else expression


def _fold_logical(expression: And | Or) -> Expression:
    """Drop operands that decide nothing; stop at one that decides all."""
    decisive = isinstance(expression, Or)
    operands = [fold(operand) for operand in expression.operands]
    if Literal not in map(type, operands) and all(map(is_, operands, expression.operands)):
        return expression
    kept: list[Expression] = []
    for operand in operands:
        if isinstance(operand, Literal) and operand.value is decisive:
            return operand
        if not (isinstance(operand, Literal) and operand.value is (not decisive)):
            kept.append(operand)
    if not kept:
        return Literal(not decisive, ColumnType.BOOLEAN, expression.span)
    if len(kept) == 1:
        return kept[0]
    if all(isinstance(operand, Literal) for operand in kept):  # NULLs only
        return kept[0]
    unchanged = len(kept) == len(expression.operands) and all(
        new is old for new, old in zip(kept, expression.operands, strict=True)
    )
    return expression if unchanged else replace(expression, operands=tuple(kept))


def _fold_in(expression: InList) -> Expression:
    operand = fold(expression.operand)
    values = tuple([fold(value) for value in expression.values])
    if operand is not expression.operand or any(
        new is not old for new, old in zip(values, expression.values, strict=True)
    ):
        expression = replace(expression, operand=operand, values=values)
    if isinstance(operand, Literal) and all(isinstance(value, Literal) for value in values):
        return _literal(expression)
    return expression


def _fold_case(expression: Case) -> Expression:
    """Leave out branches that are never taken; stop at one that always is."""
    kept: list[tuple[Expression, Expression]] = []
    otherwise = fold(expression.otherwise)
    for condition, value in expression.branches:
        condition = fold(condition)
        if isinstance(condition, Literal):
            if condition.value is True:
                otherwise = fold(value)
                break
            continue
        kept.append((condition, fold(value)))
    if not kept:
        same = otherwise.type is expression.type
        return otherwise if same else fold(Cast(otherwise, expression.type, expression.span))
    folded = replace(expression, branches=tuple(kept), otherwise=otherwise)
    return expression if folded == expression else folded


def _fold_call(expression: FunctionCall | UserCall) -> Expression:
    arguments = tuple([fold(argument) for argument in expression.arguments])
    if any(new is not old for new, old in zip(arguments, expression.arguments, strict=True)):
        expression = replace(expression, arguments=arguments)
    if isinstance(expression, UserCall):
        return expression
    constant = all(isinstance(argument, Literal) for argument in arguments)
    return _literal(expression) if constant else expression


_FOLDS: dict[type, Callable[..., Expression]] = {
    Arithmetic: _fold_pair,
    Comparison: _fold_pair,
    IsDistinct: _fold_pair,
    Negate: _fold_one,
    Not: _fold_one,
    IsNull: _fold_one,
    IsTruth: _fold_one,
    Cast: _fold_one,
    Match: _fold_one,
    And: _fold_logical,
    Or: _fold_logical,
    InList: _fold_in,
    Case: _fold_case,
    FunctionCall: _fold_call,
    UserCall: _fold_call,
}
