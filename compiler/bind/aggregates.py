"""Aggregates: what stands before and after their arguments, and what they are another way to write of.

FILTER (WHERE c) becomes part of the arguments, `SUM(x) FILTER (WHERE c)` is `SUM(CASE WHEN c THEN x END)`, and count_if, bool_and
and bool_or are COUNT, MIN and MAX: so whatever can answer those answers these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.calls import (
    all_known,
    converted_arguments,
    count_fits,
    user_arguments,
)
from cqc.compiler.functions.registry import AGGREGATE_FUNCTIONS
from cqc.compiler.meaning.bound import (
    INSTANT,
    Aggregate,
    AggregateFunction,
    Case,
    Cast,
    ColumnRef,
    FunctionCall,
    Literal,
    Order,
)
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType, DecimalType

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.functions.entry import AggregateEntry
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.syntax import tree as syntax

F = AggregateFunction
_SHARES = (F.PERCENTILE, F.PERCENTILE_CONT, F.PERCENTILE_DISC, F.APPROX_PERCENTILE)


def is_aggregate(scope: Scope, node: syntax.Call) -> bool:
    """Whether a call is that of an aggregate, built in or registered."""
    name = fold(node.name.text)
    user = scope.environment.functions.get(name)
    return name in AGGREGATE_FUNCTIONS or (user is not None and user.is_aggregate)


def bind_aggregate(
    scope: Scope,
    node: syntax.Call,
    arguments: list[Expression | None],
    where: Expression | None,
    within: tuple[Order, ...],
) -> Expression | None:
    """An aggregate of bound arguments, of the condition in FILTER, and of the keys in WITHIN GROUP."""
    user = scope.environment.functions.get(fold(node.name.text))
    if user is not None:
        return _user_aggregate(scope, node, user, arguments, where)
    entry = AGGREGATE_FUNCTIONS[fold(node.name.text)]
    function = AggregateFunction[(entry.function or entry.name).upper()]
    if node.star:
        return _counted_rows(scope, node, function, where)
    if not _clauses_fit(scope, node, entry):
        return None
    if function in (F.PERCENTILE_CONT, F.PERCENTILE_DISC):
        if not within:
            hint = f"`{entry.name}(0.5) WITHIN GROUP (ORDER BY x)`."
            scope.report(
                "CQ036",
                node.span,
                name=entry.name,
                expected="WITHIN GROUP (ORDER BY ...)",
                given="none",
                hint=hint,
            )
            return None
        arguments = [within[0].expression, *arguments]
    if not count_fits(scope, node, entry, len(arguments)):
        return None
    known = all_known(arguments)
    converted = (
        None if known is None else converted_arguments(scope, entry, entry.name.upper(), known)
    )
    if converted is None:
        return None
    return _made(scope, node, entry, converted, where, within)


def _user_aggregate(
    scope: Scope,
    node: syntax.Call,
    user: UserFunction,
    arguments: list[Expression | None],
    where: Expression | None,
) -> Expression | None:
    """A registered aggregate. Rows with a NULL argument do not count, and they come by event time, then by arrival."""
    for clause, is_there in (
        ("`*`", node.star),
        ("IGNORE NULLS", node.ignores_nulls),
        ("WITHIN GROUP", node.within),
    ):
        if is_there:
            scope.report("CQ065", node.span, function=node.name.text, what=clause)
            return None
    values = user_arguments(scope, node, user, arguments)
    if values is None:
        return None
    first, *rest = values
    if where is not None:
        first = _only_where(where, first)
    times = _event_times(scope, node)
    made = Aggregate(F.USER, first, node.distinct, user.returns, node.span)
    return replace(made, more=tuple(rest), times=times, user=user.name)


def _counted_rows(
    scope: Scope, node: syntax.Call, function: AggregateFunction, where: Expression | None
) -> Expression | None:
    if function is not F.COUNT or node.distinct:
        spelt = f"{node.name.text.upper()}{'(DISTINCT)' if node.distinct else ''}"
        hint = "`COUNT(*)` counts rows."
        scope.report("CQ065", node.span, function=spelt, what="`*`", hint=hint)
        return None
    if where is None:
        return Aggregate(F.COUNT_ALL, None, False, ColumnType.BIGINT, node.span)
    counted = _only_where(where, Literal(True, ColumnType.BOOLEAN, node.span))
    return Aggregate(F.COUNT, counted, False, ColumnType.BIGINT, node.span)


def _clauses_fit(scope: Scope, node: syntax.Call, entry: AggregateEntry) -> bool:
    if node.ignores_nulls and not entry.takes_nulls_clause:
        scope.report("CQ065", node.span, function=entry.name, what="IGNORE NULLS")
        return False
    if node.within and not entry.takes_order:
        scope.report("CQ065", node.span, function=entry.name, what="WITHIN GROUP")
        return False
    return True


def _only_where(where: Expression, value: Expression) -> Expression:
    """The value where the condition is TRUE, else NULL."""
    nothing = Literal(None, value.type, value.span)
    return Case(((where, value),), nothing, value.type, value.span)


def _made(
    scope: Scope,
    node: syntax.Call,
    entry: AggregateEntry,
    values: list[Expression],
    where: Expression | None,
    within: tuple[Order, ...],
) -> Expression | None:
    function = AggregateFunction[(entry.function or entry.name).upper()]
    wanted = result = entry.result_type([value.type for value in values])
    first, *rest = values
    if function is F.APPROX_PERCENTILE and isinstance(result, DecimalType):  # estimated as DOUBLE
        result = ColumnType.DOUBLE
        first = Cast(first, result, first.span)
    if entry.name == "count_if":
        first = _only_where(first, Literal(True, ColumnType.BOOLEAN, first.span))
    times = _event_times(scope, node) if entry.needs_time else ()
    ignores_null = node.ignores_nulls or entry.name == "any_value"
    if where is not None:
        if function in (F.FIRST, F.LAST) and not ignores_null and times:
            times = (_only_where(where, times[0]), *times[1:])
        elif function in (F.MAX_BY, F.MIN_BY):
            rest = [_only_where(where, rest[0])]
        else:
            first = _only_where(where, first)
    distinct = node.distinct or function is F.COLLECT_SET
    made = Aggregate(function, first, distinct, result, node.span)
    more: dict[str, object] = {"times": times, "ignores_null": ignores_null}
    if function in (F.MAX_BY, F.MIN_BY, F.CORR, F.COVAR_POP, F.COVAR_SAMP):
        more["more"] = tuple(rest)
    elif function is F.LISTAGG:
        more["separator"] = str(_constant(rest[0])) if rest else ""
        more["order_by"] = within
    elif function in _SHARES:
        share = _constant(rest[0])
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            scope.report(
                "CQ044",
                rest[0].span,
                function=entry.name,
                expected="a share between 0 and 1",
                type=rest[0].span.text,
            )
            return None
        more["share"] = float(share)
        more["descends"] = bool(within) and within[0].descending
        if len(rest) > 1:
            accuracy = _constant(rest[1])
            more["accuracy"] = max(accuracy, 1) if isinstance(accuracy, int) else 1
    whole: Expression = replace(made, **more)  # type: ignore[arg-type]  # each under its own name
    return whole if result is wanted else Cast(whole, wanted, node.span)


def _constant(value: Expression) -> object:
    return value.value if isinstance(value, Literal) else None


def _event_times(scope: Scope, node: syntax.Call) -> tuple[Expression, ...]:
    """The event times of a row, one for each stream in FROM."""
    found: list[Expression] = []
    for item, relation in enumerate(scope.relations):
        if relation is None or relation.event_time is None:
            continue
        type_ = relation.columns[relation.event_time].type
        column = ColumnRef(item, relation.event_time, type_, node.span)
        if type_ is ColumnType.TIMESTAMP:
            found.append(column)
        else:
            found.append(FunctionCall(INSTANT, (column,), ColumnType.TIMESTAMP, node.span))
    return tuple(found)
