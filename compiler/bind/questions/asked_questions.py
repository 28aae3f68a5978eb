"""EXISTS and IN in a query with BEGIN-END, over groups and the like: a query in FROM has these rows, and the question is about it.

    EXISTS (SELECT 1 FROM d WHERE d.room = s.room AND d.open GROUP BY d.door HAVING COUNT(*) > 1)
    EXISTS (SELECT 1 FROM (SELECT d.room AS "key 0" FROM d WHERE d.open GROUP BY d.door, d.room HAVING COUNT(*) > 1) AS "rows"
            WHERE "rows"."key 0" = s.room)

Equalities with the query around become groups of their own. An aggregate without GROUP BY has a row where there is nothing, which
then is lost: here it is taken only where that row would not count (`over_nothing` has the others).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING

from cqc.compiler.functions.registered import user_functions
from cqc.compiler.functions.registry import AGGREGATE_FUNCTIONS
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.bind.scope import Scope

_ROWS = "rows"
_KEY = "key {}"
_VALUE = "value"
_NULL_OF_NOTHING = ("sum", "avg", "min", "max")
_FALSE_OF_ZERO = {
    "=": lambda value: value != 0,
    "<>": lambda value: value == 0,
    "<": lambda value: value <= 0,
    "<=": lambda value: value < 0,
    ">": lambda value: value >= 0,
    ">=": lambda value: value > 0,
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def over_rows(
    scope: Scope, node: syntax.Select, *, is_in: bool, negated: bool
) -> syntax.Select | None:
    """The query inside EXISTS or IN over a query in FROM, where it has clauses that need one; None after saying what is wrong."""
    aggregates = has_aggregates(node)
    grouped = bool(node.group_by or node.having or aggregates)
    limited = node.limit is not None and (is_in or _is_zero(node.limit))
    if not (grouped or limited or node.union or node.entries):
        # One row is enough, in whatever order, and equal ones are one.
        return replace(node, distinct=False, order_by=(), limit=None)
    if node.union or node.entries:
        # Equal rows are one for EXISTS and IN, and with DISTINCT the branches are asked about the window around.
        return _reading(node, replace(node, distinct=True), [], is_in=is_in)
    inner, outer = _parted(scope, node)
    if outer and limited:
        hint = "Leave it out, or leave out what it compares with the query around."
        assert node.limit is not None
        scope.report("CQ084", node.limit.span, clause="LIMIT", hint=hint)
        return None
    pairs = []
    for conjunct in outer:
        pair = _pair(scope, node, conjunct)
        if pair is None:
            hint = "Only equalities with the query around go with GROUP BY and aggregates inside."
            scope.report("CQ084", conjunct.span, clause="this comparison", hint=hint)
            return None
        pairs.append(pair)
    if grouped and pairs and not node.group_by and not nothing_is_nothing(node, is_in, negated):
        hint = "Add GROUP BY: it is not known what it is where nothing is found."
        scope.report("CQ084", node.span, clause="an aggregate without GROUP BY", hint=hint)
        return None
    keys = tuple(own for own, _ in pairs)
    made = replace(
        node,
        where=_conjunction(inner, node),
        group_by=(*node.group_by, *keys) if grouped else (),
        order_by=node.order_by if limited else (),
        limit=node.limit if limited else None,
    )
    return _reading(node, made, pairs, is_in=is_in)


def _reading(
    node: syntax.Select,
    made: syntax.Select,
    pairs: Sequence[tuple[syntax.Expression, syntax.Expression]],
    *,
    is_in: bool,
) -> syntax.Select:
    """A query over the rows of another, which has the keys that are compared beside what it selects."""
    span = node.span
    first = made.outputs[0]
    shown: list[syntax.SelectItem | syntax.Star] = []
    if is_in and isinstance(first, syntax.SelectItem):
        shown = [replace(first, name=syntax.Name(_VALUE, span, True)), *made.outputs[1:]]
    elif is_in or made.union:
        shown = list(made.outputs)
    shown += [
        syntax.SelectItem(own, syntax.Name(_KEY.format(at), span, True), own.span)
        for at, (own, _) in enumerate(pairs)
    ]
    if not shown:
        shown = [syntax.SelectItem(syntax.NumberLiteral("1", span), None, span)]
    inner = replace(made, outputs=tuple(shown))
    rows = syntax.Name(_ROWS, span, True)
    compared = [
        syntax.Binary("=", _column(_KEY.format(at), node), other, other.span)
        for at, (_, other) in enumerate(pairs)
    ]
    one = syntax.SelectItem(syntax.NumberLiteral("1", span), None, span)
    outputs: tuple[syntax.SelectItem | syntax.Star, ...] = (one,)
    if is_in and isinstance(first, syntax.SelectItem):
        outputs = (syntax.SelectItem(_column(_VALUE, node), None, span), *node.outputs[1:])
    elif is_in:
        outputs = (syntax.Star(None, span),)
    return replace(
        node,
        distinct=False,
        outputs=outputs,
        items=(syntax.FromItem(rows, rows, None, None, span, inner),),
        join_conditions=(),
        joins=(),
        where=_conjunction(compared, node),
        window=None,
        max_window=None,
        group_by=(),
        having=None,
        order_by=(),
        limit=None,
        entries=(),
        union=(),
        qualify=None,
        unbounded=False,
    )


def _column(name: str, node: syntax.Select) -> syntax.ColumnName:
    span = node.span
    return syntax.ColumnName(syntax.Name(_ROWS, span, True), syntax.Name(name, span, True), span)


def _conjunction(
    conjuncts: Sequence[syntax.Expression], node: syntax.Select
) -> syntax.Expression | None:
    if not conjuncts:
        return None
    return (
        conjuncts[0] if len(conjuncts) == 1 else syntax.Logical("AND", tuple(conjuncts), node.span)
    )


# What speaks of the query around


def correlated(
    scope: Scope, node: syntax.Select
) -> tuple[syntax.Expression | None, list[tuple[syntax.Expression, syntax.Expression]]] | None:
    """The conditions on a query's own items, and its equalities with the query around; None where others speak of that."""
    inner, outer = _parted(scope, node)
    pairs = [_pair(scope, node, conjunct) for conjunct in outer]
    known = [pair for pair in pairs if pair is not None]
    return (_conjunction(inner, node), known) if len(known) == len(pairs) else None


