"""How bound values meet: comparisons, arithmetic and common types.

Four conversions happen here and nowhere else: BIGINT becomes DOUBLE where a construct has one result type, a text constant
that meets a TIMESTAMP is a timestamp, a bare number that meets event time is a number of seconds, and where event
time is itself a number a duration becomes that number. NULL takes the type of what it meets.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from cqc.compiler.bind.literals import (
    BIGINT_LEAST,
    BIGINT_MOST,
    bind_date,
    bind_timestamp,
    interval_of,
    seconds_of,
)
from cqc.compiler.meaning.bound import (
    Arithmetic,
    ArithmeticOp,
    Cast,
    Comparison,
    ComparisonOp,
    Literal,
    Negate,
)
from cqc.compiler.meaning.sortable import decimal_text, scaled_digits, text_of_digits
from cqc.compiler.meaning.times.durations import DAY_US
from cqc.compiler.meaning.types import (
    ColumnType,
    DecimalType,
    MapType,
    adjusted,
    as_decimal,
    common_type,
    decimal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression

_BIGINT = ColumnType.BIGINT
_DOUBLE = ColumnType.DOUBLE
_STRING = ColumnType.STRING
_TIMESTAMP = ColumnType.TIMESTAMP
_DATE = ColumnType.DATE
_INTERVAL = ColumnType.INTERVAL
_NULL = ColumnType.NULL
_NUMERIC = frozenset((_BIGINT, _DOUBLE))

Pair = tuple["Expression", "Expression"]


def coerce(value: Expression, target: ColumnType) -> Expression:
    """The value in a type that `common_type` found for it: BIGINT as DOUBLE, NULL as anything."""
    if value.type is target:
        return value
    if type(value) is Literal:
        if value.value is None:
            return Literal(None, target, value.span)
        if target is _DOUBLE and type(value.value) is int:
            return Literal(float(value.value), target, value.span)
        if isinstance(target, DecimalType):
            number = _decimal_of(value)
            digits = None if number is None else scaled_digits(number, target.digits, target.scale)
            if digits is not None:
                return Literal(text_of_digits(digits), target, value.span)
        if target is _TIMESTAMP and value.type is _DATE and type(value.value) is int:
            return Literal(value.value * DAY_US, target, value.span)
    return Cast(value, target, value.span)


def _decimal_of(value: Literal) -> Decimal | None:
    """The exact number that a constant is, where it is no DOUBLE."""
    if isinstance(value.type, DecimalType) and isinstance(value.value, str):
        return Decimal(decimal_text(value.value, value.type.scale))
    is_whole = value.type is _BIGINT and isinstance(value.value, int)
    return Decimal(value.value) if is_whole else None  # type: ignore[arg-type]  # it is a number


def as_decimals(value: Expression, met: ColumnType) -> Expression:
    """A whole constant that meets a DECIMAL has as many digits as are written; anything else as it is."""
    if not isinstance(met, DecimalType) or type(value) is not Literal or value.type is not _BIGINT:
        return value
    if not isinstance(value.value, int):
        return value
    return coerce(value, decimal(max(len(str(abs(value.value))), 1), 0))


def _orderless(scope: Scope, op: ComparisonOp, type_: ColumnType, span: Span) -> bool:
    """Whether values cannot be compared so; says so where they cannot."""
    is_map = isinstance(type_, MapType)
    if type_.has_order or (not is_map and op in (ComparisonOp.EQ, ComparisonOp.NE)):
        return False
    hint = None if is_map else "Compare their parts, or use = and <>."
    scope.report("CQ154", span, operator=op.value, type=type_.value, hint=hint)
    return True


def typed(value: Expression, target: ColumnType) -> Expression:
    """A NULL as a NULL of a type (BOOLEAN where nothing says which); anything else as it is."""
    if value.type is not _NULL:
        return value
    return coerce(value, ColumnType.BOOLEAN if target is _NULL else target)


def compare(
    scope: Scope, op: ComparisonOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    """`left op right` with both sides made comparable."""
    if left.type is not right.type or left.type is _NULL:
        pair = meet(scope, left, right, span)
        if pair is None:
            return None
        left, right = pair
    if left.type.is_nested and _orderless(scope, op, left.type, span):
        return None
    return Comparison(left, op, right, span)


def meet(scope: Scope, left: Expression, right: Expression, span: Span) -> Pair | None:
    """Two values as they can be compared, or None after saying why they cannot."""
    one, other = left.type, right.type
    if one is _NULL or other is _NULL:
        return typed(left, other), typed(right, one)
    if one is other or (one in _NUMERIC and other in _NUMERIC):
        return left, right
    if (
        isinstance(one, DecimalType)
        or isinstance(other, DecimalType)
        or (one.is_nested and other.is_nested)
    ):
        left, right = as_decimals(left, other), as_decimals(right, one)
        common = common_type(left.type, right.type)
        if common is not None:
            return coerce(left, common), coerce(right, common)
    if _INTERVAL in (one, other):
        pair = _seconds_meet_duration(scope, left, right)
        if pair is not None:
            return pair
    elif _TIMESTAMP in (one, other) and (_is_text(left) or _is_text(right)):
        return _as_timestamps(scope, left, right)
    elif _DATE in (one, other) and (_is_text(left) or _is_text(right)):
        return _as_dates(scope, left, right)
    elif {one, other} == {_DATE, _TIMESTAMP}:
        return coerce(left, _TIMESTAMP), coerce(right, _TIMESTAMP)
    _report_incomparable(scope, left, right, span)
    return None


def _is_text(value: Expression) -> bool:
    return type(value) is Literal and value.type is _STRING


def _as_timestamps(scope: Scope, left: Expression, right: Expression) -> Pair | None:
    first, second = as_timestamp(scope, left), as_timestamp(scope, right)
    return None if first is None or second is None else (first, second)


def as_timestamp(scope: Scope, value: Expression) -> Expression | None:
    """A text constant as the timestamp it spells; anything else as it is."""
    if type(value) is Literal and type(value.value) is str:
        return bind_timestamp(scope, value.value, value.span)
    return value


def _as_dates(scope: Scope, left: Expression, right: Expression) -> Pair | None:
    first, second = as_date(scope, left), as_date(scope, right)
    return None if first is None or second is None else (first, second)


def as_date(scope: Scope, value: Expression) -> Expression | None:
    """A text constant as the date it spells; anything else as it is."""
    if type(value) is Literal and type(value.value) is str:
        return bind_date(scope, value.value, value.span)
    return value


def _seconds_meet_duration(scope: Scope, left: Expression, right: Expression) -> Pair | None:
    """A duration and a number made the same: numbers where event time is a number, durations otherwise."""
    duration, number = (left, right) if left.type is _INTERVAL else (right, left)
    if number.type not in _NUMERIC:
        return None
    converted: Expression | None
    if scope.numeric_time and type(duration) is Literal and type(duration.value) is int:
        converted = seconds_of(duration.value, duration.span)
        return (converted, right) if duration is left else (left, converted)
    converted = _bare_seconds(number)
    if converted is None:
        return None
    return (converted, right) if number is left else (left, converted)


def _bare_seconds(value: Expression) -> Expression | None:
    """A bare number (a literal) as that many seconds."""
    if type(value) is Literal and value.type in _NUMERIC and isinstance(value.value, int | float):
        return interval_of(value.value, value.span)
    return None


def _report_incomparable(scope: Scope, left: Expression, right: Expression, span: Span) -> None:
    scope.report(
        "CQ040",
        span,
        left=left.type.value,
        right=right.type.value,
        hint=cast_hint(left, right.type, right)
        or cast_hint(right, left.type, left)
        or _other_hint(left, right),
    )


def _other_hint(left: Expression, right: Expression) -> str | None:
    if type(left) is Comparison:
        return "Comparisons do not chain: join two of them with `AND`."
    if left.type is _TIMESTAMP and type(right) is Literal:
        return "Write an instant as `TIMESTAMP '2024-01-01 00:00:00'`."
    return None


def cast_hint(value: Expression, target: ColumnType, met: Expression | None = None) -> str | None:
    """How to turn a STRING into what it met, or a number that it met into a text."""
    if target is _INTERVAL and value.type in _NUMERIC:
        text = _one_line(value.span)
        factor = f"({text})" if type(value) is Arithmetic else text
        return f"Write `{factor} * INTERVAL 1 SECOND`."
    if value.type is not _STRING or target in (_INTERVAL, _NULL):
        return None
    cast = f"`CAST({_one_line(value.span)} AS {target.value})`"
    if type(value) is Literal and type(value.value) is str and target in _NUMERIC:
        text = value.value.strip()
        if text.lstrip("-").replace(".", "", 1).isdecimal():
            return f"Write `{text}` without quotes, or {cast}."
        if not _is_number(text, target):
            return _number_hint(value, met)
    elif type(met) is Literal and target in _NUMERIC:
        return f"Write `'{_one_line(met.span)}'` to compare texts, or {cast} to compare numbers."
    return f"Write {cast}."


def _is_number(text: str, target: ColumnType) -> bool:
    """Whether CAST makes a number of a text."""
    try:
        number = float(text)
    except ValueError:
        return False
    return target is _DOUBLE or math.isfinite(number)


def _number_hint(constant: Expression, met: Expression | None) -> str:
    """What to write for a text that is no number where one is wanted: a CAST of it would be NULL."""
    number = f"Write a number in place of `{_one_line(constant.span)}`"
    if met is None or type(met) is Literal:
        return f"{number}."
    return f"{number}, or `CAST({_one_line(met.span)} AS STRING)` to compare texts."


def _one_line(span: Span) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= 60 else "..."


def arithmetic(
    scope: Scope, op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    """`left op right` for numbers, timestamps and durations."""
    one, other = left.type, right.type
    if one in _NUMERIC and other in _NUMERIC:
        whole = one is other is _BIGINT and op is not ArithmeticOp.DIVIDE
        return Arithmetic(op, left, right, _BIGINT if whole else _DOUBLE, span)
    if one is _NULL or other is _NULL:
        return _null_arithmetic(scope, op, left, right, span)
    if one.is_numeric and other.is_numeric:
        return _decimal_arithmetic(op, left, right, span)
    if one is _DATE or other is _DATE:
        return _date_arithmetic(scope, op, left, right, span)
    if one is _TIMESTAMP or other is _TIMESTAMP:
        return _timestamp_arithmetic(scope, op, left, right, span)
    if one is _INTERVAL or other is _INTERVAL:
        return _duration_arithmetic(scope, op, left, right, span)
    return _refuse(scope, op, left, right, span)


def _refuse(
    scope: Scope, op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    types = f"{left.type.value} and {right.type.value}"
    hint = cast_hint(left, right.type) or cast_hint(right, left.type)
    if left.type is right.type is _STRING:
        hint = "Texts are joined with `concat(a, b)`." if op is ArithmeticOp.ADD else None
    scope.report("CQ041", span, operator=op.value, types=types, hint=hint)
    return None


def _null_arithmetic(
    scope: Scope, op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    known = right.type if left.type is _NULL else left.type
    # ts + NULL lacks a duration, n * NULL a number of the same kind, NULL / NULL any number.
    target = {_TIMESTAMP: _INTERVAL, _DATE: _INTERVAL, _NULL: _DOUBLE}.get(known, known)
    left = coerce(left, target) if left.type is _NULL else left
    right = coerce(right, target) if right.type is _NULL else right
    return arithmetic(scope, op, left, right, span)


def _decimal_arithmetic(
    op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression:
    """One side is DECIMAL: with a DOUBLE it becomes one, else the result has Spark's digits."""
    if _DOUBLE in (left.type, right.type):
        return Arithmetic(op, coerce(left, _DOUBLE), coerce(right, _DOUBLE), _DOUBLE, span)
    left, right = as_decimals(left, right.type), as_decimals(right, left.type)
    one, other = as_decimal(left.type), as_decimal(right.type)
    left, right = coerce(left, one), coerce(right, other)
    scale = max(one.scale, other.scale)
    whole = max(one.digits - one.scale, other.digits - other.scale)
    if op in _SUMS:
        type_ = adjusted(whole + scale + 1, scale)
    elif op is ArithmeticOp.MULTIPLY:
        type_ = adjusted(one.digits + other.digits + 1, one.scale + other.scale)
    elif op is ArithmeticOp.DIVIDE:
        scale = max(6, one.scale + other.digits + 1)
        type_ = adjusted(one.digits - one.scale + other.scale + scale, scale)
    else:
        least = min(one.digits - one.scale, other.digits - other.scale)
        type_ = adjusted(least + scale, scale)
    return Arithmetic(op, left, right, type_, span)


