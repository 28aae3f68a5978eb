"""Where each query of a program is answered when the work is spread over many machines, and which tuples travel for it.

Every query belongs to one of three places:

- *where its tuples are read*: a query over one stream, alone or with tables, needs no other tuple;
- *in cells*: a join whose tuples are dealt out so that the tuples of one result always meet in exactly one cell;
- *in one cell*: what depends on all tuples at once, such as ROWS, and what waits in order for the watermark (views that are made, alerts).

A row that depends on what is not there (outer joins, EXISTS) is decided in one cell too: the tuples of all its patterns are dealt out by
one value that all their equalities have in common, a tuple without that value (NULL) by none.

Rows of windows and OVER wait in cells too: by a column that all keys of GROUP BY or PARTITION BY have, or in one cell.

The cells of a group of queries form a box of one or more **axes**. A stream has a coordinate on an axis (the hash of a
column that the join makes equal, or any number, dealt out in turn), or none, and then its tuples go to every place along that
axis. A result has one coordinate on each axis, that of whichever of its tuples has one, and so it is found in one cell only.

    A.k = B.k                      one axis by k: every tuple goes to one cell
    A.x = B.x AND B.y = C.y        two axes, x and y: B goes to one cell, A along all y, C along all x
    A.v < B.w, 4 cells             two axes dealt out in turn, 2 x 2: each tuple goes to 2 cells (to 1 and to 4 on one axis)

This is the hypercube of shares (Afrati and Ullman, "Optimizing joins in a map-reduce environment", EDBT 2010). How many places
an axis has is chosen so that each cell receives as little as possible.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import bases_of
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.bound import (
    Aggregate,
    AggregateFunction,
    ColumnRef,
    Decision,
    WindowKind,
    children,
    overs_in,
)
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType, DecimalType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery

_MOST_WAYS = 64  # to choose columns, that are looked at
_MOST_AXES = 4  # with cells to share out; more would leave each with one place


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a box of cells: `size` places.

    `columns` are the streams (folded names) whose coordinate is the hash of a column; `dealt` is the stream whose tuples
    are dealt out in turn. Any other stream goes to every place.
    """

    size: int
    columns: tuple[tuple[str, int], ...] = ()
    dealt: str | None = None
    as_double: bool = False  # some of the columns are DOUBLE: BIGINT is compared as DOUBLE
    holds_null: bool = False  # NULL is a value like others, as for groups and partitions

    def column_of(self, stream: str) -> int | None:
        return dict(self.columns).get(stream)

    def places(self, stream: str) -> int:
        """To how many places a tuple of the stream goes."""
        known = stream == self.dealt or self.column_of(stream) is not None
        return 1 if known else self.size


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that are answered in the same cells.

    `whole` are streams of which every tuple must come, whether a condition wants it or not.
    """

    number: int
    axes: tuple[Axis, ...]  # none: one cell
    streams: frozenset[str]  # folded names
    queries: tuple[str, ...]
    reason: str
    whole: frozenset[str] = frozenset()
    fixed: bool = False  # no query is placed in it for what it asks
    waits: bool = (
        False  # what cannot be made again of tuples is remembered, beside rows of windows and OVER
    )

    @property
    def cells(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    def copies(self, stream: str) -> int:
        """To how many cells each tuple of a stream goes."""
        return math.prod(axis.places(stream) for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where every query is answered."""

    stateless: tuple[str, ...]  # where the tuples are read
    groups: tuple[Group, ...]

    def group_of(self, query: str) -> Group | None:
        return next((group for group in self.groups if query in group.queries), None)


@dataclass(frozen=True, slots=True)
class _Scheme:
    """How one query would be spread, before it is known which others share its cells."""

    axes: tuple[Axis, ...]
    streams: frozenset[str]
    reason: str
    whole: frozenset[str] = frozenset()
    waits: bool = False


