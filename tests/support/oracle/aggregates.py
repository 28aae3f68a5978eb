"""COUNT, SUM, AVG, MIN and MAX over the combinations of a group, exactly."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import Aggregate, AggregateFunction
from cqc.compiler.meaning.types import ColumnType, DecimalType
from tests.support.oracle.row_aggregates import of_rows
from tests.support.oracle.scalars import Scope, Value, as_double, evaluate, fitting, order_key

if TYPE_CHECKING:
    from collections.abc import Sequence


def aggregate(wanted: Aggregate, members: Sequence[Scope]) -> Value:
    if wanted.function is AggregateFunction.COUNT_ALL or wanted.argument is None:
        return len(members)
    if wanted.function.needs_rows:
        return of_rows(wanted, members)
    values = [evaluate(wanted.argument, scope) for scope in members]
    present = [value for value in values if value is not None]
    if wanted.distinct:
        present = list({group_key(value): value for value in present}.values())
    match wanted.function:
        case AggregateFunction.COUNT:
            return len(present)
        case AggregateFunction.SUM | AggregateFunction.AVG if isinstance(wanted.type, DecimalType):
            return decimal_total(wanted, present)
        case AggregateFunction.SUM:
            return total(present, wanted.type)
        case AggregateFunction.AVG:
            mean = average(present)
            if wanted.type is ColumnType.INTERVAL and mean is not None:
                return int(math.copysign(math.floor(abs(mean) + 0.5), mean))
            return mean
        case AggregateFunction.MIN:
            return min(present, key=order_key, default=None)
        case AggregateFunction.MAX:
            return max(present, key=order_key, default=None)
        case _:
            raise AssertionError(wanted.function)


def group_key(value: Value) -> object:
    """Equal for values that GROUP BY and DISTINCT hold equal: NULL with NULL, NaN with NaN, -0.0 with 0.0."""
    if isinstance(value, list):
        return tuple(map(group_key, value))
    return None if value is None else (type(value), order_key(value))


def total(values: Sequence[Value], type_: ColumnType) -> Value:
    if not values:
        return None
    if type_ is ColumnType.DOUBLE:
        return double_total(values)
    return fitting(sum(value for value in values if isinstance(value, int)))


def decimal_total(wanted: Aggregate, values: Sequence[Value]) -> Value:
    """The total or the mean, rounded once to the digits of its type; NULL where they do not suffice."""
    assert isinstance(wanted.type, DecimalType)
    if not values:
        return None
    exact = sum(map(Fraction, values), Fraction(0))  # type: ignore[arg-type]  # DECIMAL values
    if wanted.function is AggregateFunction.AVG:
        exact /= len(values)
    scaled = exact * 10**wanted.type.scale
    whole = int(abs(scaled) + Fraction(1, 2)) * (1 if scaled >= 0 else -1)
    if abs(whole) >= 10**wanted.type.digits:
        return None
    return Decimal(whole).scaleb(-wanted.type.scale, Context(prec=80))


def double_total(values: Sequence[Value]) -> float:
    """Rounded once, at the end, whatever the order; infinities and NaN as IEEE adds them."""
    numbers = [float(value) for value in values if value is not None]
    special = [number for number in numbers if math.isinf(number) or math.isnan(number)]
    if special:
        return sum(special)
    return rounded(sum(map(Fraction, numbers), Fraction(0)))


def average(values: Sequence[Value]) -> float | None:
    if not values:
        return None
    numbers = [as_double(value) for value in values]
    if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
        return double_total(numbers) / len(numbers)
    exact = [Fraction(value) for value in values if isinstance(value, int | float)]
    return rounded(sum(exact, Fraction(0)) / len(exact))


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
