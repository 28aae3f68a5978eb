"""The value of one operation on constants, by the language's scalar rules.

An evaluation that fails (division by zero, BIGINT overflow, a bad CAST) is NULL. Operations whose rules belong to the
runtime alone (patterns, user functions, and functions whose entry in the registry has no form for constants) are left for
it: not folding is always right.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cqc.compiler.functions.constant_forms import Constant, fitting, order_key
from cqc.compiler.functions.registry import SCALAR_FUNCTIONS
from cqc.compiler.meaning.bound import (
    And,
    Arithmetic,
    ArithmeticOp,
    Case,
    Cast,
    Comparison,
    ComparisonOp,
    Expression,
    FunctionCall,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Negate,
    Not,
    Or,
    children,
)
from cqc.compiler.meaning.times.instants import parse_day_cast, parse_instant
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.compiler.meaning.value_sets import LARGEST, SMALLEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WHOLE_TEXT = re.compile(r"[+-]?[0-9]+")
_NUMBER_TEXT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_NOT_FINITE = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}


class NotFoldedError(Exception):
    """This operation is left to the runtime."""


def evaluate(expression: Expression) -> Constant:
    """The value of an operation whose operands are all literals."""
    operands = children(expression)
    values = [_value(operand) for operand in operands]
    match expression:
        case Arithmetic(op=op):
            return arithmetic(op, values[0], values[1], [each.type for each in operands])
        case Negate():
            return None if values[0] is None else fitting(-values[0])  # type: ignore[operator]
        case Comparison(op=op):
            return compare(op, values[0], values[1])
        case And():
            return False if False in values else None if None in values else True
        case Or():
            return True if True in values else None if None in values else False
        case Not():
            return None if values[0] is None else not values[0]
        case InList():
            return _in_list(values, [each.type for each in operands])
        case IsNull():
            return values[0] is None
        case IsTruth(value=wanted):
            return values[0] is wanted
        case IsDistinct():
            return _distinct(values[0], values[1])
        case Case(type=type_):
            return _as_type(_case(values), type_)
        case Cast(type=type_):
            return cast(values[0], operands[0].type, type_)
        case FunctionCall(name=name, type=type_):
            return _call(name, values, type_)
        case _:
            raise NotFoldedError


def _value(operand: Expression) -> Constant:
    if not isinstance(operand, Literal):
        raise NotFoldedError
    return operand.value


def _as_type(value: Constant, type_: ColumnType) -> Constant:
    if type_ is ColumnType.DOUBLE and isinstance(value, int):
        return float(value)
    return value


def arithmetic(
    op: ArithmeticOp, left: Constant, right: Constant, types: Sequence[ColumnType]
) -> Constant:
    """`left op right` for numbers, instants and durations."""
    if left is None or right is None:
        return None
    if isinstance(left, str) or isinstance(right, str):
        raise NotFoldedError
    if ColumnType.INTERVAL in types and (
        op is ArithmeticOp.DIVIDE or isinstance(left, float) or isinstance(right, float)
    ):
        return _scale_duration(op, left, right)
    if op is ArithmeticOp.DIVIDE:
        return None if right == 0 else float(left) / float(right)
    if op is ArithmeticOp.MODULO:
        return _remainder(left, right)
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    if op is ArithmeticOp.ADD:
        return fitting(left + right)
    return fitting(left - right if op is ArithmeticOp.SUBTRACT else left * right)


def _remainder(left: int | float, right: int | float) -> int | float | None:
    """The remainder has the sign of the dividend."""
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if math.isinf(left) or math.isnan(left) or math.isnan(right):
            return math.nan
        return math.fmod(left, right)
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def _scale_duration(op: ArithmeticOp, left: int | float, right: int | float) -> int | None:
    """A duration times or divided by a number, rounded half away from zero to whole microseconds."""
    if op is ArithmeticOp.DIVIDE and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        whole, rest = divmod(abs(left), abs(right))
        size = whole + (2 * rest >= abs(right))
        value: int = size if (left < 0) == (right < 0) else -size
        return value if SMALLEST <= value <= LARGEST else None
    product = left * right if op is ArithmeticOp.MULTIPLY else left / right
    if not math.isfinite(product):
        return None
    size = math.floor(abs(product))
    size += abs(product) - size >= 0.5
    value = -size if product < 0 else size
    return value if SMALLEST <= value <= LARGEST else None


_ORDERED: dict[ComparisonOp, Callable[[tuple[bool, object], tuple[bool, object]], bool]] = {
    ComparisonOp.EQ: lambda left, right: left == right,
    ComparisonOp.NE: lambda left, right: left != right,
    ComparisonOp.LT: lambda left, right: left < right,
    ComparisonOp.LE: lambda left, right: left <= right,
    ComparisonOp.GT: lambda left, right: left > right,
    ComparisonOp.GE: lambda left, right: left >= right,
}


def compare(op: ComparisonOp, left: Constant, right: Constant) -> bool | None:
    """A comparison; NaN equals itself and is above every number."""
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return _ORDERED[op](order_key(left), order_key(right))


def _in_list(values: Sequence[Constant], types: Sequence[ColumnType]) -> bool | None:
    if ColumnType.DOUBLE in types:
        values = [_as_type(value, ColumnType.DOUBLE) for value in values]
    found = [compare(ComparisonOp.EQ, values[0], value) for value in values[1:]]
    return True if True in found else None if None in found else False


def _distinct(left: Constant, right: Constant) -> bool:
    if left is None or right is None:
        return (left is None) != (right is None)
    return compare(ComparisonOp.NE, left, right) is True


def _case(values: Sequence[Constant]) -> Constant:
    for condition, value in zip(values[:-1:2], values[1:-1:2], strict=True):
        if condition is True:
            return value
    return values[-1]


def cast(value: Constant, source: ColumnType, target: ColumnType) -> Constant:
    """CAST between numbers, and of text that plainly is a number or an instant."""
    if value is None or source is target:
        return value
    if target is ColumnType.DOUBLE and source in (ColumnType.BIGINT, ColumnType.BOOLEAN):
        return float(value)
    if target is ColumnType.BIGINT and isinstance(value, float):
        return fitting(math.trunc(value)) if math.isfinite(value) else None
    if target is ColumnType.BIGINT and source is ColumnType.BOOLEAN:
        return int(value)
    if isinstance(value, str):
        return _cast_text(value, target)
    raise NotFoldedError


def _cast_text(text: str, target: ColumnType) -> Constant:
    stripped = text.strip(" ")
    if target is ColumnType.BIGINT and _WHOLE_TEXT.fullmatch(stripped):
        return fitting(int(stripped))
    if target is ColumnType.DOUBLE and _NUMBER_TEXT.fullmatch(stripped):
        return float(stripped)
    if target is ColumnType.DOUBLE and stripped.lower() in _NOT_FINITE:
        return _NOT_FINITE[stripped.lower()]
    if target is ColumnType.TIMESTAMP and (instant := parse_instant(stripped)) is not None:
        return instant
    if target is ColumnType.DATE and (day := parse_day_cast(stripped)) is not None:
        return day
    raise NotFoldedError


def _call(name: str, values: Sequence[Constant], type_: ColumnType) -> Constant:
    """A function that has a form for constants; the others are left to the runtime."""
    entry = SCALAR_FUNCTIONS.get(name)
    if entry is None or entry.constant is None:
        raise NotFoldedError
    if isinstance(type_, DecimalType) and not entry.takes_null:
        raise NotFoldedError  # constants of DECIMAL are held as texts
    if None in values and not entry.takes_null:
        return None
    targets = [entry.argument_type(at, type_) for at in range(len(values))]
    return entry.constant(
        *[v if to is None else _as_type(v, to) for v, to in zip(values, targets, strict=True)]
    )