def place(
    queries: Iterable[QueryNode], partitions: int, weights: Mapping[str, float] | None = None
) -> Placement:
    """Choose where queries are answered.

    Args:
        queries: nodes of the shared graph.
        partitions: how many cells a group may have.
        weights: how much each stream (folded name) carries, in any unit; alike by default.
    """
    chooser = Chooser(partitions, weights)
    nodes = list(queries)
    chooser.prefer(nodes)
    for node in nodes:
        chooser.add(node)
    return chooser.placement


class Chooser:
    """Places queries one by one; what was placed stays where it is."""

    def __init__(self, partitions: int, weights: Mapping[str, float] | None = None) -> None:
        self._partitions = partitions
        self._weights = dict(weights or {})
        self._stateless: list[str] = []
        self._groups: list[Group] = []
        self._members: list[dict[str, None]] = []
        self._popular: Counter[tuple[str, int]] = Counter()
        self._schemes: dict[tuple[int, str], _Scheme] = {}
        self._settled = False
        self._sizes: dict[int, tuple[int, ...]] = {}  # of the axes, by group number

    @property
    def placement(self) -> Placement:
        return Placement(tuple(self._stateless), self.groups)

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(self.groups_with(number) for number in range(len(self._groups)))

    def prefer(self, nodes: Sequence[QueryNode]) -> None:
        """Let columns that many joins make equal be chosen where there is a choice."""
        hosts = {id(node.body.host): node.body.host for node in nodes if node.body.host is not None}
        for host in hosts.values():
            for each in host.classes:
                self._popular.update(
                    {(fold(host.relations[item].name), column) for item, column in each}
                )

    def settle(self) -> None:
        """From now on tuples are under way: a column that has been hashed is hashed the same way for ever."""
        _ = self.groups  # they have the sizes that they keep
        self._settled = True
        self._schemes.clear()  # hosts of queries to come may have other numbers

    def drop(self, name: str) -> None:
        """A query leaves; its group stays, for others may come."""
        for members in self._members:
            members.pop(name, None)

    def add(self, node: QueryNode) -> Group | None:
        """Place a query: the group it belongs to; None where it is answered where its tuples are read."""
        waits = waiting_reason(node)
        if waits or node.patterns:
            number = self._group_for(self._absent_scheme(node, waits))
            self._members[number][node.name] = None
            return self.groups_with(number)
        streams = [each for each in node.body.relations if each.is_stream]
        holds = node.decided is not None and node.decided.decision is not Decision.ROWS
        if node.pull is None and len(streams) == 1 and not holds:
            self._stateless.append(node.name)
            return None
        if holds:
            number = self._group_for(_waiting_scheme(node))
            self._members[number][node.name] = None
            return self.groups_with(number)
        kind = "rows" if node.body.rows else _whole_reason(node)
        host = node.body.host
        key = (-1 if host is None else host.number, kind)
        known = host is not None and not self._settled
        scheme = self._schemes.get(key) if known else None
        if scheme is None:
            scheme = self._schemes[key] = self._scheme(node, kind)
        number = self._group_for(scheme)
        self._members[number][node.name] = None
        return self.groups_with(number)

    def add_group(self, group: Group) -> Group:
        """A group that was made otherwise; queries are not placed in it."""
        made = replace(group, number=len(self._groups), fixed=True)
        self._groups.append(made)
        self._members.append(dict.fromkeys(group.queries))
        return made

    def close(self, number: int) -> None:
        """No more queries are placed in a group; those that are there stay."""
        self._groups[number] = replace(self._groups[number], fixed=True)

    def groups_with(self, number: int) -> Group:
        """A group, with its queries and the sizes of its axes."""
        group = self._groups[number]
        if number not in self._sizes or not self._settled:
            self._sizes[number] = self._shares(group.axes, group.streams)
        axes = tuple(
            replace(axis, size=size)
            for axis, size in zip(group.axes, self._sizes[number], strict=True)
            if size > 1
        )
        return replace(group, axes=axes, queries=tuple(self._members[number]))

    def _scheme(self, node: QueryNode, whole_reason: str) -> _Scheme:
        streams = frozenset(fold(each.name) for each in node.body.relations if each.is_stream)
        if node.body.rows:
            counted = "ROWS counts the last tuples of a whole stream"
            return _Scheme((), streams, counted, whole=streams)
        if whole_reason:
            return _Scheme((), streams, whole_reason)
        return self._spread(node.body.relations, _classes(node), streams)

    def _absent_scheme(self, node: QueryNode, waits: str) -> _Scheme:
        """Of a query whose rows wait, or depend on what is not there."""
        streams = frozenset(bases_of(relations_of(node)))
        if waits:
            return _Scheme((), streams, waits, whole=streams, waits=True)
        if node.pull is not None:
            return _Scheme((), streams, "absence is judged among all rows of a window", streams)
        parts = [pattern.query for pattern in all_patterns(node.patterns)]
        alone = [sum(item.relation.is_stream for item in part.items) == 1 for part in parts]
        if len(streams) == 1 and all(alone):
            (stream,) = streams
            return _Scheme((Axis(1, dealt=stream),), streams, "tables say what is missing")
        axis = _common_axis(parts)
        if axis is None:
            return _Scheme((), streams, "what is missing has no value in common", whole=streams)
        reason = "what is missing is decided where its value is"
        return _Scheme((axis,), streams, reason)

    def _spread(
        self,
        relations: tuple[Relation, ...],
        classes: Sequence[Sequence[tuple[int, int]]],
        streams: frozenset[str],
    ) -> _Scheme:
        if len(streams) == 1 and sum(each.is_stream for each in relations) == 1:
            (stream,) = streams
            dealt = Axis(1, dealt=stream)
            return _Scheme((dealt,), streams, "the parts of an answer can be put together")
        axes = [axis for axis in (_axis(relations, each) for each in classes) if axis is not None]
        covering = [axis for axis in axes if len(axis.columns) == len(streams)]
        if covering:
            best = max(covering, key=lambda axis: sum(self._popular[each] for each in axis.columns))
            return _Scheme((best,), streams, "the tuples of a result have one value in common")
        times = Counter(fold(each.name) for each in relations if each.is_stream)
        placed = {stream for axis in axes for stream, _ in axis.columns}
        axes += [
            Axis(1, dealt=stream)
            for stream, count in sorted(times.items())
            if count == 1 and stream not in placed
        ]
        if not axes:
            return _Scheme((), streams, "a stream is joined with itself without an equality")
        return _Scheme(tuple(axes[:_MOST_AXES]), streams, "no equality covers all streams")

    def _shares(self, axes: tuple[Axis, ...], streams: frozenset[str]) -> tuple[int, ...]:
        """Sizes of the axes such that each cell receives least."""

        def cost(shape: tuple[int, ...]) -> tuple[float, float]:
            sized = [replace(axis, size=size) for axis, size in zip(axes, shape, strict=True)]
            sent = sum(
                self._weights.get(stream, 1.0) * math.prod(axis.places(stream) for axis in sized)
                for stream in streams
            )
            return sent / math.prod(shape), sent

        return min(_shapes(len(axes), self._partitions), key=cost)

    def _group_for(self, scheme: _Scheme) -> int:
        for number, group in enumerate(self._groups):
            merged = _merged(group, scheme)
            if merged is not None and self._settled:
                before = [(axis.dealt, axis.as_double) for axis in group.axes]
                if before != [(axis.dealt, axis.as_double) for axis in merged.axes]:
                    continue
            if merged is not None and not group.fixed:
                self._groups[number] = merged
                return number
        self._groups.append(
            Group(
                len(self._groups),
                scheme.axes,
                scheme.streams,
                (),
                scheme.reason,
                scheme.whole,
                waits=scheme.waits,
            )
        )
        self._members.append({})
        return len(self._groups) - 1


