"""Expressions: a syntax node becomes a bound one of a known type.

One function per kind of node, found by the node's type in a table: a file may hold a hundred thousand queries, and this
runs for each of their nodes. Every part of an expression is bound even after a mistake in another part, so that
all mistakes are found; a part that could not be bound is None (see `bind_scope.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cqc.compiler.bind.aggregates import bind_aggregate, is_aggregate
from cqc.compiler.bind.calls import bind_call, bind_extract, bind_operator
from cqc.compiler.bind.literals import (
    bind_date,
    bind_decimal,
    bind_number,
    bind_timestamp,
    duration_us,
)
from cqc.compiler.bind.nested import bind_higher_order, fields_of, item_of, wrong_type
from cqc.compiler.bind.operators import arithmetic, coerce, compare, meet, negate, typed, unite
from cqc.compiler.bind.over import bind_over, may_stand_here
from cqc.compiler.bind.patterns import bind_match, bind_match_call, is_written_out
from cqc.compiler.bind.scope import bind_column
from cqc.compiler.bind.times.time_calls import as_extract, is_calendar, move_by_months, with_unit
from cqc.compiler.meaning.bound import (
    And,
    ArithmeticOp,
    Case,
    Cast,
    ComparisonOp,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Not,
    Or,
    Order,
)
from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression

_BOOLEAN = ColumnType.BOOLEAN
_STRING = ColumnType.STRING
_NULL = ColumnType.NULL

_COMPARISONS = {op.value: op for op in ComparisonOp}
_ARITHMETIC = {op.value: op for op in ArithmeticOp}

# From type to what it may be cast to. A duration is not a column's type, so it is cast to nothing.
_EVERYTHING = frozenset(
    (
        ColumnType.BIGINT,
        ColumnType.DOUBLE,
        ColumnType.STRING,
        ColumnType.BOOLEAN,
        ColumnType.TIMESTAMP,
        ColumnType.DATE,
    )
)
_CASTS = {
    ColumnType.BIGINT: _EVERYTHING - {ColumnType.DATE},
    ColumnType.DOUBLE: _EVERYTHING - {ColumnType.DATE},
    ColumnType.STRING: _EVERYTHING,
    ColumnType.BOOLEAN: _EVERYTHING - {ColumnType.TIMESTAMP, ColumnType.DATE},
    ColumnType.TIMESTAMP: _EVERYTHING - {_BOOLEAN},
    ColumnType.DATE: frozenset({ColumnType.DATE, ColumnType.TIMESTAMP, _STRING}),
    ColumnType.INTERVAL: frozenset[ColumnType](),
    _NULL: _EVERYTHING,
}


def can_cast(given: ColumnType, target: ColumnType) -> bool:
    """Whether values of a type can be cast to another, part by part where they have parts."""
    if given is target or given is _NULL:
        return target is not ColumnType.INTERVAL
    if isinstance(given, ArrayType) and isinstance(target, ArrayType):
        return can_cast(given.element, target.element)
    if isinstance(given, MapType) and isinstance(target, MapType):
        return can_cast(given.key, target.key) and can_cast(given.item, target.item)
    if isinstance(given, StructType) and isinstance(target, StructType):
        pairs = zip(given.fields, target.fields, strict=False)
        return len(given.fields) == len(target.fields) and all(
            can_cast(one, other) for (_, one), (_, other) in pairs
        )
    if target is _STRING:
        return given is not ColumnType.INTERVAL
    if given.is_nested or target.is_nested:
        return False
    if isinstance(given, DecimalType):
        return target.is_numeric or target is _BOOLEAN or target is ColumnType.TIMESTAMP
    if isinstance(target, DecimalType):
        return given in (
            ColumnType.BIGINT,
            ColumnType.DOUBLE,
            _STRING,
            _BOOLEAN,
            ColumnType.TIMESTAMP,
        )
    if target is ColumnType.BINARY:
        return given is _STRING
    if given is ColumnType.BINARY:
        return False
    return target in _CASTS[given]


def bind_expression(scope: Scope, node: syntax.Expression) -> Expression | None:
    """The bound form of an expression, or None when something in it is wrong (and reported)."""
    return _BINDERS[type(node)](scope, node)


def bind_condition(scope: Scope, node: syntax.Expression, place: str) -> Expression | None:
    """An expression that must be BOOLEAN."""
    bound = _BINDERS[type(node)](scope, node)
    return bound if bound is None or bound.type is _BOOLEAN else _condition(scope, bound, place)


def _condition(scope: Scope, bound: Expression, place: str) -> Expression | None:
    if bound.type is _NULL:
        return coerce(bound, _BOOLEAN)
    hint = "Compare it with something: `... > 0`." if bound.type.is_numeric else None
    if place == "WINDOW" and type(bound) is Literal and bound.type is ColumnType.INTERVAL:
        hint = f"Write `MAXWINDOW {bound.span.text}`."
    scope.report("CQ042", bound.span, place=place, type=bound.type.value, hint=hint)
    return None


def conjunction(operands: Iterable[Expression], span: Span) -> Expression:
    """AND of conditions, flattened; one condition is itself."""
    flat: list[Expression] = []
    for operand in operands:
        if type(operand) is And:
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    return flat[0] if len(flat) == 1 else And(tuple(flat), span)


def _number(scope: Scope, node: syntax.NumberLiteral) -> Expression | None:
    return bind_number(scope, node)


def _string(_scope: Scope, node: syntax.StringLiteral) -> Expression | None:
    return Literal(node.value, _STRING, node.span)


def _boolean(_scope: Scope, node: syntax.BooleanLiteral) -> Expression | None:
    return Literal(node.value, _BOOLEAN, node.span)


def _null(_scope: Scope, node: syntax.NullLiteral) -> Expression | None:
    return Literal(None, _NULL, node.span)


def _timestamp(scope: Scope, node: syntax.TimestampLiteral) -> Expression | None:
    return bind_timestamp(scope, node.text, node.span)


def _date(scope: Scope, node: syntax.DateLiteral) -> Expression | None:
    return bind_date(scope, node.text, node.span)


def _decimal(scope: Scope, node: syntax.DecimalLiteral) -> Expression | None:
    return bind_decimal(scope, node.text, node.span)


def _subscript(scope: Scope, node: syntax.Subscript) -> Expression | None:
    whole = bind_expression(scope, node.operand)
    index = bind_expression(scope, node.index)
    return None if whole is None or index is None else item_of(scope, whole, index, node.span)


def _field_of(scope: Scope, node: syntax.FieldOf) -> Expression | None:
    whole = bind_expression(scope, node.operand)
    return None if whole is None else fields_of(scope, whole, (node.name,))


def _stray_lambda(scope: Scope, node: syntax.Lambda) -> Expression | None:
    hint = "Write `exists(array, x -> x > 0)`."
    scope.report("CQ153", node.span, function="this function", hint=hint)
    return None


def _duration(scope: Scope, node: syntax.Duration) -> Expression | None:
    us = duration_us(scope, node)
    return None if us is None else Literal(us, ColumnType.INTERVAL, node.span)


def _now(scope: Scope, node: syntax.Now) -> Expression | None:
    hint = (
        "A push query sees each tuple once, as it comes: leave the condition out. `BEGIN NOW - 10 MINUTES END NOW` asks about the last ten "
        "minutes, and `WINDOW` compares the times of two streams."
    )
    scope.report("CQ057", node.span, hint=hint)
    return None


def _parenthesised(scope: Scope, node: syntax.Parenthesised) -> Expression | None:
    return _BINDERS[type(node.inner)](scope, node.inner)


def _unary(scope: Scope, node: syntax.Unary) -> Expression | None:
    if node.operator == "NOT":
        condition = bind_condition(scope, node.operand, "NOT")
        return None if condition is None else Not(condition, node.span)
    if node.operator == "-" and type(node.operand) is syntax.NumberLiteral:
        number = bind_number(scope, node.operand, "-")
        return None if number is None else Literal(number.value, number.type, node.span)
    if node.operator == "-" and type(node.operand) is syntax.Cast:
        cast = _cast_of_negative(scope, node.operand, node.span)
        if cast is not None:
            return cast
    operand = bind_expression(scope, node.operand)
    if operand is None:
        return None
    if node.operator == "~":
        return bind_operator(scope, "~", [operand], node.span)
    if operand.type in (_STRING, _BOOLEAN, ColumnType.TIMESTAMP, ColumnType.DATE):
        scope.report("CQ041", node.span, operator=node.operator, types=operand.type.value)
        return None
    return negate(operand, node.span) if node.operator == "-" else operand


def _cast_of_negative(scope: Scope, node: syntax.Cast, span: Span) -> Expression | None:
    """`-1::STRING` is the text of -1: a minus belongs to the number that it stands before."""
    if type(node.operand) is not syntax.NumberLiteral or span.text.rstrip().endswith(")"):
        return None
    number = bind_number(scope, node.operand, "-")
    if number is None or not can_cast(number.type, node.type):
        return None
    return number if number.type is node.type else Cast(number, node.type, span)


def _binary(scope: Scope, node: syntax.Binary) -> Expression | None:
    if node.operator in "+-" and (is_calendar(node.right) or is_calendar(node.left)):
        return _months_moved(scope, node)
    left = _BINDERS[type(node.left)](scope, node.left)
    right = _BINDERS[type(node.right)](scope, node.right)
    if left is None or right is None:
        return None
    op = _COMPARISONS.get(node.operator)
    if op is not None:
        return compare(scope, op, left, right, node.span)
    if node.operator == "<=>":
        pair = meet(scope, left, right, node.span)
        return None if pair is None else Not(IsDistinct(*pair, node.span), node.span)
    if node.operator not in _ARITHMETIC:
        return bind_operator(scope, node.operator, [left, right], node.span)
    return arithmetic(scope, _ARITHMETIC[node.operator], left, right, node.span)


def _months_moved(scope: Scope, node: syntax.Binary) -> Expression | None:
    """`time + INTERVAL '1' MONTH`, or the duration first."""
    time, months = node.left, node.right
    if not is_calendar(months) and node.operator == "+":
        time, months = months, time
    if not is_calendar(months):
        return bind_expression(scope, time)  # which says that months are no duration
    moved = bind_expression(scope, time)
    assert type(months) is syntax.Duration
    return None if moved is None else move_by_months(scope, node.operator, moved, months, node.span)


def _logical(scope: Scope, node: syntax.Logical) -> Expression | None:
    joined = And if node.operator == "AND" else Or
    operands: list[Expression] = []
    complete = True
    for operand in node.operands:
        bound = bind_condition(scope, operand, node.operator)
        if bound is None:
            complete = False
        elif type(bound) is joined:
            operands.extend(bound.operands)
        else:
            operands.append(bound)
    return joined(tuple(operands), node.span) if complete else None


def _between(scope: Scope, node: syntax.Between) -> Expression | None:
    operand = bind_expression(scope, node.operand)
    low = bind_expression(scope, node.low)
    high = bind_expression(scope, node.high)
    if operand is None or low is None or high is None:
        return None
    first = compare(scope, ComparisonOp.GE, operand, low, node.span)
    if first is None:
        return None  # the other bound is most likely wrong in the same way
    second = compare(scope, ComparisonOp.LE, operand, high, node.span)
    if second is None:
        return None
    both = And((first, second), node.span)
    return Not(both, node.span) if node.negated else both


def _in_list(scope: Scope, node: syntax.InList) -> Expression | None:
    operand = bind_expression(scope, node.operand)
    values: list[Expression] = []
    for value in node.values:
        bound = bind_expression(scope, value)
        if bound is not None and operand is not None and _differ(operand, bound):
            pair = meet(scope, operand, bound, value.span)
            bound = None if pair is None else pair[1]
            operand = operand if pair is None else pair[0]
        if bound is not None:
            values.append(bound)
    if operand is None or len(values) < len(node.values):
        return None
    # As in Spark, one DOUBLE makes the whole list DOUBLE.
    if any(value.type is ColumnType.DOUBLE for value in values):
        values = [coerce(value, ColumnType.DOUBLE) for value in values]
    found = InList(operand, tuple(values), node.span)
    return Not(found, node.span) if node.negated else found


def _differ(operand: Expression, value: Expression) -> bool:
    return value.type is not operand.type or value.type is _NULL


def _any_like(scope: Scope, node: syntax.Like) -> Expression | None:
    """`ANY COLUMN ILIKE '%text%'`: an OR over all STRING columns of the one FROM item."""
    relation = scope.relations[scope.own_items[0]] if len(scope.own_items) == 1 else None
    columns = [] if relation is None else relation.columns
    texts = [column for column in columns if column.type is _STRING]
    if not texts:
        _any_column(scope, node.operand)
        return None
    found: list[Expression] = []
    for column in texts:
        name = syntax.ColumnName(None, syntax.Name(column.name, node.span, True), node.operand.span)
        match = _like(scope, replace(node, operand=name, negated=False))
        if match is None:
            return None
        found.append(match)
    any_of = found[0] if len(found) == 1 else Or(tuple(found), node.span)
    return Not(any_of, node.span) if node.negated else any_of


def _any_column(scope: Scope, node: syntax.Expression) -> Expression | None:
    scope.report(
        "CQ169",
        node.span,
        detail="It stands before LIKE, ILIKE or RLIKE, in a query over one FROM item that has STRING columns.",
        hint="`ANY COLUMN ILIKE '%text%'`.",
    )
    return None


def _like(scope: Scope, node: syntax.Like) -> Expression | None:
    if type(node.operand) is syntax.AnyColumn:
        return _any_like(scope, node)
    operand = bind_expression(scope, node.operand)
    if is_written_out(node.pattern):
        return bind_match(scope, node, operand)
    return bind_match_call(scope, node, operand, bind_expression(scope, node.pattern))


def _is(scope: Scope, node: syntax.Is) -> Expression | None:
    bound: Expression
    if node.what == "NULL":
        operand = bind_expression(scope, node.operand)
        if operand is None:
            return None
        bound = IsNull(typed(operand, _BOOLEAN), node.span)
    else:
        operand = bind_condition(scope, node.operand, f"IS {node.what}")
        if operand is None:
            return None
        bound = IsTruth(operand, node.what == "TRUE", node.span)
    return Not(bound, node.span) if node.negated else bound


def _is_distinct(scope: Scope, node: syntax.IsDistinct) -> Expression | None:
    left = bind_expression(scope, node.left)
    right = bind_expression(scope, node.right)
    pair = None if left is None or right is None else meet(scope, left, right, node.span)
    if pair is None:
        return None
    distinct = IsDistinct(*pair, node.span)
    return Not(distinct, node.span) if node.negated else distinct


def _case(scope: Scope, node: syntax.Case) -> Expression | None:
    operand = None if node.operand is None else bind_expression(scope, node.operand)
    conditions: list[Expression | None] = []
    values: list[Expression | None] = []
    for when, then in node.branches:
        if node.operand is None:
            conditions.append(bind_condition(scope, when, "WHEN"))
        else:
            conditions.append(_equals(scope, operand, when))
        values.append(bind_expression(scope, then))
    if node.otherwise is None:
        values.append(Literal(None, _NULL, node.span))
    else:
        values.append(bind_expression(scope, node.otherwise))
    known = [value for value in values if value is not None]
    united = unite(scope, known, "CASE")
    tests = [condition for condition in conditions if condition is not None]
    if united is None or len(known) < len(values) or len(tests) < len(conditions):
        return None
    if united[1] is _NULL:
        return Literal(None, _NULL, node.span)
    *results, otherwise = united[0]
    return Case(tuple(zip(tests, results, strict=True)), otherwise, united[1], node.span)


def _equals(scope: Scope, operand: Expression | None, when: syntax.Expression) -> Expression | None:
    value = bind_expression(scope, when)
    if operand is None or value is None:
        return None
    return compare(scope, ComparisonOp.EQ, operand, value, when.span)


def _cast(scope: Scope, node: syntax.Cast) -> Expression | None:
    operand = bind_expression(scope, node.operand)
    if operand is None:
        return None
    wrong = wrong_type(node.type, declared=False)
    if wrong is not None:
        scope.report("CQ155", node.span, type=node.type.value, detail=wrong)
        return None
    if not can_cast(operand.type, node.type):
        scope.report("CQ049", node.span, type=operand.type.value, target=node.type.value)
        return None
    if operand.type is node.type:
        return operand
    if operand.type is _NULL:
        return coerce(operand, node.type)
    return Cast(operand, node.type, node.span, node.is_tried)


def _call(scope: Scope, node: syntax.Call) -> Expression | None:
    node = with_unit(as_extract(node))
    if node.joined == "FROM":
        return _extract(scope, node)
    for argument in node.arguments:
        if type(argument) is syntax.Lambda:
            return bind_higher_order(scope, node, argument, bind_expression)
    if not is_aggregate(scope, node) and (
        node.where is not None or node.within or node.ignores_nulls
    ):
        scope.report("CQ065", node.span, function=node.name.text, what="what follows its call")
        return None
    if not is_aggregate(scope, node):
        return bind_call(scope, node, [bind_expression(scope, a) for a in node.arguments])
    name = node.name.text.upper()
    allowed = _aggregate_allowed(scope, node)
    outer, scope.inside_aggregate = scope.inside_aggregate, name
    arguments = [bind_expression(scope, argument) for argument in node.arguments]
    where = None if node.where is None else bind_condition(scope, node.where, "FILTER")
    within = [_within(scope, item) for item in node.within]
    scope.inside_aggregate = outer
    if not allowed or (node.where is not None and where is None):
        return None
    orders = tuple(order for order in within if order is not None)
    return (
        bind_aggregate(scope, node, arguments, where, orders)
        if len(orders) == len(within)
        else None
    )


def _within(scope: Scope, item: syntax.OrderItem) -> Order | None:
    expression = bind_expression(scope, item.expression)
    nulls_first = not item.descending if item.nulls_first is None else item.nulls_first
    return None if expression is None else Order(expression, item.descending, nulls_first)


def _extract(scope: Scope, node: syntax.Call) -> Expression | None:
    """`extract(YEAR FROM t)`: the function of the field's name."""
    field, source = node.arguments
    value = bind_expression(scope, source)
    if value is None:
        return None
    assert isinstance(field, syntax.ColumnName)
    return bind_extract(scope, node, field.column, value)


