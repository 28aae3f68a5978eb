"""[NOT] EXISTS (SELECT ..) and x [NOT] IN (SELECT y ..): conjuncts of WHERE that ask whether something is there.

A query inside sees the items of the queries around it; its own are numbered after all that came before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_condition, bind_expression, conjunction
from cqc.compiler.bind.from_clause import bind_from
from cqc.compiler.bind.literals import duration_us
from cqc.compiler.bind.operators import meet
from cqc.compiler.bind.outer_joins import bind_joins, check_preserved, place_windows
from cqc.compiler.bind.outputs import bind_outputs
from cqc.compiler.bind.questions.asked_questions import over_rows
from cqc.compiler.bind.questions.over_nothing import parts_of
from cqc.compiler.bind.scope import Scope
from cqc.compiler.bind.table_functions import without_unnests
from cqc.compiler.bind.times.instant_comparisons import compare_instants
from cqc.compiler.bind.window_clause import bind_window
from cqc.compiler.bind.window_items import as_views
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.join_tree import Exists, Joined, JoinKind, product_of
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.join_tree import JoinTree


@record
class Question:
    """A conjunct that asks whether something is there; `negated` counts every NOT before it."""

    node: syntax.Exists | syntax.InSelect
    negated: bool


def split_questions(
    where: syntax.Expression | None,
) -> tuple[list[syntax.Expression], list[Question]]:
    """The conjuncts of WHERE that are ordinary conditions, and the others."""
    ordinary: list[syntax.Expression] = []
    questions: list[Question] = []
    for conjunct in () if where is None else _conjuncts(where):
        question = _question(conjunct)
        if question is None:
            ordinary.append(conjunct)
        else:
            questions.append(question)
    if not questions and where is not None:
        return [where], []
    return ordinary, questions


def _conjuncts(node: syntax.Expression) -> Iterator[syntax.Expression]:
    inner = _bare(node)
    if isinstance(inner, syntax.Logical) and inner.operator == "AND":
        for operand in inner.operands:
            yield from _conjuncts(operand)
    else:
        yield node


def _bare(node: syntax.Expression) -> syntax.Expression:
    while isinstance(node, syntax.Parenthesised):
        node = node.inner
    return node


def _question(node: syntax.Expression) -> Question | None:
    negated = False
    inner = _bare(node)
    while isinstance(inner, syntax.Unary) and inner.operator == "NOT":
        negated = not negated
        inner = _bare(inner.operand)
    if isinstance(inner, syntax.InSelect):
        return Question(inner, negated is not inner.negated)
    return Question(inner, negated) if isinstance(inner, syntax.Exists) else None


def bind_questions(
    scope: Scope, questions: Sequence[Question], *, pull: bool
) -> tuple[Exists, ...] | None:
    """The questions of one WHERE; None when something in them is wrong."""
    asked = [part for each in questions for part in _asked(scope, each, pull=pull)]
    bound = [_bind(scope, each, pull=pull) for each in asked]
    known = [each for each in bound if each is not None]
    return tuple(known) if len(known) == len(bound) else None


def _asked(scope: Scope, question: Question, *, pull: bool) -> list[Question]:
    """The question, or those that are asked instead of it."""
    parts = None
    if pull and _is_allowed(question.node.select):
        parts = parts_of(scope, question.node, negated=question.negated)
    return [question] if parts is None else [Question(each.node, each.negated) for each in parts]


def _bind(outer: Scope, question: Question, *, pull: bool) -> Exists | None:
    node = question.node
    if isinstance(node, syntax.Exists) and node.word.text.upper() != "EXISTS":
        hint = "Write `EXISTS (SELECT ...)`, or `x IN (SELECT ...)`."
        outer.report("CQ018", node.word.span, what=f"{node.word.text} of a query", hint=hint)
        return None
    asked = None
    if isinstance(node, syntax.InSelect):
        asked = bind_expression(outer, node.operand)
        if asked is None:
            return None
    scope = _inner_scope(outer)
    found = len(outer.diagnostics)
    bound = _inside(scope, question, asked, pull=pull)
    return bound if len(outer.diagnostics) == found else None


def _inner_scope(outer: Scope) -> Scope:
    """A scope in which the names of the query around are known, and numbers of others are left out."""
    scope = Scope(outer.environment, outer.bind_sub_query)
    scope.diagnostics = outer.diagnostics
    free = outer.next_item[0] = max(outer.next_item[0], len(outer.relations))
    gap = free - len(outer.relations)
    scope.aliases = [*outer.aliases, *[""] * gap]
    scope.relations = [*outer.relations, *[None] * gap]
    scope.columns = [*outer.columns, *[None] * gap]
    scope.shaky = [*outer.shaky, *[True] * gap]
    scope.spans = [*outer.spans, *[outer.spans[0]] * gap]
    scope.windows = [*outer.windows, *[None] * gap]
    scope.passed = [*outer.passed, *[{} for _ in range(gap)]]
    scope.by_alias = dict(outer.by_alias)
    scope.has_unknown = outer.has_unknown
    scope.numeric_time = outer.numeric_time
    scope.own_from = free
    scope.outer_levels = (outer.own_items, *outer.outer_levels)
    scope.next_item = outer.next_item
    return scope


def _inside(
    scope: Scope, question: Question, asked: Expression | None, *, pull: bool
) -> Exists | None:
    node = question.node.select
    _refuse_clauses(scope, node, pull=pull)
    if pull and _is_allowed(node):
        is_in = asked is not None
        made = over_rows(scope, node, is_in=is_in, negated=question.negated)
        if made is None:
            return None
        node = made
    items = bind_from(scope, node.items, node.joins)
    node = without_unnests(node)
    items = None if items is None else as_views(items)
    scope.next_item[0] = max(scope.next_item[0], len(scope.relations))
    tree = _tree(scope, node)
    ordinary, questions = split_questions(node.where)
    where = _where(scope, ordinary)
    window = None
    if node.window is not None:
        scope.aggregate_forbidden = "WINDOW"
        window = bind_window(scope, node.window)
        scope.aggregate_forbidden = None
    max_window_us = None if node.max_window is None else duration_us(scope, node.max_window)
    if max_window_us is not None and max_window_us < 0 and node.max_window is not None:
        requirement = "that is not negative"
        scope.report("CQ053", node.max_window.span, clause="MAXWINDOW", requirement=requirement)
    scope.aggregate_forbidden = "a query inside EXISTS"
    outputs = bind_outputs(scope, node.outputs)
    scope.aggregate_forbidden = None
    compared = None
    if asked is not None and outputs is not None:
        if len(outputs) != 1:
            scope.report("CQ085", node.span, count=len(outputs), hint="Select one expression.")
            return None
        compared = meet(scope, asked, outputs[0].expression, question.node.span)
    exists = bind_questions(scope, questions, pull=pull)
    if items is None or tree is None or exists is None or (where is None and ordinary):
        return None
    if node.joins:
        tree, window = place_windows(scope, tree, window and _on_instants(scope, window))
    check_preserved(scope, tree, items, pull=pull, what="EXISTS")
    return Exists(
        question.negated,
        scope.own_from,
        tuple(items),
        tree,
        where,
        None if window is None else _on_instants(scope, window),
        max_window_us,
        exists,
        compared,
        question.node.span,
    )


def _tree(scope: Scope, node: syntax.Select) -> JoinTree | None:
    if node.joins:
        return bind_joins(scope, node.joins)
    if not scope.own_items:
        return None
    tree = product_of(scope.own_items)
    scope.aggregate_forbidden = "ON"
    bound = [bind_condition(scope, each, "ON") for each in node.join_conditions]
    scope.aggregate_forbidden = None
    known = [_on_instants(scope, each) for each in bound if each is not None]
    if len(known) < len(bound):
        return None
    if known and isinstance(tree, Joined):
        return Joined(JoinKind.INNER, tree.left, tree.right, conjunction(known, node.span))
    return tree


def _where(scope: Scope, ordinary: Sequence[syntax.Expression]) -> Expression | None:
    scope.aggregate_forbidden = "WHERE"
    bound = [bind_condition(scope, each, "WHERE") for each in ordinary]
    scope.aggregate_forbidden = None
    known = [_on_instants(scope, each) for each in bound if each is not None]
    if not known or len(known) < len(bound):
        return None
    return conjunction(known, known[0].span)


def _on_instants(scope: Scope, condition: Expression) -> Expression:
    return compare_instants(condition, scope.is_event_time) if scope.numeric_time else condition


def _is_allowed(node: syntax.Select) -> bool:
    return node.begin is None and node.every is None and not any(item.rows for item in node.items)


def _refuse_clauses(scope: Scope, node: syntax.Select, *, pull: bool) -> None:
    """What would make rows of a query inside depend on more than one combination; with BEGIN-END around it they may."""
    clauses: list[tuple[str, object]] = [("BEGIN-END", node.begin), ("EVERY", node.every)]
    if not pull:
        clauses += [
            ("GROUP BY", node.group_by and node.group_by[0]),
            ("HAVING", node.having),
            ("LIMIT", node.limit),
            ("ORDER BY", node.order_by and node.order_by[0]),
        ]
    for clause, written in clauses:
        if written:
            hint = "Leave it out: EXISTS asks only whether there is a row."
            scope.report("CQ084", written.span, clause=clause, hint=hint)  # type: ignore[attr-defined]
    if pull:
        return
    if node.union:
        scope.report(
            "CQ084", node.union[0].span, clause="UNION ALL", hint="Write two EXISTS, or a view."
        )
    if node.entries:
        hint = "Write WITH before the whole query."
        scope.report("CQ084", node.entries[0].span, clause="WITH", hint=hint)
    if node.distinct:
        span = node.outputs[0].span
        scope.report("CQ084", span, clause="DISTINCT", hint="Leave it out: one row is enough.")