def _merged(group: Group, scheme: _Scheme) -> Group | None:
    """The group with one more query, when its cells suit it: tuples that both want then travel once."""
    if group.reason != scheme.reason:
        return None
    if group.axes == scheme.axes and group.streams == scheme.streams:
        return replace(group, whole=group.whole | scheme.whole)
    if not group.axes and not scheme.axes:
        return replace(
            group, streams=group.streams | scheme.streams, whole=group.whole | scheme.whole
        )
    if len(group.axes) != 1 or len(scheme.axes) != 1:
        return None
    ours, theirs = group.axes[0], scheme.axes[0]
    if ours.dealt or theirs.dealt or ours.size != theirs.size:
        return None
    mine, other = dict(ours.columns), dict(theirs.columns)
    shared = mine.keys() & other.keys()
    covers = len(mine) == len(group.streams) and len(other) == len(scheme.streams)
    if not covers or not shared or any(mine[stream] != other[stream] for stream in shared):
        return None
    both = tuple(sorted({**mine, **other}.items()))
    axis = Axis(ours.size, both, None, ours.as_double or theirs.as_double, ours.holds_null)
    return replace(group, axes=(axis,), streams=group.streams | scheme.streams)


def _waiting_scheme(node: QueryNode) -> _Scheme:
    """Where rows of windows or OVER wait: with all others of their key."""
    decided = node.decided
    assert decided is not None
    stream = fold(node.items[decided.by].relation.name)
    columns = _key_columns(node)
    if not columns:
        return _Scheme((), frozenset({stream}), "no column is a key of all its windows or OVER")
    axis = Axis(1, ((stream, min(columns)),), holds_null=True)
    return _Scheme((axis,), frozenset({stream}), "the rows of a key wait together")