def _date_arithmetic(
    scope: Scope, op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    """A date moved by days is a date, by a duration of anything finer an instant; two of them are a duration apart."""
    if left.type is not _DATE and op is ArithmeticOp.ADD:
        left, right = right, left
    if left.type is not _DATE and left.type is not _TIMESTAMP:
        return _refuse(scope, op, left, right, span)
    days = _days_of(right)
    if left.type is _DATE and op in _SUMS and days is not None:
        return Arithmetic(op, left, days, _DATE, span)
    if right.type in (_DATE, _TIMESTAMP, _INTERVAL):
        moment = coerce(left, _TIMESTAMP) if left.type is _DATE else left
        other = coerce(right, _TIMESTAMP) if right.type is _DATE else right
        if right.type is _INTERVAL or op is ArithmeticOp.SUBTRACT:
            return _timestamp_arithmetic(scope, op, moment, other, span)
    return _refuse(scope, op, left, right, span)


def _days_of(value: Expression) -> Expression | None:
    """What moves a date by days: a whole number, or a duration that is written in whole days."""
    if value.type is _BIGINT:
        return value
    if value.type is _INTERVAL and type(value) is Literal and isinstance(value.value, int):
        days, rest = divmod(value.value, DAY_US)
        return None if rest else Literal(days, _BIGINT, value.span)
    return None


def _timestamp_arithmetic(
    scope: Scope, op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    one, other = left.type, right.type
    if op is ArithmeticOp.SUBTRACT and one is _TIMESTAMP:
        if other is _TIMESTAMP:
            return Arithmetic(op, left, right, _INTERVAL, span)
        duration = right if other is _INTERVAL else _bare_seconds(right)
        if duration is not None:
            return Arithmetic(op, left, duration, _TIMESTAMP, span)
    if op is ArithmeticOp.ADD and one is not other:
        duration = right if one is _TIMESTAMP else left
        duration = duration if duration.type is _INTERVAL else _bare_seconds(duration)
        if duration is not None and one is _TIMESTAMP:
            return Arithmetic(op, left, duration, _TIMESTAMP, span)
        if duration is not None:
            return Arithmetic(op, right, duration, _TIMESTAMP, span)
    return _refuse(scope, op, left, right, span)


def _duration_arithmetic(
    scope: Scope, op: ArithmeticOp, left: Expression, right: Expression, span: Span
) -> Expression | None:
    if type(left) is Literal and type(right) is Literal:
        folded = _fold_durations(scope, op, left, right, span)
        if folded is not None:
            return folded
    one, other = left.type, right.type
    if one is not other and (scope.numeric_time or op in _SUMS):
        pair = _seconds_meet_duration(scope, left, right)
        if pair is not None and pair[0].type in _NUMERIC:
            return arithmetic(scope, op, *pair, span)
        if pair is not None and op in _SUMS:
            return Arithmetic(op, *pair, _INTERVAL, span)
    if _gives_duration(op, one, other):
        return Arithmetic(op, left, right, _INTERVAL, span)
    return _refuse(scope, op, left, right, span)


_SUMS = (ArithmeticOp.ADD, ArithmeticOp.SUBTRACT)


def _gives_duration(op: ArithmeticOp, left: ColumnType, right: ColumnType) -> bool:
    if op in _SUMS:
        return left is right
    if op is ArithmeticOp.MULTIPLY:
        return left in _NUMERIC or right in _NUMERIC
    return op is ArithmeticOp.DIVIDE and right in _NUMERIC


def _fold_durations(
    scope: Scope, op: ArithmeticOp, left: Literal, right: Literal, span: Span
) -> Literal | None:
    """`2 * 5 SEC` at once, so that it can become a number of seconds where event time is one."""
    one, other = left.value, right.value
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return None
    if op in _SUMS and left.type is not right.type:
        return None
    if not _gives_duration(op, left.type, right.type) or (op is ArithmeticOp.DIVIDE and not other):
        return None
    exact = {
        ArithmeticOp.ADD: lambda: Fraction(one) + Fraction(other),
        ArithmeticOp.SUBTRACT: lambda: Fraction(one) - Fraction(other),
        ArithmeticOp.MULTIPLY: lambda: Fraction(one) * Fraction(other),
        ArithmeticOp.DIVIDE: lambda: Fraction(one) / Fraction(other),
    }[op]()
    us = _half_away_from_zero(exact)
    return Literal(us, _INTERVAL, span) if BIGINT_LEAST <= us <= BIGINT_MOST else None


def _half_away_from_zero(exact: Fraction) -> int:
    """The whole microseconds of a duration; Python's own `round` would take a half to the even side."""
    size = math.floor(abs(exact) + Fraction(1, 2))
    return -size if exact < 0 else size


def negate(operand: Expression, span: Span) -> Expression:
    """`-operand` of a number or a duration; a constant is negated at once."""
    if operand.type is _NULL:
        return coerce(operand, _DOUBLE)
    if type(operand) is Literal:
        value = operand.value
        if isinstance(value, float) or (isinstance(value, int) and value != BIGINT_LEAST):
            return Literal(-value, operand.type, span)
    return Negate(operand, operand.type, span)


def unite(
    scope: Scope, values: Sequence[Expression], place: str
) -> tuple[tuple[Expression, ...], ColumnType] | None:
    """All values in their common type (CASE, coalesce, least, greatest), or None after saying which one does not fit.

    The type is NULL when all of them are NULL; the whole is then the NULL literal.
    """
    parts: Sequence[Expression | None] = values
    if any(value.type is _TIMESTAMP for value in values):
        parts = [as_timestamp(scope, value) for value in values]
    elif any(value.type is _DATE for value in values):
        parts = [as_date(scope, value) for value in values]
    target = _NULL
    united: list[Expression] = []
    for part in parts:
        if part is None:
            return None
        common = common_type(target, part.type)
        if common is None:
            _report_mixed(scope, place, target, part)
            return None
        target = common
        united.append(part)
    return tuple(coerce(part, target) for part in united), target


def _report_mixed(scope: Scope, place: str, target: ColumnType, part: Expression) -> None:
    scope.report(
        "CQ043",
        part.span,
        place=place,
        left=target.value,
        right=part.type.value,
        detail="All its values must have one type.",
        hint=cast_hint(part, target),
    )
