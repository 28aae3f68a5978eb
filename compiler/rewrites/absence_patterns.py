"""Outer joins and EXISTS as patterns with guards (`meaning/absence`).

The rows of a join tree are made from its leaves up. Each is a set of items that are present, the conditions on them, and guards:

    A LEFT JOIN B ON c      the rows of A with those of B where c holds, and the rows of A under a guard that these mark
    WHERE NOT EXISTS (q)    every row under a guard that is marked by the rows of q with the tuples that q mentions

NULL is written for the columns of absent items; a condition that is then known to be false leaves no row. A join condition that becomes
NULL in this way leaves no partner. If it is on event times, it also no longer says when a partner could have come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.absence import Guard, KeyPair, Pattern
from cqc.compiler.meaning.bound import (
    And,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Expression,
    IsNull,
    Literal,
    Output,
    Query,
    children,
)
from cqc.compiler.meaning.catalog import fold as fold_name
from cqc.compiler.meaning.join_tree import Joined, JoinKind, nullable_items, product_of
from cqc.compiler.meaning.normal import NormalQuery
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.window_columns import of_item
from cqc.compiler.rewrites.absent_items import without_items
from cqc.compiler.rewrites.fold_constants import fold
from cqc.compiler.rewrites.key_times import keys_of, may_have_keys
from cqc.compiler.rewrites.last_instants import (
    Edge,
    edges_of_condition,
    edges_of_windows,
    ends_of,
    reach_of,
)
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of, renumber

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cqc.compiler.meaning.bound import Item
    from cqc.compiler.meaning.join_tree import Exists, JoinTree

Normalise = Callable[[Query], NormalQuery]
_TRUE, _FALSE = Literal(True, ColumnType.BOOLEAN, None), Literal(False, ColumnType.BOOLEAN, None)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Guard:
    negated: bool
    over: tuple[int, ...]  # numbers of items
    marks: list[_Rows]
    inside: frozenset[int]  # items whose streams decide
    is_join: bool = False
    keys: tuple[KeyPair, ...] | None = None  # over numbers of items


@dataclass(slots=True)
class _Rows:
    """Rows with some items present. `never`: there is none, but when one could come is known from `edges`."""

    present: frozenset[int]
    conditions: list[Expression] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    guards: list[_Guard] = field(default_factory=list)
    never: bool = False

    def with_guard(self, guard: _Guard) -> _Rows:
        return replace(self, guards=[*self.guards, guard])


@dataclass(slots=True)
class _Windows:
    """MAXWINDOW of a query, and the items whose RANGE counts in it."""

    max_window_us: int | None
    ranged: frozenset[int]


class _Planner:
    """Makes the patterns of one query."""

    def __init__(
        self,
        query: Query,
        normalise: Normalise,
        before: Mapping[int, Expression] | None = None,
    ) -> None:
        self._query = query
        self._normalise = normalise
        self._items = query.all_items
        self._before = before or {}  # conditions of items that hold before the joins

    def patterns(self) -> tuple[Pattern, ...]:
        outputs, windows = self._query.outputs, self._outer_windows()
        return tuple([self._pattern(each, windows, outputs) for each in self._results()])

    def _outer_windows(self) -> _Windows:
        return _Windows(self._query.max_window_us, frozenset(range(len(self._query.items))))

    def all_rows(self) -> Iterable[_Rows]:
        """The rows of the query, and those that mark their guards, at any depth."""
        waiting = self._bounding_rows()
        while waiting:
            rows = waiting.pop(0)
            yield rows
            # What bounds the tuples that are watched bounds them in a mark too.
            waiting += [
                replace(mark, edges=[*rows.edges, *mark.edges])
                for guard in rows.guards
                for mark in guard.marks
            ]

    def unbounded_in(self, rows: _Rows) -> tuple[int, int] | None:
        """The first two stream items where nothing limits how much later the second can come."""
        streams = sorted(at for at in rows.present if self._items[at].relation.is_stream)
        for source in streams:
            for at, (us,) in zip(streams, reach_of([source], streams, rows.edges), strict=True):
                if us is None and at != source:
                    return source, at
        return None

    def _results(self) -> list[_Rows]:
        query = self._query
        rows = self._rows(self._tree(), frozenset(), self._outer_windows())
        rows = [self._narrowed(each, [query.where, query.window]) for each in rows]
        rows = [each for each in rows if not each.never]
        for exists in query.exists:
            rows = [found for each in rows for found in self._under(each, exists)]
        return [self._asked_at_times(each) for each in rows]

    def _bounding_rows(self) -> list[_Rows]:
        """The same before WHERE, which bounds no item that may be NULL: there it comes after the joins."""
        query = self._query
        tree = self._tree()
        nullable = nullable_items(tree)
        conditions = [
            part
            for condition in (query.where, query.window)
            for part in _conjuncts(condition)
            if nullable.isdisjoint(items_of(item_mask(part)))
        ]
        rows = self._rows(tree, frozenset(), self._outer_windows())
        rows = [self._narrowed(each, conditions) for each in rows]
        for exists in query.exists:
            rows = [found for each in rows for found in self._under(each, exists)]
        return rows

    def _tree(self) -> JoinTree:
        return self._query.tree or product_of(range(len(self._query.items)))

    def _asked_at_times(self, rows: _Rows) -> _Rows:
        """Guards that watch tables alone watch a stream of the row too: without one nothing says when they are asked."""
        streams = [at for at in sorted(rows.present) if self._items[at].relation.is_stream]
        if not rows.guards or not streams:
            return rows
        return replace(rows, guards=[self._with_time(each, streams[0]) for each in rows.guards])

    def _with_time(self, guard: _Guard, stream: int) -> _Guard:
        if any(self._items[at].relation.is_stream for at in guard.over):
            marks = [self._asked_at_times(each) for each in guard.marks]
            return replace(guard, marks=marks)
        over = tuple(sorted({*guard.over, stream}))
        marks = [
            self._asked_at_times(replace(each, present=each.present | {stream}))
            for each in guard.marks
        ]
        return replace(guard, over=over, marks=marks, inside=guard.inside - {stream})

    # From leaves up

    def _rows(self, tree: JoinTree, context: frozenset[int], windows: _Windows) -> list[_Rows]:
        """The rows of a tree; `context` are items of queries around it, which are always present."""
        if isinstance(tree, int):
            own = self._narrowed(_Rows(context | {tree}), [self._before.get(tree)])
            return [self._timed(own, windows)]
        left, right = (self._rows(side, context, windows) for side in (tree.left, tree.right))
        found = [self._matched(one, two, tree.condition, windows) for one in left for two in right]
        kept = [each for each in found if each is not None and not each.never]
        if tree.kind is not JoinKind.INNER:
            kept += [self._unmatched(each, right, tree, windows) for each in left]
        if tree.kind is JoinKind.FULL:
            kept += [self._unmatched(each, left, tree, windows) for each in right]
        return kept

    def _matched(
        self, one: _Rows, two: _Rows, condition: Expression | None, windows: _Windows
    ) -> _Rows | None:
        """Rows of both sides together; None where a condition on event times is against an absent item."""
        both = _Rows(
            one.present | two.present,
            _merged(one.conditions, two.conditions),
            [*one.edges, *two.edges],
            [*one.guards, *two.guards],
            one.never or two.never,
        )
        if self._is_void(condition, both.present):
            return None
        return self._timed(self._narrowed(both, [condition]), windows)

    def _unmatched(
        self, rows: _Rows, others: Sequence[_Rows], join: Joined, windows: _Windows
    ) -> _Rows:
        marks = []
        for other in others:
            found = self._matched(replace(rows, guards=[]), other, join.condition, windows)
            if found is not None:
                marks.append(found)
        return self._guarded(rows, negated=True, over=rows.present, marks=marks, is_join=True)

    def _guarded(
        self,
        rows: _Rows,
        *,
        negated: bool,
        over: frozenset[int],
        marks: list[_Rows],
        is_join: bool = False,
    ) -> _Rows:
        inside = frozenset(item for each in marks for item in self._inside(each)) - over
        guard = _Guard(negated, tuple(sorted(over)), marks, inside, is_join)
        return rows.with_guard(guard)

    def _inside(self, rows: _Rows) -> Iterable[int]:
        yield from rows.present
        for guard in rows.guards:
            yield from guard.inside

    def _timed(self, rows: _Rows, windows: _Windows) -> _Rows:
        """The same with what MAXWINDOW and RANGE say of the items together."""
        streams = [at for at in rows.present if self._items[at].relation.is_stream]
        ranges = {at: self._items[at].range_us for at in streams if at in windows.ranged}
        edges = edges_of_windows(streams, windows.max_window_us, ranges)
        return replace(rows, edges=[*rows.edges, *edges])

    def _is_void(self, condition: Expression | None, present: frozenset[int]) -> bool:
        return any(
            self._is_about_time(part) and not present.issuperset(items_of(item_mask(part)))
            for part in _conjuncts(condition)
        )

    def _is_about_time(self, condition: Expression) -> bool:
        columns = list(_columns(condition))
        return bool(columns) and all(
            self._items[each.item].relation.event_time == each.column
            or each.column in of_item(self._items[each.item])
            for each in columns
        )

    def _narrowed(self, rows: _Rows, conditions: Sequence[Expression | None]) -> _Rows:
        """The rows for which more conditions hold."""
        kept, edges, never = list(rows.conditions), list(rows.edges), rows.never
        for condition in conditions:
            for part in _conjuncts(condition):
                for known in _conjuncts(fold(without_items(part, rows.present))):
                    if isinstance(known, Literal):
                        never |= known.value is not True
                        continue
                    edges += edges_of_condition(known, self._items)
                    if known not in kept:
                        kept.append(known)
        return replace(rows, conditions=kept, edges=edges, never=never)

    # EXISTS

    def _under(self, rows: _Rows, exists: Exists) -> list[_Rows]:
        """The rows under the guard of an EXISTS; none where it can never be true."""
        if self._query.pull is None and may_have_keys(exists):
            keyed = self._under_keys(rows, exists)
            if keyed is not None:
                return keyed
        over = mentioned_around(exists) & rows.present
        if not any(self._items[at].relation.is_stream for at in over) and (
            self._query.pull is None or not self._has_stream(exists)
        ):
            # Something must tell when the question is asked: a stream of the row.
            streams = [at for at in rows.present if self._items[at].relation.is_stream]
            over |= frozenset(sorted(streams)[:1])
        marks = self._rows_of(exists, over, rows.present)
        if not marks:
            return [rows] if exists.negated else []
        if not exists.negated and all(each.never for each in marks):
            return []
        return [self._guarded(rows, negated=exists.negated, over=over, marks=marks)]

    def _rows_of(self, exists: Exists, over: frozenset[int], around: frozenset[int]) -> list[_Rows]:
        """The combinations that answer an EXISTS, each with the tuples around it that are watched."""
        own = range(exists.first, exists.first + len(exists.items))
        windows = _Windows(exists.max_window_us, frozenset(own))
        found: list[_Rows] = []
        for each in self._rows(exists.tree, over, windows):
            conditions = [exists.where, exists.window]
            known = each.present | around
            if any(self._is_void(part, known) for part in conditions):
                continue
            for compared in _membership(exists):
                rows = self._narrowed(each, [*conditions, compared])
                inner = [rows]
                for nested in exists.exists:
                    inner = [more for one in inner for more in self._under(one, nested)]
                found += inner
        return found

    def _under_keys(self, rows: _Rows, exists: Exists) -> list[_Rows] | None:
        """The same where the past inside is not bounded and times per key say enough; None: otherwise."""
        found = rows
        for compared in _membership(exists):
            before = self._before.get(exists.first)
            conditions = [exists.where, exists.window, compared, before]
            known = self._narrowed(_Rows(rows.present | {exists.first}), conditions)
            keyed = keys_of(known.conditions, exists.first, self._items)
            if keyed is None:
                return None
            if known.never or any(self._is_void(each, known.present) for each in conditions):
                if not exists.negated:
                    return []
                continue
            mark = _Rows(frozenset({exists.first}), keyed.inner, keyed.edges)
            inside = frozenset({exists.first})
            guard = _Guard(exists.negated, keyed.watched, [mark], inside, keys=keyed.pairs)
            found = found.with_guard(guard)
        return [found]

    def _has_stream(self, exists: Exists) -> bool:
        return any(item.relation.is_stream for item in exists.items)

    # From rows to queries

    def _pattern(
        self, rows: _Rows, windows: _Windows, outputs: tuple[Output, ...] | None
    ) -> Pattern:
        items = tuple(sorted(rows.present))
        guards = [self._guard(guard, items, rows) for guard in rows.guards]
        return Pattern(self._part(rows, items, windows, outputs), items, tuple(guards))

    def _guard(self, guard: _Guard, items: tuple[int, ...], rows: _Rows) -> Guard:
        watched = set(guard.over)
        own = [each for each in rows.conditions if watched.issuperset(items_of(item_mask(each)))]
        own = own if guard.keys is None else []
        marks = []
        for each in guard.marks:
            if not each.never:
                narrowed = replace(each, conditions=_merged(each.conditions, own))
                marks.append(self._pattern(narrowed, self._windows_of(guard, each), None))
        inside = {at for at in guard.inside if self._items[at].relation.is_stream}
        sources = [at for at in guard.over if self._items[at].relation.is_stream]
        by_source = dict.fromkeys(
            row
            for each in guard.marks
            for items_inside, edges in _ways(each)
            for row in zip(
                reach_of(sources, sorted(inside & items_inside), edges),
                ends_of(sources, sorted(inside & items_inside), edges),
                strict=True,
            )
        )
        places = {at: place for place, at in enumerate(sources)}
        reach = tuple(
            tuple(row[places[at]] if at in places else None for at in guard.over)
            for row, _ in by_source
        )
        ends = tuple(
            tuple((guard.over.index(sources[at]), column, us) for at, column, us in found)
            for _, found in by_source
        )
        streams = tuple(sorted({fold_name(self._items[at].relation.name) for at in inside}))
        over = tuple(items.index(at) for at in guard.over)
        keys = None if guard.keys is None else self._keys(guard, items)
        return Guard(guard.negated, over, tuple(marks), reach, streams, guard.is_join, ends, keys)

    def _keys(self, guard: _Guard, items: tuple[int, ...]) -> tuple[KeyPair, ...]:
        outside, inside = [-1] * len(self._items), [-1] * len(self._items)
        for place, at in enumerate(items):
            outside[at] = place
        for at in guard.inside:
            inside[at] = 0
        return tuple(
            KeyPair(renumber(pair.outer, outside), renumber(pair.inner, inside))
            for pair in guard.keys or ()
        )

    def _windows_of(self, guard: _Guard, mark: _Rows) -> _Windows:
        """The windows of the query that a mark belongs to."""
        own = mark.present - frozenset(guard.over)
        for exists in _exists_in(self._query.exists):
            inner = frozenset(range(exists.first, exists.first + len(exists.items)))
            if own & inner:
                return _Windows(exists.max_window_us, inner)
        return _Windows(self._query.max_window_us, frozenset(range(len(self._query.items))))

    def _part(
        self,
        rows: _Rows,
        items: tuple[int, ...],
        windows: _Windows,
        outputs: tuple[Output, ...] | None,
    ) -> NormalQuery:
        query = self._query
        positions = [-1] * len(self._items)
        for place, at in enumerate(items):
            positions[at] = place
        conditions = [renumber(each, positions) for each in rows.conditions]
        where = None
        if conditions:
            where = conditions[0] if len(conditions) == 1 else And(tuple(conditions), query.span)
        made = tuple(
            Output(each.name, renumber(without_items(each.expression, rows.present), positions))
            for each in outputs or ()
        )
        part = Query(
            query.name,
            tuple(self._item(at, windows) for at in items),
            made,
            where,
            None,
            windows.max_window_us,
            query.pull,
            query.span,
        )
        return self._normalise(part)

    def _item(self, at: int, windows: _Windows) -> Item:
        item = self._items[at]
        return item if at in windows.ranged else replace(item, range_us=None, rows=None)


def absence_patterns(
    query: Query, normalise: Normalise, before: Mapping[int, Expression]
) -> tuple[Pattern, ...]:
    """The patterns whose combinations are the rows of the query; `before` are conditions of items that hold before the joins."""
    return _Planner(query, normalise, before).patterns()


def mentioned_around(exists: Exists) -> frozenset[int]:
    """The items of the queries around that a query inside speaks of."""
    own = set(range(exists.first, exists.first + len(exists.items)))
    return frozenset(_mentioned_in(exists)) - own


def _membership(exists: Exists) -> list[Expression | None]:
    """The conditions under which a row inside counts for `x IN`: x = y; for NOT IN also where that is NULL."""
    if exists.compared is None:
        return [None]
    left, right = exists.compared
    equal: Expression = Comparison(left, ComparisonOp.EQ, right, exists.span)
    if not exists.negated:
        return [equal]
    return [equal, IsNull(right, exists.span), IsNull(left, exists.span)]


def _mentioned_in(exists: Exists) -> Iterable[int]:
    expressions: list[Expression | None] = [exists.where, exists.window, *(exists.compared or ())]
    expressions += _tree_conditions(exists.tree)
    for each in expressions:
        if each is not None:
            yield from items_of(item_mask(each))
    for nested in exists.exists:
        own = range(nested.first, nested.first + len(nested.items))
        yield from (item for item in _mentioned_in(nested) if item not in own)


def _tree_conditions(tree: JoinTree) -> list[Expression | None]:
    if isinstance(tree, int):
        return []
    return [*_tree_conditions(tree.left), *_tree_conditions(tree.right), tree.condition]


def _exists_in(exists: Iterable[Exists]) -> Iterable[Exists]:
    for each in exists:
        yield each
        yield from _exists_in(each.exists)


def _ways(rows: _Rows) -> Iterable[tuple[frozenset[int], list[Edge]]]:
    """The items of rows, and of what is absent in them, each with the bounds that say when its tuples can come."""
    yield rows.present, rows.edges
    for guard in rows.guards:
        for mark in guard.marks:
            for items, edges in _ways(mark):
                yield items - rows.present, [*rows.edges, *edges]


def _merged(one: Sequence[Expression], two: Sequence[Expression]) -> list[Expression]:
    return [*one, *(each for each in two if each not in one)]


def _conjuncts(condition: Expression | None) -> Iterable[Expression]:
    if condition is None:
        return
    if isinstance(condition, And):
        for operand in condition.operands:
            yield from _conjuncts(operand)
    else:
        yield condition


def _columns(expression: Expression) -> Iterable[ColumnRef]:
    if isinstance(expression, ColumnRef):
        yield expression
    for part in children(expression):
        yield from _columns(part)


def looks_back_only(query: Query) -> bool:
    """Whether the result time of a query over one stream is the event time of its tuple: nothing inside can come after it."""
    if not query.has_absence:
        return True
    streams = set(query.stream_items)
    planner = _Planner(query, lambda part: part)  # type: ignore[arg-type, return-value]
    for rows in planner.all_rows():
        for guard in rows.guards:
            inside = sorted(at for at in guard.inside if query.all_items[at].relation.is_stream)
            for mark in guard.marks:
                for us in reach_of(sorted(streams), inside, mark.edges):
                    if us[0] is None or us[0] > 0:
                        return False
    return True


def unbounded_pair(query: Query) -> tuple[int, int] | None:
    """Two stream items of one pattern, where the second can come at any time after the first; None where there are none.

    OR and NOT bound nothing, so what counts are the conditions as they are written.
    """
    planner = _Planner(query, lambda part: part)  # type: ignore[arg-type, return-value]
    for rows in planner.all_rows():
        pair = planner.unbounded_in(rows)
        if pair is not None:
            return pair
    return None


def kept_by_key(query: Query) -> list[int]:
    """The items inside EXISTS of which a time is kept for every value of some keys."""
    planner = _Planner(query, lambda part: part)  # type: ignore[arg-type, return-value]
    found = [
        min(guard.inside)
        for rows in planner.all_rows()
        for guard in rows.guards
        if any(list(_columns(pair.inner)) for pair in guard.keys or ())
    ]
    return list(dict.fromkeys(found))
