"""UNNEST in FROM: the item before it becomes a view with a row for each element.

`FROM s, UNNEST(s.items) AS i` reads one view: all columns of s, and after them the element (named like the alias, or by the list after it)
and with WITH ORDINALITY its number from 1. Both aliases lead to that one item. So an element is filtered, joined and grouped like any column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_expression
from cqc.compiler.meaning.bound import ColumnRef, Item, Output, Query, children
from cqc.compiler.meaning.catalog import Column, Relation, fold, with_fields
from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType, struct_of
from cqc.compiler.meaning.views import Unnest, View
from cqc.compiler.rewrites.mentioned_items import substitute
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression


def without_unnests(node: syntax.Select) -> syntax.Select:
    """The query without the items of UNNEST, which are bound with the item before them."""
    if all(item.unnest is None for item in node.items):
        return node
    kept = tuple(item for item in node.items if item.unnest is None)
    pairs = zip(node.items[1:], node.joins, strict=False)
    joins = tuple(join for item, join in pairs if item.unnest is None)
    if all(join.kind == "," for join in joins):
        joins = ()
    return replace(node, items=kept, joins=joins)


def bind_unnest(
    scope: Scope, node: syntax.FromItem, join: syntax.Join | None, items: list[Item]
) -> None:
    """Turn the item that UNNEST speaks of into a view with a row for each element."""
    assert node.unnest is not None
    outer = join is not None and join.kind == "LEFT"
    if join is not None and join.kind not in (",", "LEFT", "INNER", "CROSS"):
        _refuse(scope, node.span, f"{join.kind} JOIN UNNEST would keep elements without a row.")
        return
    if outer and not _is_true(join):
        _refuse(scope, node.span, "The condition of LEFT JOIN UNNEST is ON TRUE.")
        return
    operand = bind_expression(scope, node.unnest.operand)
    if operand is None:
        scope.has_unknown = True
        return
    element = _element(operand.type)
    if element is None:
        detail = f"It is {operand.type.value}, and not an ARRAY or MAP."
        _refuse(scope, node.unnest.operand.span, detail)
        return
    mentioned = {each.item for each in _columns_in(operand)}
    at = next(iter(mentioned), -1)
    place = next((p for p, i in enumerate(items) if scope.by_alias.get(fold(i.alias)) == at), None)
    if len(mentioned) != 1 or place is None or items[place].window is not None:
        _refuse(scope, node.span, "It takes an array of one stream, table or view before it.")
        return
    names = _names(scope, node)
    if names is None:
        return
    item = items[place]
    relation = _unnested(scope, item, at, operand, element, names, outer=outer)
    items[place] = replace(item, relation=relation)
    scope.relations[at] = relation
    _name_columns(scope, at, relation, node, len(names))


def _is_true(join: syntax.Join | None) -> bool:
    condition = None if join is None else join.condition
    while isinstance(condition, syntax.Parenthesised):
        condition = condition.inner
    return isinstance(condition, syntax.BooleanLiteral) and condition.value


def _element(type_: ColumnType) -> ColumnType | None:
    if isinstance(type_, ArrayType):
        return type_.element
    if isinstance(type_, MapType):
        return struct_of([("key", type_.key), ("value", type_.item)])
    return None


def _columns_in(expression: Expression) -> list[ColumnRef]:
    if isinstance(expression, ColumnRef):
        return [expression]
    return [each for child in children(expression) for each in _columns_in(child)]


def _names(scope: Scope, node: syntax.FromItem) -> list[str] | None:
    """The names of the element and of its number."""
    assert node.unnest is not None
    alias = "unnest" if node.alias is None else node.alias.text
    usual = [alias, "ordinality"] if node.unnest.ordinality else [alias]
    given = [name.text for name in node.unnest.names]
    if len(given) > len(usual):
        detail = f"There are names for {len(given)} columns, and it has {len(usual)}."
        _refuse(scope, node.span, detail)
        return None
    return given + usual[len(given) :]


def _unnested(
    scope: Scope,
    item: Item,
    at: int,
    operand: Expression,
    element: ColumnType,
    names: list[str],
    *,
    outer: bool,
) -> Relation:
    own = item.relation
    inner = replace(item, range_us=None, rows=None)
    outputs = [
        Output(column.name, ColumnRef(0, number, column.type, item.span))
        for number, column in enumerate(own.columns)
        if column.inside is None
    ]
    array = substitute(operand, lambda each: replace(each, item=0) if each.item == at else each)
    query = Query(
        "", (inner,), (*outputs, Output(names[0], array)), None, None, None, None, item.span
    )
    types = (element, ColumnType.BIGINT)
    added = tuple(Column(name, type_) for name, type_ in zip(names, types, strict=False))
    declared = tuple(replace(column, path=None) for column in own.declared)
    numeric = None if own.event_time is None else own.time_type is not ColumnType.TIMESTAMP
    view = View(
        (query,), False, own.is_windowed, None, numeric, Unnest(len(outputs), outer, len(names) > 1)
    )
    columns = with_fields((*declared, *added))
    return Relation(own.name, columns, own.event_time, 0, {}, ".", own.span, view)


def _name_columns(
    scope: Scope, at: int, relation: Relation, node: syntax.FromItem, count: int
) -> None:
    """The item's columns by name; those of UNNEST also by its alias."""
    declared = relation.declared
    before = len(declared) - count
    columns = {fold(c.name): (place, c.type) for place, c in enumerate(relation.columns)}
    taken = {fold(column.name) for column in declared[:before]}
    added = {
        fold(column.name): (before + number, column.type)
        for number, column in enumerate(declared[before:])
    }
    for number, column in enumerate(declared[:before]):  # the row's own columns come first
        columns[fold(column.name)] = (number, column.type)
    scope.columns[at] = columns
    alias = None if node.alias is None else fold(node.alias.text)
    if alias is not None and alias not in scope.by_alias:
        scope.by_alias[alias] = at
        scope.element_columns[alias] = (at, added)
    elif alias is not None:
        hint = f"Give it another name: `UNNEST(...) AS {node.alias.text}2`." if node.alias else None
        scope.report("CQ033", node.span, alias=node.alias.text if node.alias else "", hint=hint)
    del taken


def _refuse(scope: Scope, span: Span, detail: str) -> None:
    hint = "Write `FROM s, UNNEST(s.items) AS i`, or `LEFT JOIN UNNEST(s.items) AS i ON TRUE`."
    scope.report("CQ156", span, detail=detail, hint=hint)
    scope.has_unknown = True
