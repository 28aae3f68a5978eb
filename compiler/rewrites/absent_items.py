"""Expressions in which some items are NULL: their columns become NULL of the same type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import INSTANT, ColumnRef, Expression, FunctionCall, Literal
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of
from cqc.compiler.rewrites.rebuild import rebuilt

if TYPE_CHECKING:
    from collections.abc import Container


def without_items(expression: Expression, present: Container[int]) -> Expression:
    """The expression with NULL for the columns of all items but those present; the same object where nothing changes."""
    if all(item in present for item in items_of(item_mask(expression))):
        return expression
    is_instant = isinstance(expression, FunctionCall) and expression.name == INSTANT
    if is_instant or isinstance(expression, ColumnRef):
        return Literal(None, expression.type, expression.span)
    return rebuilt(expression, lambda each: without_items(each, present))
