"""Move NOT inwards until it stands before a single condition.

Only "is TRUE" matters for a condition of WHERE or WINDOW, which lets three-valued logic be rewritten without a third
value. Four questions can be asked of a part: is it TRUE, is it FALSE, is it not TRUE (FALSE or NULL), is it not FALSE.
Each question of AND, OR, NOT and IS TRUE/FALSE is answered by questions of the operands:

    NOT (a < 1 AND b LIKE 'x%')      becomes    a >= 1 OR NOT b LIKE 'x%'
    (a < 1 OR b) IS NOT TRUE         becomes    NOT (a < 1) IS TRUE AND NOT b IS TRUE
    NOT coalesce(a LIKE 'x%', FALSE) becomes    (a LIKE 'x%') IS NOT TRUE

The last one is how rules say that a missing field counts as false.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from operator import is_
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    And,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Expression,
    FunctionCall,
    IsTruth,
    Literal,
    Match,
    Not,
    Or,
    Query,
)
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import Span


_DEFAULTS = ("coalesce", "nvl")


class Question(Enum):
    """What is asked of a condition."""

    TRUE = "is true"
    FALSE = "is false"
    NOT_TRUE = "is not true"
    NOT_FALSE = "is not false"


_OPPOSITE = {
    Question.TRUE: Question.FALSE,
    Question.FALSE: Question.TRUE,
    Question.NOT_TRUE: Question.NOT_FALSE,
    Question.NOT_FALSE: Question.NOT_TRUE,
}
_DENIED = {
    Question.TRUE: Question.NOT_TRUE,
    Question.FALSE: Question.NOT_FALSE,
    Question.NOT_TRUE: Question.TRUE,
    Question.NOT_FALSE: Question.FALSE,
}


def push_negations(query: Query) -> Query:
    """Rewrite both conditions. Each is TRUE where it was TRUE; elsewhere it may be FALSE where it was NULL."""
    where = None if query.where is None else ask(query.where, Question.TRUE)
    window = None if query.window is None else ask(query.window, Question.TRUE)
    if where is query.where and window is query.window:
        return query
    return replace(query, where=where, window=window)


def ask(expression: Expression, question: Question) -> Expression:
    """A condition that is TRUE exactly where the answer to the question is yes."""
    kind = type(expression)
    if kind is Comparison:
        return _ask_comparison(expression, question)  # type: ignore[arg-type]
    if kind is And or kind is Or:
        return _ask_logical(expression, question)  # type: ignore[arg-type]
    if isinstance(expression, Not):
        return ask(expression.operand, _OPPOSITE[question])
    if isinstance(expression, IsTruth):
        return _ask_truth(expression, question)
    if isinstance(expression, Literal):
        return Literal(_holds(expression.value, question), ColumnType.BOOLEAN, expression.span)
    if isinstance(expression, FunctionCall):
        return _ask_default(expression, question)
    return _leaf(expression, question)


def _ask_default(expression: FunctionCall, question: Question) -> Expression:
    """`coalesce(condition, TRUE or FALSE)` is never NULL: a condition that is NULL counts as the second."""
    if expression.name in _DEFAULTS and len(expression.arguments) == 2:
        condition, default = expression.arguments
        if isinstance(default, Literal) and isinstance(default.value, bool):
            asked = Question.NOT_FALSE if default.value else Question.TRUE
            denied = question in (Question.FALSE, Question.NOT_TRUE)
            return ask(condition, _DENIED[asked] if denied else asked)
    return _leaf(expression, question)


def _ask_comparison(expression: Comparison, question: Question) -> Expression:
    inner = _compared_with_truth(expression)
    if inner is not None:
        return ask(inner, question)
    if question is Question.TRUE:
        return expression
    if question is Question.FALSE:
        return replace(expression, op=expression.op.negated)
    return _leaf(expression, question)


def _compared_with_truth(expression: Comparison) -> Expression | None:
    """`condition = TRUE` and its like as the condition, or NOT the condition; a plain column stays as it is."""
    if type(expression.left) is ColumnRef and type(expression.right) is Literal:
        return None
    for condition, other in (
        (expression.left, expression.right),
        (expression.right, expression.left),
    ):
        if type(other) is Literal and isinstance(other.value, bool) and _is_condition(condition):
            if expression.op is ComparisonOp.EQ:
                return condition if other.value else Not(condition, expression.span)
            if expression.op is ComparisonOp.NE:
                return Not(condition, expression.span) if other.value else condition
    return None


def _is_condition(expression: Expression) -> bool:
    return isinstance(expression, Comparison | And | Or | Not | IsTruth | FunctionCall | Match)


def _ask_logical(expression: And | Or, question: Question) -> Expression:
    """AND is TRUE when all are, and FALSE when some is; the same for not FALSE and not TRUE; OR the other way round."""
    affirmative = question in (Question.TRUE, Question.NOT_FALSE)
    operands = [ask(operand, question) for operand in expression.operands]
    kind = And if isinstance(expression, And) == affirmative else Or
    if kind is type(expression) and all(map(is_, operands, expression.operands)):
        return expression
    return flatten(kind, operands, expression.span)


def flatten(kind: type[And] | type[Or], operands: list[Expression], span: Span) -> Expression:
    """AND or OR of the operands, those of the same kind taken in."""
    flat: list[Expression] = []
    for operand in operands:
        if isinstance(operand, kind):
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    return kind(tuple(flat), span)


def _ask_truth(expression: IsTruth, question: Question) -> Expression:
    """IS TRUE and IS FALSE are never NULL, so "not FALSE" is TRUE and "not TRUE" is FALSE."""
    asked = Question.TRUE if expression.value else Question.FALSE
    denied = question in (Question.FALSE, Question.NOT_TRUE)
    return ask(expression.operand, _DENIED[asked] if denied else asked)


def _holds(value: object, question: Question) -> bool:
    match question:
        case Question.TRUE:
            return value is True
        case Question.FALSE:
            return value is False
        case Question.NOT_TRUE:
            return value is not True
        case Question.NOT_FALSE:
            return value is not False


def _leaf(expression: Expression, question: Question) -> Expression:
    match question:
        case Question.TRUE:
            return expression
        case Question.FALSE:
            return Not(expression, expression.span)
        case Question.NOT_TRUE:
            return Not(IsTruth(expression, True, expression.span), expression.span)
        case Question.NOT_FALSE:
            return Not(IsTruth(expression, False, expression.span), expression.span)
