"""Views of one kind: they differ in the conditions of their branches alone, so their rows can be one stream.

The stream has the columns of each of the views, and after them one with the number of the view that a row is of. A query over such
a view asks for its number; all other columns are where they were.

    CREATE VIEW a AS SELECT ts, host, COUNT(*) OVER w AS n FROM logs WHERE rule = 1      kind: ts, host, n of logs
    CREATE VIEW b AS SELECT ts, host, COUNT(*) OVER w AS n FROM logs WHERE rule = 2      the same
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import OF_KIND
from cqc.compiler.meaning.catalog import Column, fold
from cqc.compiler.meaning.normal import Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.rewrites.attribute_formulas import conjoin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery

_NUMBER = "view number"  # no column of a user has a blank in its name unless it is quoted, and nobody reads this one by name


def reads_kinds(query: NormalQuery) -> bool:
    """Whether a query can read its view as a part of a larger stream: it is about this view alone, row by row or by OVER."""
    if len(query.items) != 1 or query.pull is not None or query.patterns or query.alert is not None:
        return False
    item = query.items[0]
    if item.rows is not None or item.window is not None:
        return False
    return query.decided is None or query.decided.window is None


def has_kind(relation: Relation) -> bool:
    """Whether there can be other views that differ in conditions alone."""
    made_by = relation.made_by
    if made_by is None or not relation.is_stream or made_by.unnest is not None:
        return False
    if any(column.inside is not None for column in relation.columns):
        return False
    return all(
        len(branch.items) == 1 and branch.pull is None and not branch.patterns
        for branch in made_by.branches
    )


def kind_of(relation: Relation, branches: Sequence[NormalQuery]) -> Relation:
    """The stream that has the rows of all views of one kind, named by what they have in common."""
    columns = tuple((column.name, column.type) for column in relation.columns)
    assert relation.made_by is not None
    content = (
        columns,
        relation.event_time,
        relation.made_by.adds_time,
        relation.made_by.bases,
        [
            (
                fold(branch.items[0].relation.name),
                [(output.name, output.expression) for output in branch.outputs],
                branch.decided,
            )
            for branch in branches
        ],
    )
    name = f"view:{sha256(repr(content).encode()).hexdigest()[:16]}{OF_KIND}"
    number = Column(_NUMBER, ColumnType.BIGINT)
    made_by = replace(relation.made_by, is_kind=True)
    return replace(relation, name=name, columns=(*relation.columns, number), made_by=made_by)


def member_number(name: str) -> int:
    """The number of a view, by the name of what would be its own instance: the same in every run."""
    return int(sha256(name.encode()).hexdigest()[:15], 16)


def of_member(query: NormalQuery, kind: Relation, number: int) -> NormalQuery:
    """The query over the rows of its view among all."""
    (item,), (condition,) = query.items, query.filters
    limit = Interval(number, True, number, True)
    own = ValueAtom(len(kind.columns) - 1, ColumnType.BIGINT, (limit,))
    return replace(
        query, items=(replace(item, relation=kind),), filters=(conjoin([condition, own]),)
    )
