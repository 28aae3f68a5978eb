"""Views in queries with outer joins or EXISTS, where they only select and rename: their stream or table stands in their place.

A condition of such a view holds before any join, so it belongs to its item and not to WHERE: an item that is missing has none.

    CREATE VIEW up AS SELECT room FROM rooms WHERE floor > 0;
    SELECT s.room FROM s LEFT JOIN up u ON u.room = s.room      ->  FROM s LEFT JOIN (rooms u where floor > 0) ON ...

`merge_views` does the same, and more, for queries without them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import And, ColumnRef, Output
from cqc.compiler.meaning.join_tree import Joined, all_exists
from cqc.compiler.rewrites.mentioned_items import substitute
from cqc.compiler.rewrites.rebuild import rebuilt_clauses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cqc.compiler.meaning.bound import Expression, Item, Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.join_tree import Exists, JoinTree

    Change = Callable[[ColumnRef], Expression]
    Conditions = dict[int, Expression]


def melt_views(query: Query) -> tuple[Query, Conditions]:
    """The query over streams and tables where it can be, and by item the conditions that hold before the joins."""
    conditions: Conditions = {}
    while True:
        found = next((each for each in _numbered(query) if _may_melt(each[1])), None)
        if found is None:
            return query, conditions
        query = _melted(query, *found, conditions)


def _numbered(query: Query) -> Iterator[tuple[int, Item]]:
    yield from enumerate(query.items)
    for exists in all_exists(query.exists):
        yield from enumerate(exists.items, exists.first)


def _may_melt(item: Item) -> bool:
    return item.window is None and can_melt(item.relation)


def can_melt(relation: Relation) -> bool:
    """Whether a view passes some tuples of one stream or table on, with columns as they are."""
    view = relation.view
    if view is None or len(view.branches) > 1 or view.unnest is not None:
        return False
    inner = view.query
    if inner.has_absence or inner.decided is not None or inner.pull is not None:
        return False
    if len(inner.items) > 1 or inner.items[0].rows is not None or inner.items[0].window:
        return False
    own = inner.items[0].relation
    is_same = not relation.is_stream or (own.is_stream and relation.time_type is own.time_type)
    return is_same and all(isinstance(each.expression, ColumnRef) for each in inner.outputs)


def _melted(query: Query, at: int, item: Item, conditions: Conditions) -> Query:
    view = item.relation.view
    assert view is not None
    inner = view.query
    (only,) = inner.items
    columns = [each.expression for each in inner.outputs]
    if view.adds_time:
        relation = only.relation
        assert relation.event_time is not None
        time = ColumnRef(0, relation.event_time, relation.time_type, inner.span)
        columns = [time, *columns]
    shown = [substitute(each, lambda column: replace(column, item=at)) for each in columns]

    def change(column: ColumnRef) -> Expression:
        return shown[column.column] if column.item == at else column

    for key, known in conditions.items():
        conditions[key] = substitute(known, change)
    own = [each for each in (inner.where, inner.window) if each is not None]
    own = [substitute(each, lambda column: replace(column, item=at)) for each in own]
    own += [conditions[at]] if at in conditions else []
    if own:
        conditions[at] = own[0] if len(own) == 1 else And(tuple(own), query.span)
    stands_in = replace(item, relation=only.relation)
    return _changed(query, change, at, stands_in)


def _changed(query: Query, change: Change, at: int, item: Item) -> Query:
    def outer(expression: Expression | None) -> Expression | None:
        return None if expression is None else substitute(expression, change)

    pull = query.pull
    if pull is not None:
        pull = rebuilt_clauses(pull, lambda each: substitute(each, change))
    return replace(
        query,
        items=tuple(item if place == at else each for place, each in enumerate(query.items)),
        outputs=tuple(
            Output(each.name, substitute(each.expression, change)) for each in query.outputs
        ),
        where=outer(query.where),
        window=outer(query.window),
        tree=None if query.tree is None else _tree(query.tree, outer),
        exists=tuple(_exists(each, outer, at, item) for each in query.exists),
        pull=pull,
    )


def _tree(tree: JoinTree, outer: Callable[[Expression | None], Expression | None]) -> JoinTree:
    if not isinstance(tree, Joined):
        return tree
    return replace(
        tree,
        left=_tree(tree.left, outer),
        right=_tree(tree.right, outer),
        condition=outer(tree.condition),
    )


def _exists(
    exists: Exists, outer: Callable[[Expression | None], Expression | None], at: int, item: Item
) -> Exists:
    compared = exists.compared
    if compared is not None:
        left, right = outer(compared[0]), outer(compared[1])
        assert left is not None
        assert right is not None
        compared = left, right
    return replace(
        exists,
        items=tuple(
            item if exists.first + place == at else each for place, each in enumerate(exists.items)
        ),
        tree=_tree(exists.tree, outer),
        where=outer(exists.where),
        window=outer(exists.window),
        exists=tuple(_exists(each, outer, at, item) for each in exists.exists),
        compared=compared,
    )
