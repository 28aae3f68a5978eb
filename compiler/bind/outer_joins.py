"""FROM with outer joins as a tree, and which WINDOW conditions belong to which join.

Joins go from left to right, commas bind loosest. A WINDOW condition that mentions an item which may be NULL belongs to the
innermost join whose two sides hold all its items; all others hold after the joins, like WHERE.

    FROM A LEFT JOIN B ON x, C LEFT JOIN D ON y WINDOW A.ts < B.ts AND A.ts < C.ts
    ((A LEFT JOIN B ON x AND A.ts < B.ts), (C LEFT JOIN D ON y)), then A.ts < C.ts
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_condition, conjunction
from cqc.compiler.bind.times.instant_comparisons import compare_instants
from cqc.compiler.meaning.bound import And
from cqc.compiler.meaning.join_tree import Joined, JoinKind, all_exists, leaves, nullable_items
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.bound import Expression, Item
    from cqc.compiler.meaning.join_tree import Exists, JoinTree
    from cqc.compiler.syntax import tree as syntax


def bind_joins(scope: Scope, joins: Sequence[syntax.Join]) -> JoinTree | None:
    """The tree of FROM; None when a condition in it is wrong."""
    parts: list[JoinTree] = [scope.own_from]
    complete = True
    scope.aggregate_forbidden = "ON"
    for at, join in enumerate(joins, scope.own_from + 1):
        if join.kind == ",":
            parts.append(at)
            continue
        condition = None
        if join.condition is not None:
            condition = bind_condition(scope, join.condition, "ON")
            complete &= condition is not None and _is_about(scope, condition, (parts[-1], at))
        parts[-1] = _joined(join.kind, parts[-1], at, condition and _timed(scope, condition))
    scope.aggregate_forbidden = None
    tree = parts[0]
    for part in parts[1:]:
        tree = Joined(JoinKind.INNER, tree, part, None, is_comma=True)
    return tree if complete else None


def _joined(kind: str, left: JoinTree, right: JoinTree, condition: Expression | None) -> JoinTree:
    if kind == "RIGHT":
        return Joined(JoinKind.LEFT, right, left, condition)
    return Joined(JoinKind(kind), left, right, condition)


def _timed(scope: Scope, condition: Expression) -> Expression:
    return compare_instants(condition, scope.is_event_time) if scope.numeric_time else condition


def _is_about(scope: Scope, condition: Expression, sides: tuple[JoinTree, ...]) -> bool:
    """Whether ON speaks of the items that it joins; those of a query around it are known as well."""
    known = {item for side in sides for item in leaves(side)}
    for item in items_of(item_mask(condition)):
        if item not in known and item in scope.own_items:
            names = ", ".join(scope.aliases[at] for at in sorted(known))
            scope.report(
                "CQ081",
                condition.span,
                what=f"the ON condition on {scope.aliases[item]}",
                detail=f"{scope.aliases[item]} is no part of this join, which is of {names}.",
                hint="Write it in WHERE, or in ON of the join that brings it.",
            )
            return False
    return True


def place_windows(
    scope: Scope, tree: JoinTree, window: Expression | None
) -> tuple[JoinTree, Expression | None]:
    """The tree with the WINDOW conditions on items that may be NULL, and what is left of WINDOW."""
    if window is None:
        return tree, None
    nullable = nullable_items(tree)
    left: list[Expression] = []
    for each in window.operands if isinstance(window, And) else (window,):
        items = [item for item in items_of(item_mask(each)) if item in scope.own_items]
        if nullable.isdisjoint(items):
            left.append(each)
            continue
        placed = _placed(tree, each, frozenset(items))
        if placed is None:
            _report_no_join(scope, each, items, nullable)
        else:
            tree = placed
    return tree, conjunction(left, window.span) if left else None


def _placed(tree: JoinTree, condition: Expression, items: frozenset[int]) -> JoinTree | None:
    """The tree with a condition at the innermost join whose two sides hold all items; None where there is none."""
    if isinstance(tree, int) or not items <= set(leaves(tree)):
        return None
    left = _placed(tree.left, condition, items)
    if left is not None:
        return replace(tree, left=left)
    right = _placed(tree.right, condition, items)
    if right is not None:
        return replace(tree, right=right)
    if tree.is_comma:
        return None
    known = [condition] if tree.condition is None else [tree.condition, condition]
    return replace(tree, condition=conjunction(known, condition.span))


def _report_no_join(
    scope: Scope, condition: Expression, items: Sequence[int], nullable: frozenset[int]
) -> None:
    names = ", ".join(scope.aliases[at] for at in items if at in nullable)
    scope.report(
        "CQ081",
        condition.span,
        what="this WINDOW condition",
        detail=f"{names} may be NULL, and no JOIN has all items of the condition.",
        hint="Write it in WHERE, where it is an ordinary condition, or join the items with JOIN ... ON.",
    )


def check_preserved(
    scope: Scope, tree: JoinTree, items: Sequence[Item], *, pull: bool, what: str
) -> None:
    """In a push query no table is preserved against a stream, and no item has ROWS."""
    if pull:
        return
    for item in items:
        if item.rows is not None:
            hint = "Write `[RANGE 5 SEC]`, or ask with BEGIN-END."
            scope.report("CQ083", item.span, what=what, hint=hint)
    _check_sides(scope, tree)


def _check_sides(scope: Scope, tree: JoinTree) -> None:
    if isinstance(tree, int):
        return
    _check_sides(scope, tree.left)
    _check_sides(scope, tree.right)
    if tree.kind is JoinKind.INNER:
        return
    sides = [(tree.left, tree.right)]
    if tree.kind is JoinKind.FULL:
        sides.append((tree.right, tree.left))
    for kept, other in sides:
        if not _has_stream(scope, kept) and _has_stream(scope, other):
            table, stream = leaves(kept)[0], leaves(other)[0]
            scope.report(
                "CQ082",
                scope.spans[table],
                table=scope.aliases[table],
                detail=f"A row of {scope.aliases[table]} without a partner would be a result only when no tuple of "
                f"{scope.aliases[stream]} can come any more, which is never.",
                hint="Preserve the stream instead (LEFT JOIN the table), or ask with BEGIN-END.",
                more=(scope.spans[stream],),
            )


def _has_stream(scope: Scope, tree: JoinTree) -> bool:
    relations = [scope.relations[at] for at in leaves(tree)]
    return any(relation is None or relation.is_stream for relation in relations)


def check_absent_views(scope: Scope, exists: Sequence[Exists], *, pull: bool) -> None:
    """Say which views cannot be read inside EXISTS."""
    for item in (item for each in all_exists(tuple(exists)) for item in each.items):
        if pull or not item.relation.is_windowed:
            continue
        detail = f"{item.alias} has rows only for a window, and this query has no BEGIN-END."
        hint = "Give the view EVERY or TUMBLE, or this query BEGIN-END."
        scope.report("CQ086", item.span, view=item.alias, detail=detail, hint=hint)
