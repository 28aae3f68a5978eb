"""From the views that a query still reads to derived streams: normalised, and named by their content.

Two views that ask the same have one name, so whoever reads either is served by one node.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from cqc.compiler.graph.lower import lower
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.views import DerivedStream
from cqc.compiler.meaning.window_columns import of_relation
from cqc.compiler.rewrites.mentioned_items import renumber

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cqc.compiler.meaning.bound import Item, Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery


_PREFIX = "view:"
OF_KIND = "@kind"
"""How names end of streams that have the rows of several views, and of what feeds them."""


def is_derived(name: str) -> bool:
    """Whether a folded name was made here, or for an instance of such a view."""
    return name.startswith(_PREFIX)


def derive_items(
    items: tuple[Item, ...], normalise: Callable[[Query], NormalQuery]
) -> tuple[Item, ...]:
    """The items with derived streams in the place of views."""
    if all(item.relation.view is None for item in items):
        return items
    return tuple(
        item
        if item.relation.view is None
        else replace(item, relation=derived(item.relation, normalise))
        for item in items
    )


def derived(relation: Relation, normalise: Callable[[Query], NormalQuery]) -> Relation:
    """A view as the runtime makes it."""
    view = relation.view
    assert view is not None
    branches = tuple(normalise(branch) for branch in view.branches)
    inner = {
        item.relation.name: item.relation
        for each in branches
        for part in parts_of(each)
        for item in part.items
    }
    beneath = tuple(each for each in inner.values() if each.made_by is not None)
    made_by = DerivedStream(
        relation.name,
        branches,
        view.adds_time,
        view.is_windowed,
        bases_of(inner.values()),
        1 + max((each.made_by.level for each in beneath if each.made_by), default=0),
        beneath,
        view.numeric_time,
        tuple(sorted(of_relation(relation).items())),
        view.unnest,
    )
    columns = tuple((column.name, column.type.value) for column in relation.columns)
    content: tuple[object, ...] = (
        columns,
        relation.event_time,
        view.adds_time,
        *map(_content, branches),
    )
    if view.unnest is not None:
        content = (*content, view.unnest)
    name = f"{_PREFIX}{sha256(repr(content).encode()).hexdigest()[:16]}"
    return replace(relation, name=name, view=None, made_by=made_by)


def parts_of(query: NormalQuery) -> list[NormalQuery]:
    """The ordinary queries that a query is made of: itself, or with outer joins and EXISTS its patterns."""
    return [each.query for each in all_patterns(query.patterns)] or [query]


def bases_of(relations: Iterable[Relation]) -> tuple[str, ...]:
    """The folded names of the declared streams beneath some relations, sorted."""
    found: set[str] = set()
    for relation in relations:
        if relation.made_by is not None:
            found.update(relation.made_by.bases)
        elif relation.is_stream:
            found.add(fold(relation.name))
    return tuple(sorted(found))


def declared_beneath(relations: Iterable[Relation]) -> list[Relation]:
    """The declared streams and tables that relations are or are made of, each once."""
    found: dict[str, Relation] = {}
    for relation in relations:
        if relation.made_by is None:
            found[fold(relation.name)] = relation
            continue
        for branch in relation.made_by.branches:
            parts = [branch, *parts_of(branch)]
            beneath = declared_beneath(item.relation for part in parts for item in part.items)
            found |= {fold(each.name): each for each in beneath}
    return list(found.values())


def _content(query: NormalQuery) -> tuple[object, ...]:
    """Everything that the rows of a branch depend on, whatever the order of FROM and the aliases are."""
    if query.patterns:
        guards = [
            (
                each.items,
                [
                    (g.negated, g.over, g.reach, g.streams, g.is_join, g.ends, g.keys)
                    for g in each.guards
                ],
            )
            for each in all_patterns(query.patterns)
        ]
        own = [_content(replace(each, pull=None, outputs=())) for each in parts_of(query)]
        outputs = [each.expression for each in query.outputs]
        items = [fold(item.relation.name) for item in query.items]
        return (*own, *guards, items, outputs, query.pull)
    parts = lower(query)
    outputs = [renumber(each.expression, parts.positions) for each in query.outputs]
    pull = query.pull
    asked: tuple[object, ...] = ()
    if pull is not None:
        keys = [renumber(each, parts.positions) for each in pull.group_by]
        having = None if pull.having is None else renumber(pull.having, parts.positions)
        orders = [
            replace(each, expression=renumber(each.expression, parts.positions))
            for each in pull.order_by
        ]
        rest = (pull.begin, pull.end, pull.every_us, pull.distinct, pull.limit, pull.inherits)
        qualify = None if pull.qualify is None else renumber(pull.qualify, parts.positions)
        asked = (*rest, pull.is_aggregate, keys, pull.grouping_sets, having, orders, qualify)
    return (
        [fold(relation.name) for relation in parts.relations],
        parts.filters,
        parts.equi_joins,
        parts.theta_joins,
        parts.residuals,
        parts.bounds,
        parts.rows,
        parts.order,
        outputs,
        asked,
        () if query.decided is None else (parts.positions, query.decided),
    )
