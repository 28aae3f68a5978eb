"""The WINDOW clause: conditions between event times, and nothing else.

Each conjunct is bound and checked by itself, so that one that belongs in WHERE does not hide a mistake in the next. Nor does
a mistake in its types hide that it belongs there: `A.x - B.x <= 4 SECONDS` has both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_condition, conjunction
from cqc.compiler.bind.scope import bind_column
from cqc.compiler.meaning.bound import ColumnRef, children
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression


def bind_window(scope: Scope, node: syntax.Expression) -> Expression | None:
    """The condition of WINDOW, or None when something in it is wrong."""
    bound: list[Expression] = []
    complete = True
    for conjunct in _conjuncts(node):
        found = len(scope.diagnostics)
        condition = bind_condition(scope, conjunct, "WINDOW")
        if condition is None:
            complete = False
            if all(each.code in _OF_TYPES for each in scope.diagnostics[found:]):
                _check_columns(scope, _columns_as_written(scope, conjunct), conjunct.span)
        elif _is_about_event_times(scope, condition, conjunct.span):
            bound.append(condition)
        else:
            complete = False
    return conjunction(bound, node.span) if complete else None


_OF_TYPES = frozenset({"CQ040", "CQ041", "CQ042", "CQ043", "CQ044"})


def _conjuncts(node: syntax.Expression) -> Iterator[syntax.Expression]:
    """The parts of an AND chain, through parentheses."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part
        while isinstance(inner, syntax.Parenthesised):
            inner = inner.inner
        if isinstance(inner, syntax.Logical) and inner.operator == "AND":
            waiting.extend(reversed(inner.operands))
        else:
            yield part


def _is_about_event_times(scope: Scope, condition: Expression, span: Span) -> bool:
    columns = list(_columns(condition))
    if not columns:
        detail = "There is no event time in this condition."
        scope.report("CQ052", span, detail=detail, hint="Write it in WHERE.")
        return False
    return _check_columns(scope, columns, span)


def _check_columns(scope: Scope, columns: Iterable[ColumnRef], span: Span) -> bool:
    """Whether all columns of a condition are event times; the first that is not is reported."""
    for column in columns:
        if not scope.shaky[column.item] and not scope.is_event_time(column):
            _report_other_column(scope, column, span)
            return False
    return True


def _columns_as_written(scope: Scope, condition: syntax.Expression) -> list[ColumnRef]:
    """The columns that a condition names, whether or not it could be bound as a whole."""
    names = (node for node in syntax.nodes_of(condition) if isinstance(node, syntax.ColumnName))
    columns = (bind_column(scope, name) for name in names)
    return [column for column in columns if isinstance(column, ColumnRef)]


def _columns(expression: Expression) -> Iterator[ColumnRef]:
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if type(part) is ColumnRef:
            yield part
        else:
            waiting.extend(reversed(children(part)))


def _report_other_column(scope: Scope, column: ColumnRef, span: Span) -> None:
    times = [
        f"{alias}.{relation.columns[relation.event_time].name}"
        for alias, relation in zip(scope.aliases, scope.relations, strict=True)
        if relation is not None and relation.event_time is not None
    ]
    are = "event times of this query are" if len(times) > 1 else "event time of this query is"
    text = " ".join(span.text.split())
    scope.report(
        "CQ052",
        column.span,
        detail=f"{scope.show(column)} is not one; the {are} {', '.join(times)}." if times else None,
        hint=f"Move `{text}` to WHERE." if len(text) <= 60 else "Move this condition to WHERE.",
    )
