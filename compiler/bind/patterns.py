"""LIKE, ILIKE and RLIKE.

A pattern that is written out is checked when the query is compiled: a mistake in it is seen before any tuple, and the engine
can put thousands of patterns into one automaton. Any other pattern is read for each tuple, and one that is not valid fails
there. LIKE patterns follow Spark: the escape character stands before `%`, `_` or itself only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from cqc.compiler.bind.operators import coerce
from cqc.compiler.meaning.bound import FunctionCall, Literal, Match, Not, PatternKind
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.bound import Expression

_STRING = ColumnType.STRING
_NULL = ColumnType.NULL
_KINDS = {kind.value: kind for kind in PatternKind}


def is_written_out(pattern: syntax.Expression) -> bool:
    """Whether a pattern is a text in the query (or NULL), and not something to be worked out."""
    if type(pattern) is syntax.StringLiteral:
        return True
    return isinstance(_inner(pattern), syntax.StringLiteral | syntax.NullLiteral)


def bind_match(scope: Scope, node: syntax.Like, operand: Expression | None) -> Expression | None:
    """A match of a bound operand (None: a mistake already reported) with a pattern that is written out."""
    if operand is not None and operand.type is not _STRING:
        operand = _text_operand(scope, node, operand)
    escape = "\\" if node.escape is None else _escape(scope, node)
    pattern = _inner(node.pattern)
    text = pattern.value if isinstance(pattern, syntax.StringLiteral) else None
    if text is not None and escape is not None:
        reason = _wrong_pattern(node.operator, text, escape)
        if reason is not None:
            scope.report("CQ046", pattern.span, operator=node.operator, reason=reason)
            return None
    if operand is None or escape is None:
        return None
    match = Match(_KINDS[node.operator], operand, text, escape, node.span)
    return Not(match, node.span) if node.negated else match


def bind_match_call(
    scope: Scope, node: syntax.Like, operand: Expression | None, pattern: Expression | None
) -> Expression | None:
    """A match with a pattern that each tuple may have another of."""
    operand = _text_operand(scope, node, operand)
    pattern = _text_operand(scope, node, pattern)
    escape = _escape(scope, node)
    if operand is None or pattern is None or escape is None:
        return None
    arguments = (operand, pattern, Literal(escape, _STRING, node.span))
    call = FunctionCall(node.operator.lower(), arguments, ColumnType.BOOLEAN, node.span)
    return Not(call, node.span) if node.negated else call


def _inner(node: syntax.Expression) -> syntax.Expression:
    while isinstance(node, syntax.Parenthesised):
        node = node.inner
    return node


def _text_operand(scope: Scope, node: syntax.Like, operand: Expression | None) -> Expression | None:
    if operand is None or operand.type is _STRING:
        return operand
    if operand.type is _NULL:
        return coerce(operand, _STRING)
    hint = f"Write `CAST({' '.join(operand.span.text.split())} AS STRING)`."
    scope.report(
        "CQ044",
        operand.span,
        function=node.operator,
        expected="STRING",
        type=operand.type.value,
        hint=hint,
    )
    return None


def _escape(scope: Scope, node: syntax.Like) -> str | None:
    if node.escape is None:
        return "\\"
    if node.operator == "RLIKE":
        hint = "In a regular expression the backslash is the escape character."
        scope.report("CQ065", node.escape.span, function="RLIKE", what="ESCAPE", hint=hint)
        return None
    escape = _inner(node.escape)
    if isinstance(escape, syntax.StringLiteral) and len(escape.value) == 1:
        return escape.value
    scope.report("CQ050", node.escape.span, hint="`ESCAPE '!'`.")
    return None


def _wrong_pattern(operator: str, pattern: str, escape: str) -> str | None:
    """Why a pattern is not valid, or None."""
    if operator == "RLIKE":
        return wrong_regular_expression(pattern)
    at = 0
    while (at := pattern.find(escape, at)) >= 0:
        if at + 1 == len(pattern):
            return f"it ends with the escape character {escape}"
        if pattern[at + 1] not in ("%", "_", escape):
            return f"the escape character {escape} stands before {pattern[at + 1]}, not before % _ or itself"
        at += 2
    return None


def as_match(call: Expression) -> Expression:
    """`regexp_like(x, 'a+')` as `x RLIKE 'a+'`, which one automaton answers for all queries."""
    if type(call) is not FunctionCall:
        return call
    operand, pattern = call.arguments
    if type(pattern) is not Literal or not isinstance(pattern.value, str):
        return call
    return Match(PatternKind.RLIKE, operand, pattern.value, "\\", call.span)


@lru_cache(maxsize=1024)
def wrong_regular_expression(pattern: str) -> str | None:
    """Why a regular expression is not valid, or None."""
    import re2  # only programs with RLIKE pay for loading it

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else "not a regular expression"
        return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return None
