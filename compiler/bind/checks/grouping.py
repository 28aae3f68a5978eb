"""What a query with groups may show: grouped expressions, aggregates, and what is made of them.

The same rule, with the selected values in place of the grouped ones, says what ORDER BY may use next to DISTINCT.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import Aggregate, ColumnRef, children
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.bound import Expression


def sets_of(
    item: syntax.Expression | syntax.GroupingSets,
) -> list[tuple[syntax.Expression, ...]]:
    """The grouping sets that an item of GROUP BY stands for: one of itself, or those of ROLLUP, CUBE and GROUPING SETS."""
    if isinstance(item, syntax.GroupingSets):
        return list(item.sets)
    word = fold(item.name.text) if isinstance(item, syntax.Call) else ""
    if isinstance(item, syntax.Call) and word == "rollup":
        return [item.arguments[:size] for size in range(len(item.arguments), -1, -1)]
    if isinstance(item, syntax.Call) and word == "cube":
        sizes = range(len(item.arguments), -1, -1)
        return [each for size in sizes for each in combinations(item.arguments, size)]
    return [(item,)]


def _loose_columns(expression: Expression, grouped: frozenset[Expression]) -> Iterator[ColumnRef]:
    """The columns of an expression that are neither part of a grouped expression nor of an aggregate."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if type(part) is Aggregate or part in grouped:
            continue
        if type(part) is ColumnRef:
            yield part
        else:
            waiting.extend(reversed(children(part)))


def check_grouped(
    scope: Scope, expressions: Iterable[Expression], grouped: frozenset[Expression]
) -> None:
    """Report each column that has no one value in a group.

    Once for a place: `*` stands for many columns, and ORDER BY may name an output again.
    """
    reported: set[int] = set()
    for expression in expressions:
        for column in _loose_columns(expression, grouped):
            if column.span.start not in reported:
                reported.add(column.span.start)
                _report_ungrouped(scope, column, grouped)


def _report_ungrouped(scope: Scope, column: ColumnRef, grouped: frozenset[Expression]) -> None:
    name = scope.show(column)
    how = f"Add `{name}` to GROUP BY" if grouped else f"Add `GROUP BY {name}`"
    scope.report("CQ064", column.span, column=name, hint=f"{how}, or write `MAX({name})`.")


def check_selected(
    scope: Scope, keys: Iterable[Expression], selected: frozenset[Expression]
) -> None:
    """Report each ORDER BY key of a DISTINCT query that is not made of selected values."""
    for key in keys:
        if not _made_of(key, selected):
            scope.report("CQ067", key.span, hint="Select it too, or leave out DISTINCT.")


def _made_of(expression: Expression, selected: frozenset[Expression]) -> bool:
    if expression in selected:
        return True
    if isinstance(expression, ColumnRef | Aggregate):
        return False
    return all(_made_of(part, selected) for part in children(expression))
