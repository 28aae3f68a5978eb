"""The WINDOW clause: conditions between event times, and nothing else.

Each conjunct is bound and checked by itself, so that one that belongs in WHERE does not hide a mistake in the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler import syntax
from cqc.compiler.bind_expression import bind_condition, conjunction
from cqc.compiler.bound import ColumnRef, children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.bind_scope import Scope
    from cqc.compiler.bound import Expression
    from cqc.compiler.source import Span


def bind_window(scope: Scope, node: syntax.Expression) -> Expression | None:
    """The condition of WINDOW, or None when something in it is wrong."""
    bound: list[Expression] = []
    complete = True
    for conjunct in _conjuncts(node):
        condition = bind_condition(scope, conjunct, "WINDOW")
        if condition is None or not _is_about_event_times(scope, condition, conjunct.span):
            complete = False
        else:
            bound.append(condition)
    return conjunction(bound, node.span) if complete else None


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
    for column in columns:
        if not scope.shaky[column.item] and not scope.is_event_time(column):
            _report_other_column(scope, column, span)
            return False
    return True


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