def _aggregate_allowed(scope: Scope, node: syntax.Call) -> bool:
    if scope.inside_aggregate is not None:
        scope.report("CQ062", node.span, outer=scope.inside_aggregate)
        return False
    if scope.aggregate_forbidden is not None:
        hint = "Write it in HAVING." if scope.aggregate_forbidden in ("WHERE", "ON") else None
        scope.report("CQ063", node.span, clause=scope.aggregate_forbidden, hint=hint)
        return False
    if scope.first_aggregate is None:
        scope.first_aggregate = node.span
    return True


def _over(scope: Scope, node: syntax.Over) -> Expression | None:
    if not may_stand_here(scope, node.span):
        return None
    scope.inside_over = True
    arguments = [bind_expression(scope, argument) for argument in node.call.arguments]
    partition = [bind_expression(scope, key) for key in node.partition]
    keys = [(bind_expression(scope, key.expression), key) for key in node.order_by]
    call = node.call
    where = None if call.where is None else bind_condition(scope, call.where, "FILTER")
    within = [_within(scope, item) for item in call.within]
    scope.inside_over = False
    inner = tuple(order for order in within if order is not None)
    if (call.where is not None and where is None) or len(inner) < len(within):
        return None
    known = [typed(key, _BOOLEAN) for key in partition if key is not None]
    orders = [
        Order(
            typed(key, _BOOLEAN),
            written.descending,
            not written.descending if written.nulls_first is None else written.nulls_first,
        )
        for key, written in keys
        if key is not None
    ]
    if len(known) < len(partition) or len(orders) < len(keys):
        return None
    return bind_over(scope, node, arguments, known, orders, where, inner)


