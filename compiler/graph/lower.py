"""A normal query in host order: the parts of its body, and where its FROM items went.

Two queries ask the same when they differ in the order of FROM, in aliases, in the order of conditions or in how a chain
of equalities is written. Lowering takes these differences away: items are ordered by relation, equal columns become
one star per class of equals, and conditions are sorted.

    FROM H, B  WHERE B.a = H.a AND H.x < 3      relations (B, H), B.a = H.a, positions (1, 0)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.normal import EquiJoin, NormalQuery, Residual, ThetaJoin, TimeBounds
from cqc.compiler.rewrites.mentioned_items import renumber

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import Formula

Place = tuple[int, int]
Classes = tuple[tuple[Place, ...], ...]


@record
class Lowered:
    """The parts of a body; see `nodes.Body` for what they mean."""

    relations: tuple[Relation, ...]
    filters: tuple[Formula, ...]
    equi_joins: tuple[EquiJoin, ...]
    theta_joins: tuple[ThetaJoin, ...]
    residuals: tuple[Residual, ...]
    bounds: TimeBounds
    rows: tuple[int | None, ...]
    order: tuple[int, ...]
    positions: tuple[int, ...]


_ALONE = (0,)


def lower(query: NormalQuery) -> Lowered:
    """Bring a query into host order."""
    items = query.items
    if len(items) == 1:
        rows: tuple[int | None, ...] = () if items[0].rows is None else (items[0].rows,)
        relations = (items[0].relation,)
        return Lowered(
            relations, query.filters, (), (), (), query.bounds, rows, _ALONE if rows else (), _ALONE
        )
    order = sorted(range(len(items)), key=lambda at: (fold(items[at].relation.name), at))
    positions = tuple([order.index(at) for at in range(len(items))])
    rows = tuple([items[at].rows for at in order])
    has_rows = any(each is not None for each in rows) and not _is_always_last(query)
    return Lowered(
        tuple([items[at].relation for at in order]),
        tuple([query.filters[at] for at in order]),
        _star([_move_equi(join, positions) for join in query.equi_joins]),
        tuple(sorted({_move_theta(join, positions) for join in query.theta_joins}, key=_theta_key)),
        _move_residuals(query.residuals, positions),
        _move_bounds(query.bounds, order),
        rows if has_rows else (),
        tuple(order) if has_rows else (),
        positions,
    )


def _is_always_last(query: NormalQuery) -> bool:
    """Whether ROWS says nothing: beside tables alone, the tuple that arrives last is the only one there is.

    Not so when the query is asked: then it is about the last tuples of a whole window.
    """
    return query.pull is None and sum(item.relation.is_stream for item in query.items) == 1


def in_own_order(query: NormalQuery, parts: Lowered) -> NormalQuery:
    """A query whose conditions are in host order, with them in its own FROM order."""
    positions = parts.positions
    order = [positions.index(place) for place in range(len(positions))]
    pairs = sorted([_move_equi(join, order) for join in parts.equi_joins])
    return replace(
        query,
        filters=tuple([parts.filters[place] for place in positions]),
        equi_joins=tuple([EquiJoin(*left, *right) for left, right in pairs]),
        theta_joins=tuple([_move_theta(join, order) for join in parts.theta_joins]),
        residuals=_move_residuals(parts.residuals, order),
        bounds=_move_bounds(parts.bounds, positions),
    )


def restore(node: QueryNode) -> NormalQuery:
    """The normal form of a query in the graph, in its own FROM order: `lower` backwards, up to the form of equalities."""
    if node.patterns:
        first = node.patterns[0].query
        return replace(
            first,
            items=node.items,
            outputs=node.outputs,
            destinations=node.destinations,
            patterns=node.patterns,
        )
    body, positions = node.body, node.positions
    order = [positions.index(place) for place in range(len(positions))]
    pairs = sorted([_move_equi(join, order) for join in body.equi_joins])
    return NormalQuery(
        node.name,
        node.items,
        node.outputs,
        node.pull,
        tuple([body.filters[place] for place in positions]),
        tuple([EquiJoin(*left, *right) for left, right in pairs]),
        tuple([_move_theta(join, order) for join in body.theta_joins]),
        _move_residuals(body.residuals, order),
        _move_bounds(body.bounds, positions),
        node.span,
        node.join_hint,
        node.destinations,
        node.decided,
        alert=node.alert,
    )


def _move_equi(join: EquiJoin, positions: Sequence[int]) -> tuple[Place, Place]:
    left = (positions[join.left_item], join.left_column)
    right = (positions[join.right_item], join.right_column)
    return min(left, right), max(left, right)


def classes_of(pairs: Iterable[tuple[Place, Place]]) -> Classes:
    """The sets of columns that are equal to one another, each sorted."""
    classes: dict[Place, set[Place]] = {}
    for left, right in pairs:
        merged = classes.get(left, {left}) | classes.get(right, {right})
        for place in merged:
            classes[place] = merged
    return tuple(sorted({tuple(sorted(each)) for each in classes.values()}))


def _star(pairs: list[tuple[Place, Place]]) -> tuple[EquiJoin, ...]:
    """Equalities in one form: the least column of a class equals each of the others.

    A class that holds two columns of one item keeps its equalities as they are: a star would lose the one between them.
    """
    joins: set[tuple[Place, Place]] = set()
    for each in classes_of(pairs):
        items = [item for item, _ in each]
        if len(set(items)) < len(items):
            joins.update(pair for pair in pairs if pair[0] in each)
        else:
            joins.update((each[0], other) for other in each[1:])
    return tuple([EquiJoin(*left, *right) for left, right in sorted(joins)])


def _move_theta(join: ThetaJoin, positions: Sequence[int]) -> ThetaJoin:
    left, right = positions[join.left_item], positions[join.right_item]
    expression = renumber(join.expression, positions)
    if left < right:
        return replace(join, left_item=left, right_item=right, expression=expression)
    return ThetaJoin(
        right,
        join.right_column,
        join.right_scale,
        join.right_offset,
        join.op.flipped,
        left,
        join.left_column,
        join.left_scale,
        join.left_offset,
        join.exact,
        expression,
    )


def _theta_key(join: ThetaJoin) -> tuple[object, ...]:
    return (
        join.left_item,
        join.left_column,
        join.right_item,
        join.right_column,
        join.op.value,
        join.left_scale,
        join.right_scale,
        join.left_offset,
        join.right_offset,
        repr(join.expression),
    )


def _move_residuals(
    residuals: Sequence[Residual], positions: Sequence[int]
) -> tuple[Residual, ...]:
    moved = {
        Residual(
            renumber(each.expression, positions),
            tuple(sorted([positions[item] for item in each.items])),
        )
        for each in residuals
    }
    return tuple(moved) if len(moved) < 2 else tuple(sorted(moved, key=repr))


def _move_bounds(bounds: TimeBounds, order: Sequence[int]) -> TimeBounds:
    if all(at == place for place, at in enumerate(order)):
        return bounds
    most = tuple([tuple([bounds.most_us[i][j] for j in order]) for i in order])
    return TimeBounds(most, bounds.contradictory)
