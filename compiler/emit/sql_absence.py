"""Outer joins and EXISTS as batch SQL.

Every item is a sub-select of the tuples that count, so that a join preserves nothing else; a join has MAXWINDOW and RANGE over its
items in ON, where NULL counts for nothing, because that is where they decide about partners.

    FROM   ((SELECT * FROM "a" WHERE ("a"."ts" IS NOT NULL)) AS "a"
            LEFT JOIN (SELECT * FROM "b" ...) AS "b" ON ("a"."k" = "b"."k") AND (... <= 5000000))
    WHERE  NOT EXISTS (SELECT 1 FROM ... WHERE ...)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_expression import Writer
from cqc.compiler.emit.sql_from import largest, smallest, time_us
from cqc.compiler.meaning.bound import Comparison, ComparisonOp, IsTruth, Not
from cqc.compiler.meaning.join_tree import JoinKind, leaves, product_of
from cqc.compiler.rewrites.absence_patterns import mentioned_around

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.meaning import bound
    from cqc.compiler.meaning.join_tree import Exists, JoinTree

_KINDS = {JoinKind.INNER: "JOIN", JoinKind.LEFT: "LEFT JOIN", JoinKind.FULL: "FULL JOIN"}


def with_plain_aliases(query: bound.Query) -> bound.Query:
    """The query as one over all its items, those of EXISTS included, each under an alias of its own."""
    taken: set[str] = set()
    items = []
    for at, item in enumerate(query.all_items):
        alias = item.alias if item.alias.lower() not in taken else f"{item.alias}@{at}"
        taken.add(alias.lower())
        items.append(replace(item, alias=alias))
    return replace(query, items=tuple(items), exists=())


class AbsenceText:
    """FROM and WHERE of one query.

    Args:
        query: as bound.
        words: the dialect.
        source: the sub-select of an item, under its alias.
        at_name: the column that every item has where several instants are asked about, which items of one row share.
    """

    def __init__(
        self,
        query: bound.Query,
        words: Dialect,
        source: Callable[[bound.Query, int], str],
        at_name: str | None = None,
    ) -> None:
        self._query = query
        self.whole = with_plain_aliases(query)
        self.writer = Writer(words, self.whole.items)
        self._words = words
        self._source = source
        self._at_name = at_name

    def from_text(self) -> str:
        """The joined items."""
        query = self._query
        return self._join(query.tree or product_of(range(len(query.items))), query.max_window_us)

    def at(self, items: Sequence[int]) -> str:
        """The instant that a row of some items is for."""
        columns = [
            f"{self._words.identifier(self.whole.items[at].alias)}.{self._at_name}" for at in items
        ]
        return columns[0] if len(columns) == 1 else f"coalesce({', '.join(columns)})"

    def conditions(self) -> list[str]:
        """WHERE, the windows over all items, and every EXISTS."""
        query = self._query
        own = range(len(query.items))
        parts = [part for part in (query.where, query.window) if part is not None]
        found = [self.writer.write(part) for part in parts]
        found += self._windows(own, query.max_window_us, own)
        return found + [self._exists(each, own) for each in query.exists]

    def _join(self, tree: JoinTree, max_window_us: int | None) -> str:
        if isinstance(tree, int):
            return self._source(self.whole, tree)
        left, right = leaves(tree.left), leaves(tree.right)
        conditions = [] if tree.condition is None else [self.writer.write(tree.condition)]
        if self._at_name is not None:
            conditions.append(f"({self.at(left)} = {self.at(right)})")
        if not tree.is_comma:
            both = (*left, *right)
            conditions += self._windows(both, max_window_us, both)
        joined = f"{self._join(tree.left, max_window_us)}\n{_KINDS[tree.kind]} "
        return f"({joined}{self._join(tree.right, max_window_us)} ON {' AND '.join(conditions) or 'TRUE'})"

    def _windows(
        self, items: Sequence[int], max_window_us: int | None, ranged: Sequence[int]
    ) -> list[str]:
        """MAXWINDOW and RANGE over the stream items that are not NULL."""
        streams = [at for at in items if self.whole.items[at].relation.is_stream]
        if len(streams) < 2:
            return []
        times = {at: time_us(self._words, self.whole, at) for at in streams}
        newest, oldest = largest(list(times.values())), smallest(list(times.values()))
        found = []
        if max_window_us is not None:
            found.append(f"(coalesce({newest} - {oldest}, 0) <= {max_window_us})")
        for at in streams:
            range_us = self.whole.items[at].range_us
            if range_us is not None and at in ranged:
                found.append(f"({times[at]} IS NULL OR {newest} <= {times[at]} + {range_us})")
        return found

    def _exists(self, exists: Exists, around: Sequence[int]) -> str:
        own = range(exists.first, exists.first + len(exists.items))
        parts = [part for part in (exists.where, exists.window) if part is not None]
        conditions = [self.writer.write(part) for part in parts]
        if exists.compared is not None:
            conditions.append(self.writer.write(_counts(exists)))
        mentioned = sorted(_mentioned(exists, around))
        conditions += self._windows([*mentioned, *own], exists.max_window_us, own)
        conditions += [self._exists(each, [*around, *own]) for each in exists.exists]
        if self._at_name is not None:
            conditions.append(f"({self.at(own)} = {self.at(range(len(self._query.items)))})")
        source = self._join(exists.tree, exists.max_window_us)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"({'NOT ' if exists.negated else ''}EXISTS (SELECT 1 FROM {source}{where}))"


def _counts(exists: Exists) -> bound.Expression:
    """When a row inside counts for IN: where x = y is TRUE, for NOT IN where it is not FALSE."""
    assert exists.compared is not None
    left, right = exists.compared
    equal = Comparison(left, ComparisonOp.EQ, right, exists.span)
    if not exists.negated:
        return equal
    return Not(IsTruth(equal, False, exists.span), exists.span)


def _mentioned(exists: Exists, around: Sequence[int]) -> frozenset[int]:
    return mentioned_around(exists) & frozenset(around)
