"""The SELECT list: what is given out, and under which names.

A plain column keeps its bare name, or becomes `alias.column` where another output would have that name. Any other
expression without AS is named by its source text, white space and comments folded to one space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_expression
from cqc.compiler.bind.operators import coerce
from cqc.compiler.bind.scope import report_unknown_alias
from cqc.compiler.meaning.bound import Cast, ColumnRef, Output
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType, StructType
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.catalog import Relation

# Texts and quoted names stay as they are; a run of white space and comments becomes one space.


class BoundOutput:
    """An output on its way to a name; `column` is the plain column that it is, which has a longer name too."""

    __slots__ = ("column", "expression", "name", "span")

    def __init__(
        self, name: str, expression: Expression | None, span: Span, column: ColumnRef | None = None
    ) -> None:
        self.name = name
        self.expression = expression
        self.span = span
        self.column = column


def bind_outputs(
    scope: Scope, nodes: tuple[syntax.SelectItem | syntax.Star, ...]
) -> tuple[Output, ...] | None:
    """The outputs with their final names, or None when something in them is wrong.

    Whatever could be named is left in `scope.outputs` for HAVING and ORDER BY.
    """
    found = len(scope.diagnostics)
    outputs: list[BoundOutput] = []
    for node in nodes:
        if isinstance(node, syntax.Star):
            outputs.extend(_star(scope, node))
        else:
            outputs.append(_item(scope, node))
    _settle_names(scope, outputs)
    scope.outputs = {fold(output.name): output.expression for output in outputs}
    bound = [Output(o.name, o.expression) for o in outputs if o.expression is not None]
    complete = len(bound) == len(outputs) and len(scope.diagnostics) == found
    return tuple(bound) if complete else None


def _item(scope: Scope, node: syntax.SelectItem) -> BoundOutput:
    expression = bind_expression(scope, node.expression)
    if expression is not None and expression.type in _NO_COLUMN_TYPE:
        expression = _as_column_type(expression)
    if node.name is not None:
        return BoundOutput(node.name.text, expression, node.name.span)
    column = syntax.plain_column(node)
    if column is not None:
        return _plain_column(scope, column, expression, node.span)
    return BoundOutput(source_name(node.expression.span.text), expression, node.span)


_NO_COLUMN_TYPE = (ColumnType.NULL, ColumnType.INTERVAL)


def _as_column_type(expression: Expression) -> Expression:
    """Every output has a column's type: a bare NULL is a STRING, a duration a number of seconds."""
    if expression.type is ColumnType.NULL:
        return coerce(expression, ColumnType.STRING)
    return Cast(expression, ColumnType.DOUBLE, expression.span)


def _plain_column(
    scope: Scope, node: syntax.ColumnName, expression: Expression | None, span: Span
) -> BoundOutput:
    last = node.fields[-1] if node.fields else node.column
    if not isinstance(expression, ColumnRef):
        return BoundOutput(last.text, expression, span)
    relation = scope.relations[expression.item]
    name = last.text if relation is None else _shown_name(relation, expression)
    return BoundOutput(name, expression, span, expression)


def _shown_name(relation: Relation, reference: ColumnRef) -> str:
    """The name of a column; of a field its own."""
    column = relation.columns[reference.column]
    if column.inside is None:
        return column.name
    whole = relation.columns[column.inside[0]].type
    assert isinstance(whole, StructType)
    return whole.fields[column.inside[1]][0]


def _star(scope: Scope, node: syntax.Star) -> Iterator[BoundOutput]:
    """`*` over one item gives bare names, over several `alias.column`; `a.*` the same for one of them."""
    if node.qualifier is None:
        items = scope.own_items
    else:
        item = scope.by_alias.get(fold(node.qualifier.text))
        if item is None:
            report_unknown_alias(scope, node.qualifier)
            return
        items = range(item, item + 1)
    several = len(scope.own_items) > 1 or bool(scope.element_columns)
    named = None if node.qualifier is None else fold(node.qualifier.text)
    for at in items:
        relation = scope.relations[at]
        elements = _elements(scope, at)
        for position, column in enumerate(relation.columns if relation is not None else ()):
            alias = elements.get(position, scope.aliases[at])
            if column.inside is not None or (named is not None and fold(alias) != named):
                continue
            name = f"{alias}.{column.name}" if several else column.name
            yield BoundOutput(name, ColumnRef(at, position, column.type, node.span), node.span)


def _elements(scope: Scope, item: int) -> dict[int, str]:
    """The columns of an item that come from UNNEST, with its alias."""
    return {
        position: alias
        for alias, (at, columns) in scope.element_columns.items()
        if at == item
        for position, _ in columns.values()
    }


def _settle_names(scope: Scope, outputs: list[BoundOutput]) -> None:
    """Give plain columns their longer names where needed, and report names that still occur twice."""
    if len(outputs) == 1:
        return
    taken: dict[str, int] = {}
    for output in outputs:
        folded = fold(output.name)
        taken[folded] = taken.get(folded, 0) + 1
    if len(taken) == len(outputs):
        return
    for output in outputs:
        if output.column is not None and taken[fold(output.name)] > 1:
            output.name = scope.show(output.column)
    _report_same_names(scope, outputs)


def _report_same_names(scope: Scope, outputs: list[BoundOutput]) -> None:
    seen: set[str] = set()
    reported: Span | None = None
    for output in outputs:
        folded = fold(output.name)
        # Where the expression is unknown so may be its name; and a `*` too many is one mistake.
        if folded in seen and output.expression is not None and output.span != reported:
            hint = "Give one of them another name with AS."
            scope.report("CQ037", output.span, name=output.name, hint=hint)
            reported = output.span
        seen.add(folded)