def _key_columns(node: QueryNode) -> set[int]:
    """The columns of the stream of which rows with different values never meet."""
    decided = node.decided
    assert decided is not None
    relation = node.items[decided.by].relation
    roots = [*(output.expression for output in node.outputs), decided.having, decided.qualify]
    keys = [over.partition for over in overs_in(*roots)]
    if decided.is_aggregate:
        if decided.order_by or decided.limit is not None or decided.distinct:
            return set()
        if decided.grouping_sets:
            return set()
        keys.append(decided.group_by)
    if decided.window is not None and decided.window.kind is WindowKind.SESSION:
        keys.append(decided.window.keys)
    found = set(range(len(relation.columns)))
    for each in keys:
        found &= {
            key.column for key in each if isinstance(key, ColumnRef) and key.item == decided.by
        }
    types = {at: relation.columns[at].type for at in found}
    return {
        at for at, type_ in types.items() if type_ is ColumnType.STRING or not type_.held_as_text
    }


def relations_of(node: QueryNode) -> list[Relation]:
    """What a query reads, in outer joins and EXISTS too."""
    parts = [pattern.query for pattern in all_patterns(node.patterns)]
    items = [*node.items, *(item for part in parts for item in part.items)]
    return [item.relation for item in items]


def waiting_reason(node: QueryNode) -> str:
    """Why a query is answered in one cell that remembers more than tuples; empty for others."""
    if node.alert is not None:
        return "an alert looks at observations in their order"
    if any(relation.made_by is not None for relation in relations_of(node)):
        return "the rows of a view are made in one place"
    if any(guard.keys for each in all_patterns(node.patterns) for guard in each.guards):
        return "the times of keys are kept in one place"
    return ""


def _common_axis(parts: Sequence[NormalQuery]) -> Axis | None:
    """The axis on which the tuples of every part have one place: a column of each stream, all equal wherever streams meet."""
    chosen: list[tuple[dict[str, int], bool]] = [
        ({}, False)
    ]  # ways to take a column of each stream; as DOUBLE
    streams: set[str] = set()
    for part in parts:
        items = {
            at: fold(each.relation.name)
            for at, each in enumerate(part.items)
            if each.relation.is_stream
        }
        streams.update(items.values())
        if len(items) < 2:
            continue
        ways = []
        for members in _equal_columns(part):
            per_item = {at: {column for item, column in members if item == at} for at in items}
            per_stream: dict[str, set[int]] = {}
            for at, stream in items.items():
                own = per_item[at]
                per_stream[stream] = per_stream.get(stream, own) & own
            if all(per_stream.values()):
                types = {part.items[item].relation.columns[column].type for item, column in members}
                way = {stream: min(columns) for stream, columns in per_stream.items()}
                ways.append((way, ColumnType.DOUBLE in types))
        chosen = [
            ({**one, **other}, one_double or other_double)
            for one, one_double in chosen
            for other, other_double in ways
            if all(one.get(stream, column) == column for stream, column in other.items())
        ][:_MOST_WAYS]
    if not chosen or chosen[0][0].keys() != streams:
        return None
    columns, as_double = chosen[0]
    return Axis(1, tuple(sorted(columns.items())), None, as_double, holds_null=True)