def _misplaced(scope: Scope, node: syntax.Exists | syntax.InSelect) -> Expression | None:
    """EXISTS and IN (SELECT ..) that stand elsewhere than among the conjuncts of WHERE."""
    what = "IN (SELECT ...)" if isinstance(node, syntax.InSelect) else "EXISTS"
    if isinstance(node, syntax.Exists) and node.word.text.upper() != "EXISTS":
        hint = "Write `EXISTS (SELECT ...)`, or `x IN (SELECT ...)`."
        scope.report("CQ018", node.word.span, what=f"{node.word.text} of a query", hint=hint)
        return None
    scope.report(
        "CQ080",
        node.span,
        what=what,
        detail="Whether something is there is decided for whole rows.",
        hint="Join it to the rest of WHERE with AND; instead of OR write two queries.",
    )
    return None


def _parameter(scope: Scope, node: syntax.Parameter) -> Expression | None:
    """A parameter where none is given a value, such as in the declaration of a stream."""
    scope.report("CQ163", node.span, name=node.name)
    return None


_BINDERS: dict[type, Callable[[Scope, Any], Expression | None]] = {
    syntax.NumberLiteral: _number,
    syntax.StringLiteral: _string,
    syntax.BooleanLiteral: _boolean,
    syntax.NullLiteral: _null,
    syntax.TimestampLiteral: _timestamp,
    syntax.DateLiteral: _date,
    syntax.DecimalLiteral: _decimal,
    syntax.Subscript: _subscript,
    syntax.FieldOf: _field_of,
    syntax.Lambda: _stray_lambda,
    syntax.Duration: _duration,
    syntax.Parameter: _parameter,
    syntax.AnyColumn: _any_column,
    syntax.Now: _now,
    syntax.ColumnName: bind_column,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Logical: _logical,
    syntax.Between: _between,
    syntax.InList: _in_list,
    syntax.Like: _like,
    syntax.Is: _is,
    syntax.IsDistinct: _is_distinct,
    syntax.Case: _case,
    syntax.Cast: _cast,
    syntax.Call: _call,
    syntax.Over: _over,
    syntax.Parenthesised: _parenthesised,
    syntax.Exists: _misplaced,
    syntax.InSelect: _misplaced,
}
