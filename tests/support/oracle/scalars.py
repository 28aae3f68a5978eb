"""What an expression is worth on one combination of tuples, in plain Python values.

Spark SQL's ANSI rules, except that an evaluation which Spark would fail gives NULL. Values are as in
`cqc.compiler.meaning.types`. Slow and obvious: one function per kind of expression, no caching, no folding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, assert_never

import re2

from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, ComparisonOp, PatternKind
from cqc.compiler.meaning.types import ColumnType, DecimalType
from tests.support.oracle.casts import cast
from tests.support.oracle.functions import call
from tests.support.oracle.nested import constant, decimal_result, item
from tests.support.oracle.nested import field as field_of
from tests.support.oracle.patterns import like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Value = int | float | str | bool | None
Row = tuple[Value, ...]

NESTED = (
    bound.FIELD,
    bound.ITEM,
    bound.VARIABLE,
    "exists",
    "any",
    "forall",
    "filter",
    "transform",
)
LEAST_BIGINT = -(2**63)
MOST_BIGINT = 2**63 - 1


@dataclass(frozen=True)
class Scope:
    """What names mean: one tuple per FROM item, the aggregates of the group, the user's functions."""

    rows: Sequence[Row | None]
    aggregates: Mapping[bound.Aggregate, Value] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    overs: Mapping[bound.Over, Value] = field(default_factory=dict)
    nulled: frozenset[bound.Expression] = frozenset()  # keys that a grouping set leaves out
    variables: Mapping[Any, Any] = field(default_factory=dict)  # of lambdas, by number


def is_true(condition: bound.Expression | None, scope: Scope) -> bool:
    """A condition that is left out is TRUE; NULL is not TRUE."""
    return condition is None or evaluate(condition, scope) is True


def evaluate(expression: bound.Expression, scope: Scope) -> Value:
    if scope.nulled and expression in scope.nulled:
        return None
    match expression:
        case bound.Literal():
            return constant(expression.value, expression.type)
        case bound.ColumnRef():
            row = scope.rows[expression.item]
            return None if row is None else row[expression.column]
        case bound.Aggregate():
            return scope.aggregates[expression]
        case bound.Over():
            return scope.overs[expression]
        case bound.Arithmetic():
            left = evaluate(expression.left, scope)
            right = evaluate(expression.right, scope)
            return arithmetic(expression, left, right)
        case bound.Negate():
            return negate(evaluate(expression.operand, scope))
        case bound.Comparison():
            left = evaluate(expression.left, scope)
            right = evaluate(expression.right, scope)
            return compare(expression.op, left, right)
        case bound.And():
            return both([evaluate(operand, scope) for operand in expression.operands])
        case bound.Or():
            return either([evaluate(operand, scope) for operand in expression.operands])
        case bound.Not():
            return opposite(evaluate(expression.operand, scope))
        case bound.InList():
            return in_list(expression, scope)
        case bound.Match():
            return matches(expression, evaluate(expression.operand, scope))
        case bound.IsNull():
            return evaluate(expression.operand, scope) is None
        case bound.IsTruth():
            return evaluate(expression.operand, scope) is expression.value
        case bound.IsDistinct():
            left = evaluate(expression.left, scope)
            right = evaluate(expression.right, scope)
            return distinct(left, right)
        case bound.Case():
            return case(expression, scope)
        case bound.Cast():
            return cast(
                evaluate(expression.operand, scope), expression.operand.type, expression.type
            )
        case bound.FunctionCall(name=name) if name in NESTED:
            return nested_call(expression, scope)
        case bound.FunctionCall():
            arguments = [evaluate(argument, scope) for argument in expression.arguments]
            if expression.name in ("hex", "format_string"):
                arguments = [
                    cast(value, part.type, ColumnType.STRING)
                    if part.type is ColumnType.TIMESTAMP
                    else value
                    for value, part in zip(arguments, expression.arguments, strict=True)
                ]
            return call(expression.name, arguments, expression.type)
        case bound.UserCall():
            arguments = [evaluate(argument, scope) for argument in expression.arguments]
            return scope.functions[expression.name](*arguments)
        case _:
            assert_never(expression)


def nested_call(expression: bound.FunctionCall, scope: Scope) -> Any:
    """A part of a nested value, or a function with a lambda: its body on each element."""
    first = expression.arguments[0]
    if expression.name == bound.VARIABLE:
        assert isinstance(first, bound.Literal)
        return scope.variables[first.value]
    whole: Any = evaluate(first, scope)
    second = expression.arguments[1]
    if expression.name == bound.FIELD:
        assert isinstance(second, bound.Literal)
        return field_of(whole, second.value)
    if expression.name == bound.ITEM:
        return item(whole, evaluate(second, scope))
    assert isinstance(second, bound.FunctionCall)
    number, body = second.arguments
    assert isinstance(number, bound.Literal)
    assert isinstance(number.value, int)
    if whole is None:
        return None
    values = []
    for at, each in enumerate(whole):
        variables = {**scope.variables, number.value: each, number.value + 1: at}
        values.append(evaluate(body, replace(scope, variables=variables)))
    match expression.name:
        case "transform":
            return values
        case "filter":
            return [each for each, kept in zip(whole, values, strict=True) if kept is True]
        case "forall":
            return both(values)
        case _:
            return either(values)


def both(values: Sequence[Value]) -> bool | None:
    """Three-valued AND."""
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def either(values: Sequence[Value]) -> bool | None:
    """Three-valued OR."""
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


def opposite(value: Value) -> bool | None:
    """Three-valued NOT."""
    return None if value is None else not value


