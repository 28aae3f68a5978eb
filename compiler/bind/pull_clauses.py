"""What only a query with BEGIN-END has: its window, groups, HAVING, DISTINCT, ORDER BY, LIMIT and EVERY."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from cqc.compiler.bind.checks.grouping import check_grouped, check_selected, sets_of
from cqc.compiler.bind.expression import bind_condition, bind_expression
from cqc.compiler.bind.from_clause import whole_number_at_least
from cqc.compiler.bind.literals import duration_us, whole_number
from cqc.compiler.bind.operators import typed
from cqc.compiler.bind.scope import OutputNames
from cqc.compiler.bind.window_ends import bind_instant
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.diagnostics.suggest import TUMBLING_WINDOW
from cqc.compiler.meaning.bound import Instant, Order, Pull, overs_in
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.bound import Expression, Output

Outputs = tuple["Output", ...]


def check_push(scope: Scope, node: syntax.Select) -> None:
    """Report the clauses that need BEGIN-END, all in one diagnostic: one clause mends them all."""
    clauses: list[tuple[str, Span]] = []
    if node.distinct:
        start = node.span.start
        end = node.outputs[0].span.start if node.outputs else start + len("SELECT")
        clauses.append(("DISTINCT", Span(node.span.source, start, end)))
    if scope.first_aggregate is not None:
        clauses.append(("an aggregate", scope.first_aggregate))
    if node.group_by:
        clauses.append(_clause(node, "GROUP BY", node.group_by[0].span.to(node.group_by[-1].span)))
    if node.having is not None:
        clauses.append(_clause(node, "HAVING", node.having.span))
    if node.order_by:
        clauses.append(_clause(node, "ORDER BY", node.order_by[0].span.to(node.order_by[-1].span)))
    if node.limit is not None:
        clauses.append(_clause(node, "LIMIT", node.limit.span))
    if node.every is not None:
        clauses.append(_clause(node, "EVERY", node.every.span))
    if clauses:
        _report_push(scope, clauses, has_every=node.every is not None)


def _clause(node: syntax.Select, keyword: str, content: Span) -> tuple[str, Span]:
    """A clause with its keyword, which the tree does not keep: it is the last such word before the content."""
    source = content.source
    word = re.compile(rf"\b{keyword.split()[0]}\b", re.IGNORECASE)
    starts = [found.start() for found in word.finditer(source.text, node.span.start, content.start)]
    return keyword, Span(source, starts[-1] if starts else content.start, content.end)


def _report_push(scope: Scope, clauses: list[tuple[str, Span]], *, has_every: bool) -> None:
    (clause, span), *others = clauses
    detail = "A query without it delivers each result as it happens and never has them all."
    if others:
        names = [name for name, _ in others]
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        detail += f" The same holds for {listed}."
    hint = f"Add `{TUMBLING_WINDOW}` for an answer each minute, or without EVERY for one when it is asked."
    if {"an aggregate", "GROUP BY"} & {name for name, _ in clauses}:
        hint = (
            "`FROM TUMBLE(stream, 1 MINUTE)` with `GROUP BY window_end` gives each minute when it is over (HOP and SESSION likewise). "
            f"Or add `{TUMBLING_WINDOW}`, without EVERY for an answer when it is asked."
        )
    if has_every:
        hint = "Add `BEGIN AFTER NOW - 1 MINUTE END NOW`, or another window."
    scope.report("CQ060", span, clause=clause, detail=detail, hint=hint)


def bind_group_by(
    scope: Scope, node: syntax.Select, outputs: Outputs | None
) -> tuple[tuple[Expression, ...] | None, tuple[tuple[int, ...], ...]]:
    """The GROUP BY keys (expressions of columns, names of outputs, or their numbers), and which of them each set has."""
    scope.aggregate_forbidden = "GROUP BY"
    scope.output_names = OutputNames.LAST
    written = [sets_of(item) for item in node.group_by]
    keys: dict[Expression, int] = {}
    complete = True
    bound_sets: list[list[tuple[int, ...]]] = []
    for sets in written:
        numbered: list[tuple[int, ...]] = []
        for each in sets:
            found = [_key(scope, key, outputs, "GROUP BY") for key in each]
            complete = complete and None not in found
            numbered.append(
                tuple(keys.setdefault(key, len(keys)) for key in found if key is not None)
            )
        bound_sets.append(numbered)
    scope.output_names = OutputNames.HIDDEN
    scope.aggregate_forbidden = None
    if not complete:
        return None, ()
    if all(len(sets) == 1 for sets in bound_sets):
        return tuple(keys), ()
    joined = [sum(each, ()) for each in itertools.product(*bound_sets)]
    return tuple(keys), tuple(tuple(dict.fromkeys(each)) for each in joined)


def _key(
    scope: Scope, node: syntax.Expression, outputs: Outputs | None, clause: str
) -> Expression | None:
    if not isinstance(node, syntax.NumberLiteral) or not node.text.isdecimal():
        key = bind_expression(scope, node)
        return None if key is None else typed(key, ColumnType.BOOLEAN)
    if outputs is None:
        return None
    position = whole_number(node.text)
    if position is None or not 1 <= position <= len(outputs):
        detail = (
            f"There are {len(outputs)} outputs." if len(outputs) > 1 else "There is one output."
        )
        scope.report("CQ068", node.span, clause=clause, position=node.text, detail=detail)
        return None
    return outputs[position - 1].expression


_OF_READER = Instant(True, 0, False)  # stands for the end of a window that the reader has


def bind_pull(
    scope: Scope,
    node: syntax.Select,
    outputs: Outputs | None,
    numeric_time: bool | None,
    *,
    as_view: bool = False,
) -> Pull | None:
    """All of it; None when something is wrong, a missing BEGIN-END included (but in a view without EVERY)."""
    found = len(scope.diagnostics)
    begin, end = _ends(scope, node, numeric_time)
    every_us = None if node.every is None else _every(scope, node.every)
    group_by, grouping_sets = bind_group_by(scope, node, outputs)
    grouping = bool(node.group_by) or node.having is not None
    if group_by is not None and (grouping or scope.first_aggregate is not None):
        scope.grouped = frozenset(group_by)
    having = bind_having(scope, node)
    qualify = bind_qualify(scope, node)
    order_by = bind_order_by(scope, node, outputs)
    limit = None if node.limit is None else whole_number_at_least(scope, node.limit, "LIMIT", 0)
    is_aggregate = grouping or scope.first_aggregate is not None
    inherits = as_view and node.begin is None and node.every is None
    if inherits:
        begin = end = _OF_READER
    if not inherits and (node.begin is None or node.end is None):
        check_push(scope, node)
    else:
        shown = [output.expression for output in outputs or ()]
        keys = [order.expression for order in order_by]
        if is_aggregate and group_by is not None:
            conditions = [each for each in (having, qualify) if each is not None]
            check_grouped(scope, [*shown, *conditions, *keys], frozenset(group_by))
        if node.distinct and outputs is not None and len(scope.diagnostics) == found:
            check_selected(scope, keys, frozenset(shown))
    if begin is None or end is None or group_by is None or len(scope.diagnostics) > found:
        return None
    return Pull(
        begin,
        end,
        every_us,
        node.distinct,
        group_by,
        having,
        order_by,
        limit,
        is_aggregate,
        inherits,
        qualify,
        grouping_sets,
    )


def _ends(
    scope: Scope, node: syntax.Select, numeric_time: bool | None
) -> tuple[Instant | None, Instant | None]:
    if node.begin is None or node.end is None:
        return None, None
    begin = bind_instant(scope, node.begin, "BEGIN", numeric_time)
    return begin, bind_instant(scope, node.end, "END", numeric_time)


def _every(scope: Scope, node: syntax.Duration) -> int | None:
    every_us = duration_us(scope, node)
    if every_us is not None and every_us <= 0:
        scope.report("CQ053", node.span, clause="EVERY", requirement="greater than 0")
        return None
    return every_us


def bind_having(scope: Scope, node: syntax.Select) -> Expression | None:
    """The condition on groups."""
    if node.having is None:
        return None
    scope.output_names = OutputNames.LAST
    having = bind_condition(scope, node.having, "HAVING")
    scope.output_names = OutputNames.HIDDEN
    return having


def bind_qualify(scope: Scope, node: syntax.Select) -> Expression | None:
    """The condition of QUALIFY, which is about OVER."""
    if node.qualify is None:
        return None
    scope.output_names = OutputNames.LAST
    scope.over_allowed = True
    condition = bind_condition(scope, node.qualify, "QUALIFY")
    scope.over_allowed = False
    scope.output_names = OutputNames.HIDDEN
    if condition is not None and not overs_in(condition):
        hint = "Write the condition in WHERE, or in HAVING where it is about groups."
        detail = "QUALIFY chooses rows by what OVER says of them."
        scope.report("CQ140", node.qualify.span, detail=detail, hint=hint)
        return None
    return condition


def bind_order_by(scope: Scope, node: syntax.Select, outputs: Outputs | None) -> tuple[Order, ...]:
    """The ORDER BY keys."""
    scope.output_names = OutputNames.FIRST
    scope.over_allowed = True
    orders: list[Order] = []
    for key in node.order_by:
        expression = _key(scope, key.expression, outputs, "ORDER BY")
        nulls_first = not key.descending if key.nulls_first is None else key.nulls_first
        if expression is not None:
            orders.append(Order(expression, key.descending, nulls_first))
    scope.over_allowed = False
    scope.output_names = OutputNames.HIDDEN
    return tuple(orders)
