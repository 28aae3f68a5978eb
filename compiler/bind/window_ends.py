"""The ends of BEGIN-END: constant sums of NOW, timestamps, numbers and durations.

A part has a kind and a size in microseconds. A bare number is a number of seconds: added to NOW or to a timestamp it is a
duration; alone it is an instant where event time is a number.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from cqc.compiler.bind.literals import (
    BIGINT_LEAST,
    BIGINT_MOST,
    bind_number,
    bind_timestamp,
    duration_us,
)
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import Instant
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope


class _Kind(Enum):
    NOW = "NOW"
    TIMESTAMP = "a timestamp"
    NUMBER = "a number"
    DURATION = "a duration"


@record
class _Part:
    kind: _Kind
    us: Fraction  # a number counts seconds, here too in microseconds


def bind_instant(
    scope: Scope, node: syntax.WindowEnd, clause: str, numeric_time: bool | None
) -> Instant | None:
    """An end of BEGIN-END; `numeric_time` is None where the query's streams do not say how they count."""
    found = len(scope.diagnostics)
    part = _evaluate(scope, node.instant)
    if part is None:
        if len(scope.diagnostics) == found:
            _report(scope, node, clause, numeric_time, None)
        return None
    wrong = {_Kind.DURATION}
    if numeric_time is not None:
        wrong.add(_Kind.TIMESTAMP if numeric_time else _Kind.NUMBER)
    us = round(part.us)
    if part.kind in wrong:
        _report(scope, node, clause, numeric_time, f"This is {part.kind.value}.")
        return None
    if not BIGINT_LEAST <= us <= BIGINT_MOST:
        text = " ".join(node.instant.span.text.split())
        scope.report("CQ048", node.instant.span, number=text, type="instants")
        return None
    return Instant(part.kind is _Kind.NOW, us, node.exclusive)


def _report(
    scope: Scope,
    node: syntax.WindowEnd,
    clause: str,
    numeric_time: bool | None,
    detail: str | None,
) -> None:
    fixed = "`100`" if numeric_time else "`TIMESTAMP '2024-01-01 00:00:00'`"
    hint = f"An instant is `NOW`, `NOW - 10 MINUTES` or {fixed}."
    scope.report("CQ058", node.instant.span, clause=clause, detail=detail, hint=hint)


def _evaluate(scope: Scope, node: syntax.Expression) -> _Part | None:
    match node:
        case syntax.Parenthesised(inner=inner):
            return _evaluate(scope, inner)
        case syntax.Now():
            return _Part(_Kind.NOW, Fraction(0))
        case syntax.Duration():
            us = duration_us(scope, node)
            return None if us is None else _Part(_Kind.DURATION, Fraction(us))
        case syntax.NumberLiteral():
            return _number(scope, node)
        case syntax.TimestampLiteral(text=text) | syntax.StringLiteral(value=text):
            literal = bind_timestamp(scope, text, node.span)
            value = None if literal is None else literal.value
            return _Part(_Kind.TIMESTAMP, Fraction(value)) if isinstance(value, int) else None
        case syntax.Unary(operator="-" | "+", operand=operand):
            return _signed(_evaluate(scope, operand), node.operator)
        case syntax.Binary():
            return _combine(
                node.operator, _evaluate(scope, node.left), _evaluate(scope, node.right)
            )
        case _:
            return None


def _number(scope: Scope, node: syntax.NumberLiteral) -> _Part | None:
    if bind_number(scope, node) is None:
        return None
    return _Part(_Kind.NUMBER, Fraction(node.text) * SECOND_US)


def _signed(part: _Part | None, sign: str) -> _Part | None:
    if part is None or part.kind not in (_Kind.NUMBER, _Kind.DURATION):
        return None
    return _Part(part.kind, -part.us) if sign == "-" else part


def _combine(operator: str, left: _Part | None, right: _Part | None) -> _Part | None:
    if left is None or right is None:
        return None
    if operator == "+" and right.kind in (_Kind.NOW, _Kind.TIMESTAMP):
        left, right = right, left
    sizes = (_Kind.NUMBER, _Kind.DURATION)
    if operator in ("+", "-") and right.kind in sizes:
        both = left.kind is _Kind.DURATION and right.kind is _Kind.NUMBER
        kind = _Kind.NUMBER if both else left.kind
        return _Part(kind, left.us + right.us if operator == "+" else left.us - right.us)
    if operator == "*" and left.kind in sizes and right.kind in sizes:
        return _product(left, right)
    if operator == "/" and left.kind in sizes and right.kind is _Kind.NUMBER and right.us:
        return _Part(left.kind, left.us / right.us * SECOND_US)
    return None


def _product(left: _Part, right: _Part) -> _Part | None:
    if left.kind is right.kind is _Kind.DURATION:
        return None
    kind = left.kind if left.kind is _Kind.DURATION else right.kind
    return _Part(kind, left.us * right.us / SECOND_US)