def order_key(value: Value) -> tuple[int, float | int | str]:
    """A key that orders the values of one type: NaN equals itself and is above Infinity, -0.0 is 0.0."""
    assert value is not None
    if isinstance(value, float):
        if math.isnan(value):
            return (1, 0)
        return (0, 0.0 if value == 0 else value)
    return (0, value)


def same_type(left: Value, right: Value) -> tuple[Value, Value]:
    """BIGINT meeting DOUBLE is compared as DOUBLE."""
    if isinstance(left, float) and not isinstance(right, float):
        assert isinstance(right, int)
        return left, float(right)
    if isinstance(right, float) and not isinstance(left, float):
        assert isinstance(left, int)
        return float(left), right
    return left, right


def compare(op: ComparisonOp, left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    left, right = same_type(left, right)
    first, second = order_key(left), order_key(right)
    match op:
        case ComparisonOp.EQ:
            return first == second
        case ComparisonOp.NE:
            return first != second
        case ComparisonOp.LT:
            return first < second  # type: ignore[operator]  # both of one type by now
        case ComparisonOp.LE:
            return first <= second  # type: ignore[operator]  # as above
        case ComparisonOp.GT:
            return first > second  # type: ignore[operator]  # as above
        case ComparisonOp.GE:
            return first >= second  # type: ignore[operator]  # as above


def distinct(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return (left is None) != (right is None)
    return compare(ComparisonOp.NE, left, right) is True


def in_list(expression: bound.InList, scope: Scope) -> bool | None:
    """`x IN (a, b)` is `x = a OR x = b`, all as DOUBLE as soon as one of them is."""
    everything = [expression.operand, *expression.values]
    operand, *values = [evaluate(part, scope) for part in everything]
    if any(part.type is ColumnType.DOUBLE for part in everything):
        operand, *values = [as_double(value) for value in (operand, *values)]
    return either([compare(ComparisonOp.EQ, operand, value) for value in values])


def as_double(value: Value) -> Value:
    return None if value is None else float(value)


def matches(expression: bound.Match, text: Value) -> bool | None:
    if text is None or expression.pattern is None:
        return None
    assert isinstance(text, str)
    match expression.kind:
        case PatternKind.LIKE:
            return like(text, expression.pattern, expression.escape, fold_case=False)
        case PatternKind.ILIKE:
            return like(text, expression.pattern, expression.escape, fold_case=True)
        case PatternKind.RLIKE:
            return re2.search(expression.pattern, text) is not None


def case(expression: bound.Case, scope: Scope) -> Value:
    for condition, value in expression.branches:
        if is_true(condition, scope):
            return as_type(evaluate(value, scope), expression.type)
    return as_type(evaluate(expression.otherwise, scope), expression.type)


def as_type(value: Value, type_: ColumnType) -> Value:
    """A BIGINT where a DOUBLE is due becomes one."""
    if type_ is ColumnType.DOUBLE and value is not None:
        return float(value)
    return value


def fitting(value: int) -> int | None:
    """The number when it is a BIGINT, else NULL."""
    return value if LEAST_BIGINT <= value <= MOST_BIGINT else None


def negate(value: Value) -> Value:
    if value is None:
        return None
    assert not isinstance(value, str)
    return -value if isinstance(value, float) else fitting(-value)


def arithmetic(expression: bound.Arithmetic, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    if isinstance(expression.type, DecimalType):
        return decimal_result(expression.op, left, right, expression.type)  # type: ignore[arg-type, no-any-return]
    if ColumnType.INTERVAL in (expression.left.type, expression.right.type):
        return interval_arithmetic(expression.op, left, right)
    if expression.op is ArithmeticOp.DIVIDE:
        return divide(float(left), float(right))
    if isinstance(left, float) or isinstance(right, float):
        return double_arithmetic(expression.op, float(left), float(right))
    return bigint_arithmetic(expression.op, left, right)


def bigint_arithmetic(op: ArithmeticOp, left: int, right: int) -> Value:
    match op:
        case ArithmeticOp.ADD:
            return fitting(left + right)
        case ArithmeticOp.SUBTRACT:
            return fitting(left - right)
        case ArithmeticOp.MULTIPLY:
            return fitting(left * right)
        case ArithmeticOp.MODULO:
            return remainder(left, right)
        case ArithmeticOp.DIVIDE:
            return divide(float(left), float(right))


def remainder(left: int, right: int) -> int | None:
    """The sign of the remainder follows the dividend."""
    if right == 0:
        return None
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def divide(left: float, right: float) -> float | None:
    return None if right == 0 else left / right


def double_arithmetic(op: ArithmeticOp, left: float, right: float) -> Value:
    match op:
        case ArithmeticOp.ADD:
            return left + right
        case ArithmeticOp.SUBTRACT:
            return left - right
        case ArithmeticOp.MULTIPLY:
            return left * right
        case ArithmeticOp.DIVIDE:
            return divide(left, right)
        case ArithmeticOp.MODULO:
            if right == 0:
                return None
            if math.isinf(left) or math.isnan(left) or math.isnan(right):
                return math.nan
            return math.fmod(left, right)


def interval_arithmetic(op: ArithmeticOp, left: float, right: float) -> Value:
    """Durations and instants are whole microseconds; a product or quotient is rounded half away from zero."""
    if isinstance(left, int) and isinstance(right, int) and op is not ArithmeticOp.DIVIDE:
        return bigint_arithmetic(op, left, right)
    if op is ArithmeticOp.DIVIDE and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        whole, rest = divmod(abs(left), abs(right))
        size = whole + (2 * rest >= abs(right))
        return fitting(size if (left < 0) == (right < 0) else -size)
    product = left * right if op is ArithmeticOp.MULTIPLY else left / right
    if math.isnan(product) or math.isinf(product):
        return None
    size = math.floor(abs(product))
    size += abs(product) - size >= 0.5
    return fitting(-size if product < 0 else size)
