"""Comparisons between event times compare instants.

An event time of type DOUBLE is a number of seconds that stands for the nearest microsecond. The column keeps its value, but
windows are about instants: with `0.3` and `0.4` seconds, `B.ts - A.ts <= 100 MS` holds, although the difference of the two
numbers is a little more than 0.1. So a condition of WHERE or WINDOW between event times, one of them DOUBLE,

    B.ts - A.ts <= 0.1      becomes      instant(B.ts) - instant(A.ts) <= 100 ms

with exact arithmetic on microseconds, as for TIMESTAMP. BIGINT event times are exact as they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    INSTANT,
    And,
    Arithmetic,
    ArithmeticOp,
    Cast,
    ColumnRef,
    Comparison,
    FunctionCall,
    IsTruth,
    Literal,
    Negate,
    Not,
    Or,
)
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression

_FARTHEST_US = 2**62  # instants and durations beyond leave no room for arithmetic on them


@dataclass(slots=True)
class _Sum:
    """Event times, each as often as it is added less how often it is subtracted, and seconds."""

    times: Counter[ColumnRef]
    seconds: Fraction


def compare_instants(
    condition: Expression, is_event_time: Callable[[ColumnRef], bool]
) -> Expression:
    """A condition whose comparisons between event times, where one is DOUBLE, are comparisons of instants."""
    match condition:
        case And() | Or():
            parts = [compare_instants(part, is_event_time) for part in condition.operands]
            return replace(condition, operands=tuple(parts))
        case Not() | IsTruth():
            return replace(condition, operand=compare_instants(condition.operand, is_event_time))
        case Comparison():
            return _compare(condition, is_event_time) or condition
        case _:
            return condition


def _compare(
    condition: Comparison, is_event_time: Callable[[ColumnRef], bool]
) -> Comparison | None:
    left, op, right = condition.left, condition.op, condition.right
    if _is_distance(right):
        left, op, right = right, op.flipped, left
    if _is_distance(left):
        assert isinstance(left, FunctionCall)
        inner, most = _sum(left.arguments[0], is_event_time), _sum(right, is_event_time)
        distance = None if inner is None else _interval(inner, left.span)
        if distance is None or most is None or most.times:
            return None
        size = FunctionCall(left.name, (distance,), ColumnType.INTERVAL, left.span)
        limit = _duration(most.seconds, right.span)
        return None if limit is None else replace(condition, left=size, op=op, right=limit)
    return _compare_sums(condition, is_event_time)


def _compare_sums(
    condition: Comparison, is_event_time: Callable[[ColumnRef], bool]
) -> Comparison | None:
    first, second = (_sum(side, is_event_time) for side in (condition.left, condition.right))
    if first is None or second is None:
        return None
    total = _add(first, second, -1)
    limit = _duration(-total.seconds, condition.right.span)
    difference = _interval(_Sum(total.times, Fraction(0)), condition.left.span)
    if limit is None or difference is None:
        return None
    return replace(condition, left=difference, right=limit)


def _is_distance(side: Expression) -> bool:
    return isinstance(side, FunctionCall) and side.name == "abs"


def _sum(side: Expression, is_event_time: Callable[[ColumnRef], bool]) -> _Sum | None:
    """A side of a comparison as a sum of event times and seconds, or None when it is anything else."""
    match side:
        case ColumnRef():
            return _Sum(Counter({side: 1}), Fraction(0)) if is_event_time(side) else None
        case Literal(value=int() | float() as value) if side.type.is_numeric:
            # The digits that the user wrote: 0.1 is a tenth, whatever the nearest DOUBLE is.
            finite = abs(value) < _FARTHEST_US
            return _Sum(Counter(), Fraction(repr(value))) if finite else None
        case Negate(operand=operand):
            inner = _sum(operand, is_event_time)
            return None if inner is None else _add(_Sum(Counter(), Fraction(0)), inner, -1)
        case Cast(operand=operand, type=ColumnType.DOUBLE) if operand.type is ColumnType.BIGINT:
            return _sum(operand, is_event_time)
        case Arithmetic(op=ArithmeticOp.ADD | ArithmeticOp.SUBTRACT as op):
            first, second = (_sum(each, is_event_time) for each in (side.left, side.right))
            if first is None or second is None:
                return None
            return _add(first, second, 1 if op is ArithmeticOp.ADD else -1)
        case _:
            return None


def _add(left: _Sum, right: _Sum, sign: int) -> _Sum:
    times = Counter(left.times)
    for column, number in right.times.items():
        times[column] += sign * number
    return _Sum(times, left.seconds + sign * right.seconds)


def _interval(total: _Sum, span: Span) -> Expression | None:
    """The sum as a duration: as many event times added as subtracted, of several items, one of them DOUBLE."""
    added = sorted((+total.times).elements(), key=lambda column: column.item)
    subtracted = sorted((-total.times).elements(), key=lambda column: column.item)
    columns = {*added, *subtracted}
    doubles = any(column.type is ColumnType.DOUBLE for column in columns)
    if len(added) != len(subtracted) or not doubles:
        return None
    found: Expression | None = None
    for later, earlier in zip(added, subtracted, strict=True):
        sides = _instant(later), _instant(earlier)
        part = Arithmetic(ArithmeticOp.SUBTRACT, *sides, ColumnType.INTERVAL, span)
        found = part if found is None else _plus(found, part, span)
    duration = _duration(total.seconds, span)
    if found is None or duration is None:
        return None
    return found if duration.value == 0 else _plus(found, duration, span)


def _plus(left: Expression, right: Expression, span: Span) -> Arithmetic:
    return Arithmetic(ArithmeticOp.ADD, left, right, ColumnType.INTERVAL, span)


def _instant(column: ColumnRef) -> FunctionCall:
    return FunctionCall(INSTANT, (column,), ColumnType.TIMESTAMP, column.span)


def _duration(seconds: Fraction, span: Span) -> Literal | None:
    us = round(seconds * SECOND_US)
    return Literal(us, ColumnType.INTERVAL, span) if abs(us) < _FARTHEST_US else None