def _equal_columns(part: NormalQuery) -> list[set[tuple[int, int]]]:
    """Items and columns that a query makes equal, class by class."""
    classes: list[set[tuple[int, int]]] = []
    for each in part.equi_joins:
        both = {(each.left_item, each.left_column), (each.right_item, each.right_column)}
        touched = [known for known in classes if known & both]
        classes = [known for known in classes if not known & both]
        classes.append(both.union(*touched))
    return classes


def _classes(node: QueryNode) -> Sequence[Sequence[tuple[int, int]]]:
    if node.body.host is not None:
        return node.body.host.classes
    return ()


def _axis(relations: tuple[Relation, ...], members: Sequence[tuple[int, int]]) -> Axis | None:
    """The axis of columns that a join makes equal; None when no stream has a coordinate by it.

    A stream that comes twice in FROM has one only where both items have the same column in the class: else a tuple would
    have two, one for each part it can play, and a result could be found in two cells.
    """
    items: dict[str, list[int]] = {}
    for item, relation in enumerate(relations):
        if relation.is_stream:
            items.setdefault(fold(relation.name), []).append(item)
    columns: list[tuple[str, int]] = []
    types: set[ColumnType] = set()
    for stream, own in sorted(items.items()):
        common = set.intersection(
            *({column for at, column in members if at == item} for item in own)
        )
        if common:
            columns.append((stream, min(common)))
    for item, column in members:
        types.add(relations[item].columns[column].type)
    if not columns:
        return None
    return Axis(1, tuple(columns), None, ColumnType.DOUBLE in types)


def _shapes(axes: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Every way to give axes sizes whose product is at most `cells`."""
    if not axes:
        yield ()
        return
    for size in range(1, cells + 1):
        for rest in _shapes(axes - 1, cells // size):
            yield (size, *rest)


def _whole_reason(node: QueryNode) -> str:
    """Why the rows of a pull query must come together in one place; empty when parts can be put together."""
    if node.pull is None:
        return ""
    if not node.pull.is_aggregate:
        shown = [output.expression for output in node.outputs]
        return "OVER needs all rows together" if overs_in(*shown, node.pull.qualify) else ""
    if node.pull.grouping_sets:
        return "ROLLUP, CUBE and GROUPING SETS need all rows together"
    roots: list[Expression] = [output.expression for output in node.outputs]
    roots += [order.expression for order in node.pull.order_by]
    roots += [] if node.pull.having is None else [node.pull.having]
    for root in roots:
        for aggregate in aggregates_in(root):
            if aggregate.function.needs_rows:
                return f"{aggregate.name} needs all rows of a group together"
            if aggregate.distinct:
                return "an aggregate of distinct values needs all of them together"
            argument = aggregate.argument
            if argument is None or aggregate.function is AggregateFunction.COUNT:
                continue
            if isinstance(argument.type, DecimalType):
                return f"{aggregate.function.value} of DECIMAL has no partial aggregate"
            ordered = aggregate.function in (AggregateFunction.MIN, AggregateFunction.MAX)
            if ordered and (argument.type.held_as_text or argument.type is ColumnType.NULL):
                return "MIN and MAX of text have no partial aggregate"
    return ""


def aggregates_in(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates of an expression."""
    if isinstance(expression, Aggregate):
        yield expression
        return
    for part in children(expression):
        yield from aggregates_in(part)
