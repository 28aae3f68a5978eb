"""Calls of built-in functions, user functions and aggregates, once their arguments are bound.

Which types a built-in takes and gives is a small function per family; the table at the end names them. Implicit casts
are few: `concat` turns its arguments into text, and BIGINT becomes DOUBLE where arguments share one type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind_operators import cast_hint, coerce, unite
from cqc.compiler.bound import (
    Aggregate,
    AggregateFunction,
    Cast,
    FunctionCall,
    Literal,
    UserCall,
)
from cqc.compiler.catalog import fold
from cqc.compiler.functions import AGGREGATES, SCALAR_FUNCTIONS
from cqc.compiler.suggest import did_you_mean, window_hint
from cqc.compiler.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler import syntax
    from cqc.compiler.bind_scope import Scope
    from cqc.compiler.bound import Expression
    from cqc.compiler.source import Span

_BIGINT = ColumnType.BIGINT
_DOUBLE = ColumnType.DOUBLE
_STRING = ColumnType.STRING
_INTERVAL = ColumnType.INTERVAL
_NULL = ColumnType.NULL

Arguments = list["Expression"]


def bind_call(
    scope: Scope, node: syntax.Call, arguments: list[Expression | None]
) -> Expression | None:
    """A scalar function of bound arguments; None among them is a mistake already reported."""
    name = fold(node.name.text)
    if node.star or node.distinct:
        what = "`*`" if node.star else "DISTINCT"
        scope.report("CQ065", node.span, function=node.name.text, what=what)
        return None
    user = scope.environment.functions.get(name)
    if user is not None:
        if user.arity is not None and len(arguments) != user.arity:
            _report_count(scope, node, user.arity, user.arity)
            return None
        known = _all_known(arguments)
        return None if known is None else _user_call(scope, node, name, known, user.returns)
    signature = SCALAR_FUNCTIONS.get(name)
    if signature is None:
        _report_unknown(scope, node)
        return None
    if not signature.least <= len(arguments) <= (signature.most or len(arguments)):
        _report_count(scope, node, signature.least, signature.most)
        return None
    known = _all_known(arguments)
    return None if known is None else _TYPED[name](scope, name, known, node.span)


def _all_known(arguments: list[Expression | None]) -> Arguments | None:
    known = [argument for argument in arguments if argument is not None]
    return known if len(known) == len(arguments) else None


def _user_call(
    scope: Scope, node: syntax.Call, name: str, arguments: Arguments, returns: ColumnType
) -> Expression | None:
    for argument in arguments:
        if argument.type is _INTERVAL:
            return _refuse(scope, name, argument, "a column's type")
    typed = tuple(coerce(a, _DOUBLE) if a.type is _NULL else a for a in arguments)
    return UserCall(name, typed, returns, node.span)


def _report_unknown(scope: Scope, node: syntax.Call) -> None:
    names = [*SCALAR_FUNCTIONS, *scope.environment.functions, *AGGREGATES]
    scope.report(
        "CQ035",
        node.name.span,
        name=node.name.text,
        detail=f"There are {', '.join(names)}.",
        hint=window_hint(node.name.text) or did_you_mean(node.name.text, names),
    )


def _report_count(scope: Scope, node: syntax.Call, least: int, most: int | None) -> None:
    if most is None:
        expected = f"at least {_counted(least)}"
    elif least == most:
        expected = _counted(least)
    else:
        expected = f"{least} or {_counted(most)}"
    given = len(node.arguments)
    scope.report("CQ036", node.span, name=fold(node.name.text), expected=expected, given=given)


def _counted(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _refuse(scope: Scope, function: str, argument: Expression, expected: str) -> Expression | None:
    hint = cast_hint(argument, _DOUBLE)
    if expected == "STRING" and argument.type is not _INTERVAL:
        hint = f"Write `CAST({' '.join(argument.span.text.split())} AS STRING)`."
    scope.report(
        "CQ044",
        argument.span,
        function=function,
        expected=expected,
        type=argument.type.value,
        hint=hint,
    )
    return None


def _number(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    """`abs` keeps its argument's type."""
    operand = arguments[0]
    if operand.type is _NULL:
        operand = coerce(operand, _DOUBLE)
    if not operand.type.is_numeric and operand.type is not _INTERVAL:
        return _refuse(scope, name, operand, "a number")
    return FunctionCall(name, (operand,), operand.type, span)


