"""Constants: numbers, durations and timestamps from the text the user wrote.

All arithmetic on the way is exact (Decimal), so `0.1 SEC` is 100,000 microseconds and nothing is rounded twice.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import Literal
from cqc.compiler.meaning.sortable import scaled_digits, text_of_digits
from cqc.compiler.meaning.times.durations import SECOND_US, UNITS
from cqc.compiler.meaning.times.instants import parse_day, parse_instant
from cqc.compiler.meaning.types import MOST_DIGITS, ColumnType, decimal

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.syntax import tree as syntax

BIGINT_LEAST = -(2**63)
BIGINT_MOST = 2**63 - 1

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_DIGITS = 19  # of the largest BIGINT
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def bind_number(scope: Scope, node: syntax.NumberLiteral, sign: str = "") -> Literal | None:
    """`12` is a BIGINT, `1.5` and `1e3` are DOUBLE; a minus sign belongs to the number for the sake of its range."""
    text = node.text
    if text.isdecimal():
        if not sign and len(text) < _DIGITS:
            return Literal(int(text), ColumnType.BIGINT, node.span)
        value = whole_number(sign + text)
        if value is not None:
            return Literal(value, ColumnType.BIGINT, node.span)
        scope.report(
            "CQ048",
            node.span,
            number=_shorten(sign + text),
            type="BIGINT",
            detail=f"BIGINT goes from {BIGINT_LEAST} to {BIGINT_MOST}.",
            hint="Write it with a point to make it a DOUBLE.",
        )
        return None
    if text[-2:].upper() == "BD":
        return bind_decimal(scope, sign + text[:-2], node.span)
    number = float(sign + text)
    if math.isfinite(number):
        return Literal(number, ColumnType.DOUBLE, node.span)
    scope.report("CQ048", node.span, number=_shorten(sign + text), type="DOUBLE")
    return None


def bind_decimal(scope: Scope, text: str, span: Span) -> Literal | None:
    """A DECIMAL constant, with as many digits as are written."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        scope.report("CQ048", span, number=_shorten(text), type="DECIMAL")
        return None
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    count = max(len(digits) + max(exponent, 0), scale, 1)
    if count > MOST_DIGITS:
        detail = f"A DECIMAL has at most {MOST_DIGITS} digits."
        scope.report("CQ048", span, number=_shorten(text), type="DECIMAL", detail=detail)
        return None
    whole = scaled_digits(number, count, scale)
    assert whole is not None
    return Literal(text_of_digits(whole), decimal(count, scale), span)


def whole_number(text: str) -> int | None:
    """A whole number in the range of BIGINT, else None."""
    digits = text.lstrip("-").lstrip("0")
    if len(digits) > _DIGITS:  # also keeps int() from working on megabytes of digits
        return None
    value = -int(digits or "0") if text.startswith("-") else int(digits or "0")
    return value if BIGINT_LEAST <= value <= BIGINT_MOST else None


def duration_us(scope: Scope, node: syntax.Duration) -> int | None:
    """The microseconds of a duration as written."""
    number = node.number
    if node.months:
        days = 365 if node.months > 1 else 30
        hint = f"Write days, such as `{days} DAYS`; only `time + {node.span.text}` counts months."
        scope.report("CQ160", node.span, text=" ".join(node.span.text.split()), hint=hint)
        return None
    if number.isdecimal() and len(number) < 10:
        return int(number) * node.unit_us
    number = number.strip()
    if _NUMBER.fullmatch(number) is None:
        scope.report("CQ059", node.span, text=_shorten(number), hint="`INTERVAL '5' MINUTE`.")
        return None
    us = scaled(number, node.unit_us)
    if us is None:
        scope.report("CQ048", node.span, number=_shorten(node.span.text), type="durations")
    return us


def scaled(number: str, unit: int) -> int | None:
    """A decimal number of units as a whole number, rounded; None when that is out of the range of 64 bits."""
    if abs(float(number)) > BIGINT_MOST:
        return None
    with localcontext() as context:
        context.prec = 60
        value = int((Decimal(number) * unit).to_integral_value(ROUND_HALF_EVEN))
    return value if BIGINT_LEAST <= value <= BIGINT_MOST else None


def bind_timestamp(scope: Scope, text: str, span: Span) -> Literal | None:
    """The literal of a timestamp's text."""
    us = parse_instant(text)
    if us is None:
        scope.report(
            "CQ047",
            span,
            text=_shorten(text),
            hint=_timestamp_hint(text),
        )
        return None
    return Literal(us, ColumnType.TIMESTAMP, span)


def bind_date(scope: Scope, text: str, span: Span) -> Literal | None:
    """The literal of a date's text."""
    days = parse_day(text)
    if days is None:
        hint = "Write it as `DATE '2024-01-31'`."
        scope.report("CQ047", span, text=_shorten(text), hint=hint)
        return None
    return Literal(days, ColumnType.DATE, span)


def _timestamp_hint(text: str) -> str:
    """How a timestamp is written, or a duration where the text is one."""
    duration = _DURATION.fullmatch(text.strip())
    if duration is not None and duration[2].upper() in UNITS:
        return f"A duration is written without quotes: `{duration[1]} {duration[2].upper()}`."
    return (
        "Write it as `TIMESTAMP '2024-01-31 23:59:59.5'`, with or without a zone such as `+01:00`."
    )


def seconds_of(us: int, span: Span) -> Literal:
    """A duration as the number of seconds it is where event time is a number."""
    whole, rest = divmod(us, SECOND_US)
    if rest == 0:
        return Literal(whole, ColumnType.BIGINT, span)
    return Literal(us / SECOND_US, ColumnType.DOUBLE, span)


def interval_of(number: int | float, span: Span) -> Literal | None:
    """A bare number of seconds as a duration; None when that is out of range."""
    us = scaled(repr(number), SECOND_US) if math.isfinite(number) else None
    return None if us is None else Literal(us, ColumnType.INTERVAL, span)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
