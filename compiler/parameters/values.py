"""Values of parameters: what a constant of the language, a value of Python and a text of the command line become.

A value is a literal of `meaning/bound.py`. It is made once, typed, and put into the syntax tree as the constant that it is, so no text is
ever read again: a value with a quote or a semicolon in it is that text and nothing else.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import Literal
from cqc.compiler.meaning.times.durations import DAY_US, SECOND_US, UNITS
from cqc.compiler.meaning.times.instants import format_day, format_instant, parse_day, parse_instant
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import Span

T = ColumnType
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = 2**63


def of_syntax(node: syntax.Expression) -> Literal | None:
    """The value of a constant that is written out; None for anything that is none."""
    span = node.span
    match node:
        case syntax.Parenthesised():
            return of_syntax(node.inner)
        case syntax.StringLiteral():
            return Literal(node.value, T.STRING, span)
        case syntax.BooleanLiteral():
            return Literal(node.value, T.BOOLEAN, span)
        case syntax.NullLiteral():
            return Literal(None, T.NULL, span)
        case syntax.NumberLiteral():
            return _number(node.text, span)
        case syntax.TimestampLiteral():
            return _known(parse_instant(node.text), T.TIMESTAMP, span)
        case syntax.DateLiteral():
            return _known(parse_day(node.text), T.DATE, span)
        case syntax.Duration() if not node.months:
            return _duration(node.number, node.unit_us, span)
        case syntax.Unary(operator="-", operand=syntax.NumberLiteral() as number):
            return _number("-" + number.text, span)
        case syntax.Cast() if not node.is_tried:
            inner = of_syntax(node.operand)
            return None if inner is None else converted(inner, node.type)
        case _:
            return None


def _known(value: int | None, type_: ColumnType, span: Span) -> Literal | None:
    return None if value is None else Literal(value, type_, span)


def _number(text: str, span: Span) -> Literal | None:
    if text.lstrip("-").isdecimal():
        number = int(text)
        return Literal(number, T.BIGINT, span) if -_MOST <= number < _MOST else None
    value = float(text)
    return Literal(value, T.DOUBLE, span) if math.isfinite(value) else None


def _duration(number: str, unit_us: int, span: Span) -> Literal | None:
    try:
        us = round(float(number) * unit_us)
    except ValueError:
        return None
    return Literal(us, T.INTERVAL, span)


def of_python(value: object, span: Span) -> Literal | None:
    """The value of an object of Python; None for one that is of no type of the language."""
    match value:
        case None:
            return Literal(None, T.NULL, span)
        case bool():
            return Literal(value, T.BOOLEAN, span)
        case int():
            return Literal(value, T.BIGINT, span) if -_MOST <= value < _MOST else None
        case float():
            return Literal(value, T.DOUBLE, span)
        case str():
            return Literal(value, T.STRING, span)
        case datetime():
            aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return Literal((aware - _EPOCH) // timedelta(microseconds=1), T.TIMESTAMP, span)
        case date():
            return Literal((value - _EPOCH.date()).days, T.DATE, span)
        case timedelta():
            return Literal(value // timedelta(microseconds=1), T.INTERVAL, span)
        case _:
            return None


def of_text(text: str, type_: ColumnType, span: Span) -> Literal | None:
    """The value of a text of the command line in a type; None where it is none."""
    stripped = text.strip()
    try:
        match type_:
            case T.STRING:
                return Literal(text, type_, span)
            case T.BIGINT:
                number = int(stripped)
                return Literal(number, type_, span) if -_MOST <= number < _MOST else None
            case T.DOUBLE:
                return Literal(float(stripped), type_, span)
            case T.BOOLEAN:
                known = {"true": True, "false": False}.get(stripped.lower())
                return None if known is None else Literal(known, type_, span)
            case T.TIMESTAMP:
                return _known(parse_instant(stripped), type_, span)
            case T.DATE:
                return _known(parse_day(stripped), type_, span)
            case T.INTERVAL:
                found = _DURATION.fullmatch(stripped)
                unit = None if found is None else UNITS.get(found[2].upper())
                return None if found is None or unit is None else _duration(found[1], unit, span)
            case _:
                return None
    except ValueError:
        return None


def converted(value: Literal, type_: ColumnType) -> Literal | None:
    """The value in the declared type of a parameter; None where it has no place there."""
    given = value.value
    if value.type is type_:
        return value
    if given is None:
        return Literal(None, type_, value.span)
    if type_ is T.DOUBLE and value.type is T.BIGINT:
        return Literal(float(given), type_, value.span)
    if type_ is T.TIMESTAMP and value.type is T.DATE:
        assert isinstance(given, int)
        return Literal(given * DAY_US, type_, value.span)
    if type_ in (T.TIMESTAMP, T.DATE) and isinstance(given, str):
        return of_text(given, type_, value.span)
    return None


def as_syntax(value: Literal, span: Span) -> syntax.Expression:
    """The constant that stands in the syntax tree for a value, at the place of the parameter."""
    given, type_ = value.value, value.type
    if given is None:
        return syntax.Cast(syntax.NullLiteral(span), type_, span, False)
    if isinstance(given, bool):
        return syntax.BooleanLiteral(given, span)
    if isinstance(given, str):
        return syntax.StringLiteral(given, span)
    if type_ is T.TIMESTAMP:
        return syntax.TimestampLiteral(format_instant(int(given)), span)
    if type_ is T.DATE:
        return syntax.DateLiteral(format_day(int(given)), span)
    if type_ is T.INTERVAL:
        return syntax.Duration(str(given), 1, span)
    if isinstance(given, float) and not math.isfinite(given):
        return syntax.Cast(syntax.StringLiteral(_text_of(given), span), type_, span, False)
    number = syntax.NumberLiteral(_text_of(abs(given)), span)
    negative = math.copysign(1.0, given) < 0
    return syntax.Unary("-", number, span) if negative else number


def as_written(value: Literal) -> str:
    """The constant as one would write it."""
    given, type_ = value.value, value.type
    if given is None:
        return f"CAST(NULL AS {type_.value})"
    if isinstance(given, bool):
        return str(given).upper()
    if isinstance(given, str):
        return quoted(given)
    if type_ is T.TIMESTAMP:
        return f"TIMESTAMP '{format_instant(int(given))}'"
    if type_ is T.DATE:
        return f"DATE '{format_day(int(given))}'"
    if type_ is T.INTERVAL:
        return f"INTERVAL '{given / SECOND_US:.6f}' SECOND"
    if isinstance(given, float) and not math.isfinite(given):
        return f"CAST('{_text_of(given)}' AS DOUBLE)"
    text = _text_of(given)
    return f"({text})" if text.startswith("-") else text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text_of(number: int | float) -> str:
    if isinstance(number, float) and math.isnan(number):
        return "NaN"
    if isinstance(number, float) and math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)
