"""Calls of time functions that are written unlike others, and words in them that are checked when a query is compiled.

timestampadd(MONTH, 1, ts)      the unit is a bare word
date_part('DOW', ts)            the same as extract(DOW FROM ts)
ts + INTERVAL '1' MONTH         a month has no fixed length, so this is timestampadd
date_format(ts, 'yyyy-MM')      a pattern, a zone or a unit that is written out is right before any tuple comes
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import Cast, FunctionCall, Literal
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.networks import range_of
from cqc.compiler.meaning.times.date_formats import format_pieces
from cqc.compiler.meaning.times.time_patterns import pieces_of
from cqc.compiler.meaning.times.time_units import MOVED_BY
from cqc.compiler.meaning.times.time_zones import zone_called
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression

_BY_UNIT = {
    "timestampadd": "timestampadd",
    "dateadd": "timestampadd",
    "date_add": "timestampadd",
    "timestampdiff": "timestampdiff",
    "datediff": "timestampdiff",
    "date_diff": "timestampdiff",
}
_DATE_PARTS = ("date_part", "datepart")
_WRITTEN = {"date_format": 1, "from_unixtime": 1}  # where the pattern of what is written stands
_READ = {"to_timestamp": 1, "to_date": 1, "unix_timestamp": 1}
_ZONES = {"from_utc_timestamp": 1, "to_utc_timestamp": 1, "make_timestamp": 6}


def with_unit(node: syntax.Call) -> syntax.Call:
    """A call whose first argument may be the bare word of a unit, with that word as a text."""
    name = _BY_UNIT.get(fold(node.name.text))
    if name is None or len(node.arguments) != 3:
        return node
    unit, *others = node.arguments
    if not isinstance(unit, syntax.ColumnName) or unit.qualifier is not None:
        return node if name == fold(node.name.text) else _renamed(node, name)
    written = syntax.StringLiteral(unit.column.text.upper(), unit.span)
    return _renamed(replace(node, arguments=(written, *others)), name)


def _renamed(node: syntax.Call, name: str) -> syntax.Call:
    return replace(node, name=replace(node.name, text=name))


def as_extract(node: syntax.Call) -> syntax.Call:
    """`date_part('YEAR', t)` as `extract(YEAR FROM t)`; any other call as it is."""
    if fold(node.name.text) not in _DATE_PARTS or len(node.arguments) != 2:
        return node
    field, source = node.arguments
    if not isinstance(field, syntax.StringLiteral):
        return node
    name = syntax.Name(field.value, field.span)
    column = syntax.ColumnName(None, name, field.span)
    return replace(node, arguments=(column, source), joined="FROM")


def words_are_right(scope: Scope, name: str, arguments: Sequence[Expression]) -> bool:
    """Whether units, patterns and zones that are written out have a meaning; says so where one has none."""
    if name in ("timestampadd", "timestampdiff"):
        return _unit_is_right(scope, name, arguments[0])
    if name == "cidr_match":
        return _nets_are_right(scope, arguments[1:])
    for places, reason_of in ((_WRITTEN, format_pieces), (_READ, _wrong_read)):
        text = _written_out(arguments, places.get(name))
        reason = None if text is None else reason_of(str(text.value))
        if text is not None and isinstance(reason, str):
            scope.report("CQ046", text.span, operator=name, reason=reason)
            return False
    zone = _written_out(arguments, _ZONES.get(name))
    if zone is not None and zone_called(str(zone.value)) is None:
        hint = "Write a region such as `Europe/Berlin`, `UTC`, or an offset such as `+01:00`."
        scope.report("CQ162", zone.span, name=zone.value, hint=hint)
        return False
    return True


def _nets_are_right(scope: Scope, nets: Sequence[Expression]) -> bool:
    wrong = [net for net in nets if isinstance(net, Literal) and range_of(str(net.value)) is None]
    for net in wrong:
        scope.report(
            "CQ046",
            net.span,
            operator="cidr_match",
            reason=f"{net.value} is not a network",
            hint="Write a net such as `10.0.0.0/8` or `fe80::/10`, or an address.",
        )
    return not wrong


def _wrong_read(pattern: str) -> object:
    return pieces_of(pattern, needs_year=False)


def _written_out(arguments: Sequence[Expression], at: int | None) -> Literal | None:
    if at is None or at >= len(arguments):
        return None
    word = arguments[at]
    return word if isinstance(word, Literal) and isinstance(word.value, str) else None


def _unit_is_right(scope: Scope, name: str, unit: Expression) -> bool:
    if not isinstance(unit, Literal) or not isinstance(unit.value, str):
        return True  # refused by its rule
    if unit.value.upper() in MOVED_BY:
        return True
    scope.report(
        "CQ161",
        unit.span,
        function=name,
        unit=unit.value,
        detail=f"Units are {', '.join(MOVED_BY)}.",
        hint=did_you_mean(unit.value, MOVED_BY),
    )
    return False


_CAST_TO = {"to_timestamp": ColumnType.TIMESTAMP, "to_date": ColumnType.DATE}


def simplified(call: FunctionCall) -> Expression:
    """A call that only reads text where there is text: everything else is a CAST."""
    value, *patterns = call.arguments
    is_text = value.type is ColumnType.STRING
    if call.name in _CAST_TO and not (is_text and patterns):
        return _cast(value, _CAST_TO[call.name])
    if call.name == "unix_timestamp" and not is_text:
        return replace(call, arguments=(_cast(value, ColumnType.TIMESTAMP),))
    return call


def _cast(value: Expression, target: ColumnType) -> Expression:
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, target, value.span)
    return value if value.type is target else Cast(value, target, value.span)


def is_calendar(node: syntax.Expression) -> bool:
    """Whether a duration counts months."""
    return type(node) is syntax.Duration and node.months != 0


def move_by_months(
    scope: Scope, operator: str, time: Expression, node: syntax.Duration, span: Span
) -> Expression | None:
    """`time + INTERVAL '1' MONTH`: a DATE stays one."""
    count = int(node.number) if _is_whole(node.number) else None
    if count is None:
        scope.report("CQ059", node.span, text=node.number, hint="`INTERVAL '1' MONTH`.")
        return None
    if time.type not in (ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.NULL):
        scope.report("CQ041", span, operator=operator, types=f"{time.type.value} and months")
        return None
    months = Literal(
        count * node.months * (-1 if operator == "-" else 1), ColumnType.BIGINT, node.span
    )
    if time.type is ColumnType.DATE:
        return FunctionCall("add_months", (time, months), ColumnType.DATE, span)
    if time.type is ColumnType.NULL:
        return Literal(None, ColumnType.TIMESTAMP, span)
    unit = Literal("MONTH", ColumnType.STRING, node.span)
    return FunctionCall("timestampadd", (unit, months, time), ColumnType.TIMESTAMP, span)


def _is_whole(number: str) -> bool:
    text = number.strip().lstrip("+-")
    return text.isascii() and text.isdigit() and len(text) < 10
