"""Calls of built-in functions, user functions and aggregates, once their arguments are bound.

What a built-in takes and gives is in its entry of the registry (`functions/`); this module reads the entry. An argument is
converted only where its rule says so: `concat` turns its arguments into text, and BIGINT becomes DOUBLE where arguments
share one type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.nested import WRITTEN_RESULTS, written_result
from cqc.compiler.bind.operators import cast_hint, coerce, meet, unite
from cqc.compiler.bind.patterns import as_match, wrong_regular_expression
from cqc.compiler.bind.times.time_calls import simplified, words_are_right
from cqc.compiler.diagnostics.suggest import did_you_mean, function_hint
from cqc.compiler.functions.registry import (
    SCALAR_FUNCTIONS,
    function_names,
)
from cqc.compiler.meaning.bound import (
    FunctionCall,
    Literal,
    OverFunction,
    UserCall,
)
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.times.time_units import EXTRACTED
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax.tokens import words

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.functions.argument_rules import ArgumentRule
    from cqc.compiler.functions.entry import FunctionEntry, ScalarEntry
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.syntax import tree as syntax

_BIGINT = ColumnType.BIGINT
_DOUBLE = ColumnType.DOUBLE
_INTERVAL = ColumnType.INTERVAL
_NULL = ColumnType.NULL

Arguments = list["Expression"]


_SIDES = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
"""The functions that `trim(BOTH a FROM b)` and the like are."""


def bind_call(
    scope: Scope, node: syntax.Call, arguments: list[Expression | None]
) -> Expression | None:
    """A scalar function of bound arguments; None among them is a mistake already reported."""
    name = fold(node.name.text)
    if node.joined in _SIDES:
        name = _SIDES[node.joined]
    if node.joined == "IN" and name != "position":
        scope.report("CQ065", node.span, function=node.name.text, what="`IN`")
        return None
    if node.star or node.distinct:
        what = "`*`" if node.star else "DISTINCT"
        scope.report("CQ065", node.span, function=node.name.text, what=what)
        return None
    user = scope.environment.functions.get(name)
    if user is not None:
        typed = user_arguments(scope, node, user, arguments)
        return None if typed is None else UserCall(name, tuple(typed), user.returns, node.span)
    entry = SCALAR_FUNCTIONS.get(name)
    if entry is None:
        _report_unknown(scope, node)
        return None
    if not count_fits(scope, node, entry, len(arguments)):
        return None
    known = all_known(arguments)
    if known is None or (entry.takes_pattern and not _pattern_is_right(scope, name, known[1])):
        return None
    call = _scalar_call(scope, entry, name, known, node.span)
    return as_match(call) if entry.name == "regexp_like" and call is not None else call


def _pattern_is_right(scope: Scope, name: str, pattern: Expression) -> bool:
    """Whether a regular expression that is written out is one; says so where it is not."""
    if type(pattern) is not Literal or not isinstance(pattern.value, str):
        return True
    reason = wrong_regular_expression(pattern.value)
    if reason is not None:
        scope.report("CQ046", pattern.span, operator=name, reason=reason)
    return reason is None


def bind_operator(scope: Scope, symbol: str, operands: Arguments, span: Span) -> Expression | None:
    """An operator that is a function of the registry: `& | ^ ~` under their own names, DIV as `div`."""
    entry = SCALAR_FUNCTIONS[fold(symbol)]
    return _scalar_call(scope, entry, symbol, operands, span)


def bind_extract(
    scope: Scope, node: syntax.Call, field: syntax.Name, value: Expression
) -> Expression | None:
    """`extract(YEAR FROM t)` is `year(t)`."""
    name = EXTRACTED.get(fold(field.text))
    if name is None:
        hint = did_you_mean(field.text, EXTRACTED)
        if fold(field.text) == "epoch":
            hint = f"Write `unix_timestamp({' '.join(value.span.text.split())})`."
        detail = f"There are {', '.join(dict.fromkeys(EXTRACTED))}."
        scope.report(
            "CQ161", field.span, function="extract", unit=field.text, detail=detail, hint=hint
        )
        return None
    return _scalar_call(scope, SCALAR_FUNCTIONS[name], "extract", [value], node.span)


def count_fits(scope: Scope, node: syntax.Call, entry: FunctionEntry, given: int) -> bool:
    """Whether a call has as many arguments as the function takes; says so where it has not."""
    fits = entry.least <= given and (entry.most is None or given <= entry.most)
    if not fits:
        _report_count(scope, node, entry.least, entry.most)
    return fits


def all_known(arguments: list[Expression | None]) -> Arguments | None:
    known = [argument for argument in arguments if argument is not None]
    return known if len(known) == len(arguments) else None


def user_arguments(
    scope: Scope, node: syntax.Call, user: UserFunction, arguments: list[Expression | None]
) -> Arguments | None:
    """The arguments of a registered function or aggregate, or None after saying what is wrong with them."""
    if user.arity is not None and len(arguments) != user.arity:
        _report_count(scope, node, user.arity, user.arity)
        return None
    known = all_known(arguments)
    for argument in known or ():
        is_text = argument.type in (ColumnType.STRING, _NULL)
        if argument.type is _INTERVAL or (argument.type.held_as_text and not is_text):
            _refuse(scope, user.name, argument, "a column's type")
            return None
    return known and [coerce(a, _DOUBLE) if a.type is _NULL else a for a in known]


_NOT_THE_SAME_TWICE = words(
    "rand random randn randstr uniform uuid shuffle now curdate current_date current_time current_timestamp localtimestamp "
    "clock_timestamp sysdate getdate"
)
"""Functions of other systems whose value depends on the run."""


def _report_unknown(scope: Scope, node: syntax.Call) -> None:
    if fold(node.name.text) in _NOT_THE_SAME_TWICE:
        scope.report(
            "CQ035",
            node.name.span,
            name=node.name.text,
            detail="An answer must not depend on the run, so there is no chance and no wall clock in a query.",
            hint=function_hint(node.name.text)
            or "The event-time column of a stream says when a tuple happened.",
        )
        return
    if node.name.text.upper() in OverFunction.__members__:
        scope.report(
            "CQ035",
            node.name.span,
            name=node.name.text,
            detail="It is a function of the rows around a row, and says so with OVER.",
            hint=f"Write `{node.span.text} OVER (PARTITION BY ... ORDER BY ...)`.",
        )
        return
    registered = scope.environment.functions
    names = [*function_names(), *registered]
    also = f" Registered here: {', '.join(registered)}." if registered else ""
    scope.report(
        "CQ035",
        node.name.span,
        name=node.name.text,
        detail=f"docs/functions.md lists the functions there are.{also}",
        hint=function_hint(node.name.text) or did_you_mean(node.name.text, names),
    )


def _report_count(scope: Scope, node: syntax.Call, least: int, most: int | None) -> None:
    if most is None:
        expected = f"at least {_counted(least)}"
    elif least == most:
        expected = _counted(least)
    else:
        expected = f"{least} {'or' if most == least + 1 else 'to'} {_counted(most)}"
    given = len(node.arguments)
    scope.report("CQ036", node.span, name=fold(node.name.text), expected=expected, given=given)


def _counted(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _refuse(scope: Scope, function: str, argument: Expression, expected: str) -> Expression | None:
    hint = cast_hint(argument, _DOUBLE)
    if "DATE" in expected:
        hint = _time_hint(argument)
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


def _time_hint(argument: Expression) -> str | None:
    """How to make a time of something that is none."""
    written = " ".join(argument.span.text.split())
    if argument.type is ColumnType.STRING:
        return f"Write `CAST({written} AS TIMESTAMP)`."
    return f"Write `timestamp_seconds({written})`." if argument.type.is_numeric else None


def _scalar_call(
    scope: Scope, entry: ScalarEntry, name: str, arguments: Arguments, span: Span
) -> Expression | None:
    converted = converted_arguments(scope, entry, name, arguments)
    if converted is None or not words_are_right(scope, entry.name, converted):
        return None
    if entry.meets is not None:
        met = _met(scope, entry, name, converted)
        if met is None:
            return None
        converted = met
    if entry.name in WRITTEN_RESULTS:
        return written_result(scope, entry.name, converted, span)
    types = [argument.type for argument in converted]
    if entry.written is not None:
        result = entry.written(types, [_constant_of(argument) for argument in converted])
    else:
        result = entry.result_type(types)
    if result is _NULL:
        return Literal(None, _NULL, span)
    call = FunctionCall(entry.name, tuple(converted), result, span)
    return simplified(call) if converted else call


def _constant_of(argument: Expression) -> int | float | str | bool | None:
    return argument.value if type(argument) is Literal else None


def _met(scope: Scope, entry: ScalarEntry, name: str, arguments: Arguments) -> Arguments | None:
    """The arguments in the types that they take together, or None after saying that they do not go together."""
    assert entry.meets is not None
    types = entry.meets([argument.type for argument in arguments])
    if types is None:
        scope.report(
            "CQ151",
            arguments[0].span.to(arguments[-1].span),
            function=name,
            types=", ".join(argument.type.value for argument in arguments),
        )
        return None
    return [coerce(each, type_) for each, type_ in zip(arguments, types, strict=True)]


def converted_arguments(
    scope: Scope, entry: FunctionEntry, name: str, arguments: Arguments
) -> Arguments | None:
    """The arguments as the entry's rules want them, or None after saying which one does not fit."""
    converted: Arguments = []
    for at, argument in enumerate(arguments):
        accepted = _accept(scope, name, argument, entry.rule(at))
        if accepted is None:
            return None
        converted.append(accepted)
    united = [at for at in range(len(arguments)) if entry.rule(at).united]
    compared = [at for at in range(len(arguments)) if entry.rule(at).compared]
    for together, convert in ((united, _unite), (compared, _compare)):
        values = convert(scope, name, [converted[at] for at in together]) if together else ()
        if values is None:
            return None
        for at, value in zip(together, values, strict=True):
            converted[at] = value
    return converted


def _unite(scope: Scope, name: str, values: Arguments) -> tuple[Expression, ...] | None:
    """The values in the one type that they share."""
    united = unite(scope, values, name)
    return None if united is None else united[0]


def _compare(scope: Scope, name: str, values: Arguments) -> tuple[Expression, ...] | None:
    """Two values that can be compared, each in its own type."""
    left, right = values
    return meet(scope, left, right, right.span)


def _accept(scope: Scope, name: str, argument: Expression, rule: ArgumentRule) -> Expression | None:
    if rule.written_out and (type(argument) is not Literal or argument.type not in rule.takes):
        written = f"`{' '.join(argument.span.text.split())}`"
        scope.report("CQ044", argument.span, function=name, expected=rule.expected, type=written)
        return None
    if argument.type is _NULL:
        return argument if rule.null is _NULL else coerce(argument, rule.null)
    if argument.type not in rule.takes:
        return _refuse(scope, name, argument, rule.expected)
    return argument if rule.becomes is None else coerce(argument, rule.becomes)