def _parted(
    scope: Scope, node: syntax.Select
) -> tuple[list[syntax.Expression], list[syntax.Expression]]:
    """The conjuncts of WHERE that are about the query's own items, and those that speak of others."""
    parts: tuple[list[syntax.Expression], list[syntax.Expression]] = ([], [])
    for conjunct in () if node.where is None else conjuncts_of(node.where):
        parts[_speaks_of_others(scope, node, conjunct)].append(conjunct)
    return parts


def conjuncts_of(node: syntax.Expression) -> Iterator[syntax.Expression]:
    """What AND connects, parentheses aside."""
    inner = node
    while isinstance(inner, syntax.Parenthesised):
        inner = inner.inner
    if isinstance(inner, syntax.Logical) and inner.operator == "AND":
        for operand in inner.operands:
            yield from conjuncts_of(operand)
    else:
        yield node


def _pair(
    scope: Scope, node: syntax.Select, conjunct: syntax.Expression
) -> tuple[syntax.Expression, syntax.Expression] | None:
    """The two sides of an equality, the query's own first."""
    while isinstance(conjunct, syntax.Parenthesised):
        conjunct = conjunct.inner
    if not isinstance(conjunct, syntax.Binary) or conjunct.operator != "=":
        return None
    left, right = conjunct.left, conjunct.right
    if _speaks_of_others(scope, node, left):
        left, right = right, left
    if _speaks_of_others(scope, node, left) or not _is_all_others(scope, node, right):
        return None
    return left, right


def _speaks_of_others(scope: Scope, node: syntax.Select, part: object) -> bool:
    return any(not _is_own(scope, node, column) for column in _names(part))


def _is_all_others(scope: Scope, node: syntax.Select, part: object) -> bool:
    return all(not _is_own(scope, node, column) for column in _names(part))


def _is_own(scope: Scope, node: syntax.Select, column: syntax.ColumnName) -> bool:
    own = {fold((item.alias or item.relation).text): item for item in node.items}
    if column.qualifier is not None:
        return fold(column.qualifier.text) in own
    for item in node.items:
        relation = scope.environment.relations.get(fold(item.relation.text))
        if relation is None or item.query is not None or item.function is not None:
            return True
        if fold(column.column.text) in scope.environment.columns(relation):
            return True
    return False


def _names(part: object) -> Iterator[syntax.ColumnName]:
    """The columns that a part of a query names; those of queries inside it too."""
    if isinstance(part, syntax.ColumnName):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _names(each)
    elif is_dataclass(part) and not isinstance(part, syntax.Name):
        for each in fields(part):
            if each.name != "span":
                yield from _names(getattr(part, each.name))


# Aggregates


def has_aggregates(node: syntax.Select) -> bool:
    shown = [item.expression for item in node.outputs if isinstance(item, syntax.SelectItem)]
    registered = {each.name for each in user_functions().values() if each.is_aggregate}
    names = AGGREGATE_FUNCTIONS.keys() | registered
    return any(fold(call.name.text) in names for each in shown for call in _calls(each))


def _calls(part: object) -> Iterator[syntax.Call]:
    if isinstance(part, syntax.Call):
        yield part
    if isinstance(part, tuple):
        for each in part:
            yield from _calls(each)
    elif is_dataclass(part) and not isinstance(part, syntax.Name | syntax.Select | syntax.Over):
        for each in fields(part):
            if each.name != "span":
                yield from _calls(getattr(part, each.name))


def nothing_is_nothing(node: syntax.Select, is_in: bool, negated: bool) -> bool:
    """Whether the row of an aggregate over nothing would not count."""
    having = () if node.having is None else conjuncts_of(node.having)
    if any(_is_false_of_nothing(each) for each in having):
        return True
    if not is_in or negated:
        return False
    first = node.outputs[0]
    return isinstance(first, syntax.SelectItem) and _is_null_of_nothing(first.expression)


def _is_null_of_nothing(expression: syntax.Expression) -> bool:
    while isinstance(expression, syntax.Parenthesised):
        expression = expression.inner
    return isinstance(expression, syntax.Call) and fold(expression.name.text) in _NULL_OF_NOTHING


def _is_false_of_nothing(condition: syntax.Expression) -> bool:
    while isinstance(condition, syntax.Parenthesised):
        condition = condition.inner
    if not isinstance(condition, syntax.Binary) or condition.operator not in _FALSE_OF_ZERO:
        return False
    left, operator, right = condition.left, condition.operator, condition.right
    if isinstance(left, syntax.NumberLiteral):
        left, operator, right = right, _FLIPPED.get(operator, operator), left
    if _is_null_of_nothing(left):
        return True
    is_count = isinstance(left, syntax.Call) and fold(left.name.text) == "count"
    if not is_count or not isinstance(right, syntax.NumberLiteral):
        return False
    return bool(_FALSE_OF_ZERO[operator](float(right.text)))


def _is_zero(limit: syntax.NumberLiteral) -> bool:
    return float(limit.text) == 0