def _to_whole(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    """`floor` and `ceil` give BIGINT, as in Spark."""
    operand = arguments[0]
    if operand.type is _NULL:
        operand = coerce(operand, _DOUBLE)
    if not operand.type.is_numeric:
        return _refuse(scope, name, operand, "a number")
    return FunctionCall(name, (operand,), _BIGINT, span)


def _round(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    operand = arguments[0]
    if operand.type is _NULL:
        operand = coerce(operand, _DOUBLE)
    if not operand.type.is_numeric:
        return _refuse(scope, name, operand, "a number")
    if len(arguments) == 2:
        digits = arguments[1]
        if type(digits) is not Literal or digits.type is not _BIGINT:
            scope.report(
                "CQ044",
                digits.span,
                function="round",
                expected="a whole number written out as its second argument",
                type=f"`{' '.join(digits.span.text.split())}`",
            )
            return None
    return FunctionCall(name, (operand, *arguments[1:]), operand.type, span)


def _one_type(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    """`coalesce`, `least` and `greatest` take any one type."""
    united = unite(scope, arguments, name)
    if united is None:
        return None
    values, common = united
    return (
        Literal(None, _NULL, span) if common is _NULL else FunctionCall(name, values, common, span)
    )


def _text(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    operand = _as_text(scope, name, arguments[0])
    if operand is None:
        return None
    return FunctionCall(name, (operand,), _BIGINT if name == "length" else _STRING, span)


def _as_text(scope: Scope, name: str, operand: Expression) -> Expression | None:
    if operand.type is _NULL:
        return coerce(operand, _STRING)
    return operand if operand.type is _STRING else _refuse(scope, name, operand, "STRING")


def _concat(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    texts: Arguments = []
    for argument in arguments:
        if argument.type is _INTERVAL:
            return _refuse(scope, name, argument, "STRING")
        is_null = argument.type in (_STRING, _NULL)
        texts.append(
            coerce(argument, _STRING) if is_null else Cast(argument, _STRING, argument.span)
        )
    return FunctionCall(name, tuple(texts), _STRING, span)


def _substring(scope: Scope, name: str, arguments: Arguments, span: Span) -> Expression | None:
    text = _as_text(scope, name, arguments[0])
    if text is None:
        return None
    positions: Arguments = []
    for argument in arguments[1:]:
        if argument.type not in (_BIGINT, _NULL):
            return _refuse(scope, name, argument, "BIGINT positions")
        positions.append(coerce(argument, _BIGINT))
    return FunctionCall(name, (text, *positions), _STRING, span)


_TYPED: dict[str, Callable[[Scope, str, Arguments, Span], Expression | None]] = {
    "abs": _number,
    "round": _round,
    "floor": _to_whole,
    "ceil": _to_whole,
    "least": _one_type,
    "greatest": _one_type,
    "coalesce": _one_type,
    "lower": _text,
    "upper": _text,
    "length": _text,
    "concat": _concat,
    "substring": _substring,
}


def is_aggregate(node: syntax.Call) -> bool:
    return fold(node.name.text) in AGGREGATES


def bind_aggregate(
    scope: Scope, node: syntax.Call, arguments: list[Expression | None]
) -> Expression | None:
    """An aggregate of bound arguments."""
    function = AggregateFunction[fold(node.name.text).upper()]
    if node.star:
        if function is AggregateFunction.COUNT and not node.distinct:
            return Aggregate(AggregateFunction.COUNT_ALL, None, False, _BIGINT, node.span)
        hint = "`COUNT(*)` counts rows."
        scope.report("CQ065", node.span, function=_spelt(node), what="`*`", hint=hint)
        return None
    if len(arguments) != 1:
        _report_count(scope, node, 1, 1)
        return None
    argument = arguments[0]
    return None if argument is None else _typed_aggregate(scope, function, node, argument)


def _spelt(node: syntax.Call) -> str:
    return f"{node.name.text.upper()}{'(DISTINCT)' if node.distinct else ''}"


def _typed_aggregate(
    scope: Scope, function: AggregateFunction, node: syntax.Call, argument: Expression
) -> Expression | None:
    if argument.type is _NULL:
        argument = coerce(argument, _DOUBLE)
    if argument.type is _INTERVAL:
        return _refuse(scope, function.value, argument, "a column's type")
    result = argument.type
    if function is AggregateFunction.COUNT:
        result = _BIGINT
    elif function in (AggregateFunction.SUM, AggregateFunction.AVG):
        if not argument.type.is_numeric:
            return _refuse(scope, function.value, argument, "a number")
        result = _DOUBLE if function is AggregateFunction.AVG else argument.type
    return Aggregate(function, argument, node.distinct, result, node.span)
