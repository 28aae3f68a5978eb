"""What is inside arrays, maps and structs: `s.a.b`, `x[0]`, `m['k']`, and functions that take `x -> ...`.

A field of a column that is reached by names alone is a column of its own (`catalog.with_fields`), which filters and joins know. Anything
else is a call: FIELD, ITEM, and in the body of a lambda VARIABLE. No query calls these by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.operators import coerce
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import (
    FIELD,
    ITEM,
    LAMBDA,
    VARIABLE,
    ColumnRef,
    FunctionCall,
    Literal,
)
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import (
    MOST_DIGITS,
    ArrayType,
    ColumnType,
    DecimalType,
    MapType,
    StructType,
    array_of,
    common_type,
    struct_of,
    type_of_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression, Query
    from cqc.compiler.syntax import tree as syntax

    Bind = Callable[[Scope, syntax.Expression], Expression | None]

_BIGINT, _STRING, _BOOLEAN = ColumnType.BIGINT, ColumnType.STRING, ColumnType.BOOLEAN


def fields_of(scope: Scope, whole: Expression, names: Sequence[syntax.Name]) -> Expression | None:
    """What some names, one inside the other, lead to; None after saying which one does not."""
    found: Expression | None = whole
    for name in names:
        if found is None:
            return None
        found = _field(scope, found, name)
    return found


def _field(scope: Scope, whole: Expression, name: syntax.Name) -> Expression | None:
    type_ = whole.type
    span = whole.span.to(name.span)
    if isinstance(type_, MapType) and type_.key is _STRING:
        return FunctionCall(ITEM, (whole, Literal(name.text, _STRING, name.span)), type_.item, span)
    inner = type_.element if isinstance(type_, ArrayType) else type_
    if not isinstance(inner, StructType):
        if type_ is not ColumnType.NULL:
            detail = "Only a STRUCT has fields; of an array write `x[0]`."
            scope.report("CQ150", name.span, name=name.text, type=type_.value, detail=detail)
        return None
    at = inner.position(name.text)
    if at is None:
        names = [each for each, _ in inner.fields]
        scope.report(
            "CQ150",
            name.span,
            name=name.text,
            type=type_.value,
            detail=f"There are {', '.join(names)}.",
            hint=did_you_mean(name.text, names),
        )
        return None
    made = inner.fields[at][1]
    if isinstance(whole, ColumnRef):
        relation = scope.relations[whole.item]
        own = None if relation is None else relation.field(whole.column, at)
        if own is not None:
            return ColumnRef(whole.item, own, made, span)
    result = array_of(made) if isinstance(type_, ArrayType) else made
    return FunctionCall(FIELD, (whole, Literal(at, _BIGINT, name.span)), result, span)


def item_of(scope: Scope, whole: Expression, index: Expression, span: Span) -> Expression | None:
    """`whole[index]`."""
    type_ = whole.type
    wanted: ColumnType | None = None
    result = ColumnType.NULL
    if isinstance(type_, ArrayType):
        wanted, result = _BIGINT, type_.element
    elif isinstance(type_, MapType):
        wanted, result = type_.key, type_.item
    elif (
        isinstance(type_, StructType)
        and isinstance(index, Literal)
        and isinstance(index.value, str)
    ):
        at = type_.position(index.value)
        if at is not None:
            place = Literal(at, _BIGINT, index.span)
            return FunctionCall(FIELD, (whole, place), type_.fields[at][1], span)
    if wanted is None or common_type(wanted, index.type) is not wanted:
        scope.report("CQ152", span, type=type_.value, index=index.type.value)
        return None
    return FunctionCall(ITEM, (whole, coerce(index, wanted)), result, span)


def bind_higher_order(
    scope: Scope, node: syntax.Call, lambda_: syntax.Lambda, bind: Bind
) -> Expression | None:
    """`exists(array, x -> condition)`, `filter` and `transform`."""
    name = fold(node.name.text)
    if name not in ("exists", "any", "filter", "transform", "forall") or len(node.arguments) != 2:
        hint = "Write `exists(array, x -> x > 0)`."
        scope.report("CQ153", lambda_.span, function=node.name.text, hint=hint)
        return None
    array = bind(scope, node.arguments[0])
    if array is None:
        return None
    type_ = array.type
    if not isinstance(type_, ArrayType):
        scope.report("CQ044", array.span, function=name, expected="an ARRAY", type=type_.value)
        return None
    parameters = lambda_.parameters
    if len(parameters) == 2 and name == "exists":
        scope.report("CQ153", lambda_.span, function=name, hint="`exists` takes `x -> ...`.")
        return None
    first = 2 * len(scope.variables)
    types = (type_.element, _BIGINT)
    scope.variables.append(
        {
            fold(parameter.text): FunctionCall(
                VARIABLE,
                (Literal(first + at, _BIGINT, parameter.span),),
                types[at],
                parameter.span,
            )
            for at, parameter in enumerate(parameters)
        }
    )
    body = bind(scope, lambda_.body)
    scope.variables.pop()
    if body is None:
        return None
    if name != "transform":
        if body.type is ColumnType.NULL:
            body = coerce(body, _BOOLEAN)
        if body.type is not _BOOLEAN:
            scope.report("CQ042", body.span, place=f"the condition of {name}", type=body.type.value)
            return None
    place = Literal(first, _BIGINT, lambda_.span)
    function = FunctionCall(LAMBDA, (place, body), body.type, lambda_.span)
    result = {"filter": type_, "transform": array_of(body.type)}.get(name, _BOOLEAN)
    return FunctionCall(name, (array, function), result, node.span)


WRITTEN_RESULTS = ("named_struct", "from_json")
"""Functions whose result has a type that their arguments write out."""


def written_result(
    scope: Scope, name: str, arguments: Sequence[Expression], span: Span
) -> Expression | None:
    """A call of one of them."""
    if name == "from_json":
        type_ = _written_type(arguments[1])
        if type_ is None or not type_.is_nested:
            hint = "Write `from_json(text, 'a BIGINT, b ARRAY<STRING>')`."
            scope.report("CQ155", arguments[1].span, type=arguments[1].span.text, hint=hint)
            return None
        return FunctionCall(name, tuple(arguments), type_, span)
    names, values = arguments[::2], arguments[1::2]
    texts = [each.value for each in names if isinstance(each, Literal)]
    known = [each for each in texts if isinstance(each, str)]
    if len(known) < len(names) or len(names) != len(values):
        types = ", ".join(each.type.value for each in arguments)
        hint = "Write `named_struct('a', 1, 'b', 2)`."
        scope.report("CQ151", span, function=name, types=types, hint=hint)
        return None
    typed = [coerce(each, _STRING) if each.type is ColumnType.NULL else each for each in values]
    fields = [(each, value.type) for each, value in zip(known, typed, strict=True)]
    parts = tuple(each for pair in zip(names, typed, strict=True) for each in pair)
    return FunctionCall(name, parts, struct_of(fields), span)


def _written_type(argument: Expression) -> ColumnType | None:
    if not isinstance(argument, Literal) or not isinstance(argument.value, str):
        return None
    for text in (argument.value, f"STRUCT<{argument.value}>"):
        try:
            made = type_of_text(text)
        except (ValueError, IndexError):
            continue
        if made.is_nested:
            return made
    return None


def wrong_type(type_: ColumnType, *, declared: bool = True) -> str | None:
    """What is wrong with a type that was written; None where nothing is."""
    if isinstance(type_, DecimalType):
        fits = 1 <= type_.digits <= MOST_DIGITS and type_.scale <= type_.digits
        return None if fits else f"A DECIMAL has 1 to {MOST_DIGITS} digits, the point among them."
    if isinstance(type_, ArrayType):
        return wrong_type(type_.element, declared=declared)
    if isinstance(type_, MapType):
        if declared and type_.key is not _STRING:
            return "The keys of a MAP are STRING."
        return wrong_type(type_.key, declared=declared) or wrong_type(type_.item, declared=declared)
    if isinstance(type_, StructType):
        if len({fold(name) for name, _ in type_.fields}) < len(type_.fields):
            return "The fields of a STRUCT have different names."
        found = (wrong_type(inner, declared=declared) for _, inner in type_.fields)
        return next((each for each in found if each is not None), None)
    return None


def field_of(query: Query, whole: Expression, number: int, type_: ColumnType) -> Expression:
    """A field of an output of a query: a column where it is one."""
    has_groups = (query.pull is not None and query.pull.is_aggregate) or query.decided is not None
    if isinstance(whole, ColumnRef) and whole.item < len(query.items) and not has_groups:
        relation = query.items[whole.item].relation
        own = relation.field(whole.column, number)
        if own is not None:
            return ColumnRef(whole.item, own, type_, whole.span)
    place = Literal(number, _BIGINT, whole.span)
    return FunctionCall(FIELD, (whole, place), type_, whole.span)
