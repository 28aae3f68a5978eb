"""LIKE, ILIKE and RLIKE: the pattern is a constant, checked when the query is compiled.

So a mistake in a pattern is seen before any tuple, and the engine can put thousands of patterns into one automaton.
LIKE patterns follow Spark: the escape character stands before `%`, `_` or itself only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from cqc.compiler import syntax
from cqc.compiler.bind_operators import coerce
from cqc.compiler.bound import Match, Not, PatternKind
from cqc.compiler.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.bind_scope import Scope
    from cqc.compiler.bound import Expression

_STRING = ColumnType.STRING
_NULL = ColumnType.NULL


def bind_match(scope: Scope, node: syntax.Like, operand: Expression | None) -> Expression | None:
    """A pattern match of a bound operand (None: a mistake already reported)."""
    if operand is not None and operand.type is not _STRING:
        operand = _text_operand(scope, node, operand)
    escape = _escape(scope, node)
    pattern = _inner(node.pattern)
    if isinstance(pattern, syntax.NullLiteral):
        text = None
    elif isinstance(pattern, syntax.StringLiteral):
        text = pattern.value
        reason = None if escape is None else _wrong_pattern(node.operator, text, escape)
        if reason is not None:
            scope.report("CQ046", pattern.span, operator=node.operator, reason=reason)
            return None
    else:
        hint = f"Write it out: `{node.operator} '{'a%' if node.operator != 'RLIKE' else '^a'}'`."
        scope.report("CQ045", pattern.span, operator=node.operator, hint=hint)
        return None
    if operand is None or escape is None:
        return None
    match = Match(PatternKind(node.operator), operand, text, escape, node.span)
    return Not(match, node.span) if node.negated else match


def _inner(node: syntax.Expression) -> syntax.Expression:
    while isinstance(node, syntax.Parenthesised):
        node = node.inner
    return node


def _text_operand(scope: Scope, node: syntax.Like, operand: Expression) -> Expression | None:
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
        return _wrong_regular_expression(pattern)
    at = 0
    while (at := pattern.find(escape, at)) >= 0:
        if at + 1 == len(pattern):
            return f"it ends with the escape character {escape}"
        if pattern[at + 1] not in ("%", "_", escape):
            return f"the escape character {escape} stands before {pattern[at + 1]}, not before % _ or itself"
        at += 2
    return None


@lru_cache(maxsize=1024)
def _wrong_regular_expression(pattern: str) -> str | None:
    import re2  # only programs with RLIKE pay for loading it

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else "not a regular expression"
        return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return None
