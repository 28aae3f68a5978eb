"""Equalities between an expression of a stream and a column of another item become equalities of columns, which an index answers.

    FROM bid b, side s WHERE b.auction % 10000 = s.key
    FROM (SELECT *, auction % 10000 AS key FROM bid) b, side s WHERE b.key = s.key

The view in the place of the stream adds a column that nobody sees. Queries with the same expression read the same view.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import And, Cast, ColumnRef, Comparison, ComparisonOp, Output, Query
from cqc.compiler.meaning.catalog import Column
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.views import View
from cqc.compiler.rewrites.join_conditions import equi_join, theta_join
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of, renumber
from cqc.compiler.rewrites.window_conditions import window_condition

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression, Item

_HASHED = (ColumnType.BIGINT, ColumnType.STRING, ColumnType.TIMESTAMP, ColumnType.DATE)


def computed_keys(query: Query) -> Query:
    """The query with added columns where they make an equality that an index can answer. Push queries only."""
    if query.pull is not None or len(query.items) < 2 or query.where is None:
        return query
    parts = list(query.where.operands) if isinstance(query.where, And) else [query.where]
    joined = {
        frozenset((found.left_item, found.right_item))
        for part in parts
        if isinstance(part, Comparison) and (found := equi_join(part)) is not None
    }
    items = list(query.items)
    for at, part in enumerate(parts):
        sides = _sides(part, items)
        if sides is None:
            continue
        expression, column = sides
        (item,) = items_of(item_mask(expression))
        if frozenset((item, column.item)) in joined:
            continue
        items[item], key = _with_column(items[item], item, expression)
        assert isinstance(part, Comparison)
        parts[at] = Comparison(key, ComparisonOp.EQ, column, part.span)
        joined.add(frozenset((item, column.item)))
    if items == list(query.items):
        return query
    where = parts[0] if len(parts) == 1 else And(tuple(parts), query.where.span)
    return replace(query, items=tuple(items), where=where)


def _sides(part: Expression, items: list[Item]) -> tuple[Expression, ColumnRef] | None:
    """An expression of one stream, and the column of another item that it equals."""
    if not isinstance(part, Comparison) or part.op is not ComparisonOp.EQ:
        return None
    if equi_join(part) is not None or theta_join(part) is not None:
        return None
    if window_condition(part, items) is not None:
        return None
    for expression, column in ((part.left, part.right), (part.right, part.left)):
        mask = item_mask(expression)
        one_item = mask and mask & (mask - 1) == 0
        if not isinstance(column, ColumnRef) or not one_item or mask == 1 << column.item:
            continue
        (item,) = items_of(mask)
        relation = items[item].relation
        plain = relation.view is None and items[item].rows is None and items[item].window is None
        fits = expression.type is column.type and column.type in _HASHED
        if relation.is_stream and plain and fits and not isinstance(expression, Cast):
            return expression, column
    return None


def _with_column(item: Item, at: int, expression: Expression) -> tuple[Item, ColumnRef]:
    """An item over a view that adds a column to its stream."""
    relation = item.relation
    positions = [0] * (at + 1)
    inner = renumber(expression, positions)
    outputs = [
        Output(column.name, ColumnRef(0, number, column.type, item.span))
        for number, column in enumerate(relation.columns)
    ]
    added = Column("@key", expression.type)
    made = Query(
        relation.name,
        (replace(item, range_us=None),),
        (*outputs, Output(added.name, inner)),
        None,
        None,
        None,
        None,
        item.span,
    )
    numeric = relation.time_type is not ColumnType.TIMESTAMP
    view = View((made,), False, False, None, numeric)
    wide = replace(
        relation,
        columns=(*relation.columns, added),
        delay_us=0,
        options={},
        view=view,
        made_by=None,
    )
    key = ColumnRef(at, len(relation.columns), expression.type, expression.span)
    return replace(item, relation=wide), key
