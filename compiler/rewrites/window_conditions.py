"""Comparisons between the event times of two items, as limits on their difference.

`H.ts - T.ts <= 4 SECONDS`, `T.ts > B.ts`, `abs(A.ts - B.ts) < 1 SEC`: any comparison in which two event times appear
once each, with opposite signs, plus constants. Microseconds and whole seconds are exact, so a strict comparison is the
next unit and the limit says all there is to say.

Event times of type DOUBLE come as the instants that they stand for (`bind_instants.py`), which are microseconds too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import (
    INSTANT,
    Arithmetic,
    ArithmeticOp,
    Cast,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Expression,
    FunctionCall,
    Literal,
    Negate,
)
from cqc.compiler.meaning.time_bounds import TimeLimit
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.window_columns import equal_pair, of_item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Item

_SECOND_US = 1_000_000
_FARTHEST_SECONDS = 2**43  # instants beyond do not fit 64 bits of microseconds
_DYADIC = 1_024  # multiples of 1/1024 below 2**42 add to whole seconds without rounding


@record
class WindowCondition:
    """Limits that follow from a condition; `exact` when they say all of it."""

    limits: tuple[TimeLimit, ...]
    exact: bool


@dataclass(slots=True)
class _Sum:
    """A sum of event times (by item, with their signs) and a constant."""

    signs: dict[int, int]
    constant: int | float


def window_condition(condition: Comparison, items: Sequence[Item]) -> WindowCondition | None:
    """What a comparison says about event times, or None when it is about something else."""
    inner = _inside_abs(condition)
    if inner is not None:
        return _between(inner, items)
    total = _difference(condition, items)
    if total is None or condition.op is ComparisonOp.NE:
        return None
    positive = next(item for item, sign in total.signs.items() if sign > 0)
    negative = next(item for item, sign in total.signs.items() if sign < 0)
    # ts_positive - ts_negative  op  -constant
    upper = condition.op in (ComparisonOp.LT, ComparisonOp.LE, ComparisonOp.EQ)
    lower = condition.op in (ComparisonOp.GT, ComparisonOp.GE, ComparisonOp.EQ)
    strict = condition.op in (ComparisonOp.LT, ComparisonOp.GT)
    in_seconds = condition.left.type.is_numeric
    limits: list[TimeLimit] = []
    exact = True
    for wanted, earlier, later, most in (
        (upper, negative, positive, -total.constant),
        (lower, positive, negative, total.constant),
    ):
        if wanted:
            most_us, is_exact = _limit_us(most, in_seconds=in_seconds, strict=strict)
            limits.append(TimeLimit(earlier, later, most_us, condition.span))
            exact = exact and is_exact
    return WindowCondition(tuple(limits), exact)


def window_limits(condition: Comparison, items: Sequence[Item]) -> list[TimeLimit]:
    """How far apart event times can be where columns of windows are equal."""
    known = {each.item: of_item(items[each.item]) for each in _compared_columns(condition)}
    pair = equal_pair(condition, known)
    if pair is None:
        return []
    found = []
    for (earlier, low), (later, high) in (pair, pair[::-1]):
        least, most = known[earlier][low].least_us, known[later][high].most_us
        if least is not None and most is not None:
            found.append(TimeLimit(earlier, later, most - least, condition.span))
    return found


def _compared_columns(condition: Comparison) -> list[ColumnRef]:
    sides = [
        each.operand if isinstance(each, Cast) else each
        for each in (condition.left, condition.right)
    ]
    return [each for each in sides if isinstance(each, ColumnRef)]


def upper_bounds(condition: Comparison, items: Sequence[Item]) -> list[tuple[int, int, int, bool]]:
    """`ts_later <= ts_earlier + us` (or `<`: open) as written: the items, the microseconds, and whether it is open."""
    inner = _inside_abs(condition)
    if inner is not None:
        return [each for part in inner for each in upper_bounds(part, items)]
    total = _difference(condition, items)
    if total is None or condition.op is ComparisonOp.NE:
        return []
    positive = next(item for item, sign in total.signs.items() if sign > 0)
    negative = next(item for item, sign in total.signs.items() if sign < 0)
    strict = condition.op in (ComparisonOp.LT, ComparisonOp.GT)
    unit = _SECOND_US if condition.left.type.is_numeric else 1
    us = round(Fraction(total.constant) * unit)
    found = []
    if condition.op in (ComparisonOp.LT, ComparisonOp.LE, ComparisonOp.EQ):
        found.append((negative, positive, -us, strict))
    if condition.op in (ComparisonOp.GT, ComparisonOp.GE, ComparisonOp.EQ):
        found.append((positive, negative, us, strict))
    return found


def _inside_abs(condition: Comparison) -> tuple[Comparison, Comparison] | None:
    """`abs(e) <= c` as `e <= c` and `e >= -c`."""
    left, op, right = condition.left, condition.op, condition.right
    if isinstance(left, Literal):
        left, op, right = right, op.flipped, left
    if not (isinstance(left, FunctionCall) and left.name == "abs" and isinstance(right, Literal)):
        return None
    if op not in (ComparisonOp.LE, ComparisonOp.LT) or not isinstance(right.value, int | float):
        return None
    least = Literal(-right.value, right.type, right.span)
    (inner,) = left.arguments
    above = Comparison(inner, op.flipped, least, condition.span)
    return Comparison(inner, op, right, condition.span), above


def _between(pair: tuple[Comparison, Comparison], items: Sequence[Item]) -> WindowCondition | None:
    first, second = (window_condition(each, items) for each in pair)
    if first is None or second is None:
        return None
    return WindowCondition(first.limits + second.limits, first.exact and second.exact)


def _difference(condition: Comparison, items: Sequence[Item]) -> _Sum | None:
    left, right = _sum(condition.left, items), _sum(condition.right, items)
    if left is None or right is None:
        return None
    total = _add(left, right, -1)
    total.signs = {item: sign for item, sign in total.signs.items() if sign}
    if sorted(total.signs.values()) != [-1, 1] or not math.isfinite(total.constant):
        return None
    numeric = condition.left.type.is_numeric
    if numeric and abs(total.constant) > _FARTHEST_SECONDS:
        return None
    return total


def _sum(expression: Expression, items: Sequence[Item]) -> _Sum | None:
    match expression:
        case ColumnRef(item=item, column=column, type=type_):
            is_time = items[item].relation.event_time == column
            return _Sum({item: 1}, 0) if is_time and type_ is not ColumnType.DOUBLE else None
        case FunctionCall(name=name, arguments=(ColumnRef(item=item),)) if name == INSTANT:
            return _Sum({item: 1}, 0)
        case Literal(value=value):
            return None if isinstance(value, bool | str | None) else _Sum({}, value)
        case Negate(operand=operand):
            inner = _sum(operand, items)
            return inner and _add(_Sum({}, 0), inner, -1)
        case Cast(operand=operand, type=ColumnType.DOUBLE) if operand.type is ColumnType.BIGINT:
            return _sum(operand, items)
        case Arithmetic(op=ArithmeticOp.ADD | ArithmeticOp.SUBTRACT as op, left=left, right=right):
            first, second = _sum(left, items), _sum(right, items)
            if first is None or second is None:
                return None
            return _add(first, second, 1 if op is ArithmeticOp.ADD else -1)
        case _:
            return None


def _add(left: _Sum, right: _Sum, sign: int) -> _Sum:
    signs = dict(left.signs)
    for item, other in right.signs.items():
        signs[item] = signs.get(item, 0) + sign * other
    return _Sum(signs, left.constant + sign * right.constant)


def _limit_us(most: int | float, *, in_seconds: bool, strict: bool) -> tuple[int, bool]:
    """The largest difference in microseconds that satisfies `difference <= most` (or `<`), and whether it is exact."""
    if not in_seconds:
        return int(most) - strict, True
    whole = math.floor(most)
    if whole == most:
        return (whole - strict) * _SECOND_US, True
    exact = (most * _DYADIC).is_integer() if isinstance(most, float) else True
    return (whole if exact else whole + 1) * _SECOND_US, exact
