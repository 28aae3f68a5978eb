"""LANGUAGE-2.md section 6 written as nested loops: outer joins and EXISTS over the whole input.

A row has a tuple or nothing for each item, and a result time. Joins are done pair by pair from the leaves up, EXISTS by going
through all inner combinations. When a row without a partner is a result follows from the time conditions as they are written:
what a comparison says of two event times is found by evaluating it at a few instants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.join_tree import Exists, Joined, JoinKind, JoinTree
from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle.scalars import Row, Scope, Value, evaluate, is_true

Functions = Mapping[str, Callable[..., Value]]
HOUR_US = 3_600_000_000
# Earlier item, later item, microseconds; (item, column) stands for the instant in a window column.
Node = int | tuple[int, int]
Limits = list[tuple[Node, Node, int]]
Missing = tuple[
    set[int], JoinTree, "bound.Expression | None"
]  # beside what, which side, under which condition


@dataclass(frozen=True)
class Member:
    """One tuple standing for one item. Tuples of tables have no time."""

    row: Row
    ts_us: int | None
    arrival: int


Members = dict[int, Member | None]


@dataclass(frozen=True)
class Made:
    """A row: what stands for each item (None: NULL), and its result time (None: of tables alone)."""

    members: Members
    ts_us: int | None


@dataclass(frozen=True)
class Bounds:
    """MAXWINDOW, and RANGE by item."""

    max_window_us: int | None
    ranges: Mapping[int, int | None]


class Absence:
    """One query over the tuples of each item (those of EXISTS included)."""

    def __init__(
        self,
        query: bound.Query,
        choices: Sequence[Sequence[Member]],
        functions: Functions,
    ) -> None:
        self.query = query
        self.items = query.all_items
        self.choices = choices
        self.functions = functions
        self.waits = query.pull is None

    def rows(self) -> list[Made]:
        query = self.query
        own = range(len(query.items))
        bounds = Bounds(query.max_window_us, {at: query.items[at].range_us for at in own})
        tree = listed(own) if query.tree is None else query.tree
        found = [
            made
            for made in self.joined(tree, {}, bounds)
            if self.inside(made.members, bounds)
            and self.holds(query.where, made.members)
            and self.holds(query.window, made.members)
        ]
        for exists in query.exists:
            found = [
                answered for made in found if (answered := self.asked(made, exists)) is not None
            ]
        return found

    # Joins

    def joined(self, tree: JoinTree, around: Members, bounds: Bounds) -> list[Made]:
        """The rows of a tree; `around` are the tuples of queries around it."""
        if isinstance(tree, int):
            return [Made({tree: member}, member.ts_us) for member in self.choices[tree]]
        left = self.joined(tree.left, around, bounds)
        right = self.joined(tree.right, around, bounds)
        found: list[Made] = []
        partners: set[int] = set()
        for one in left:
            alone = True
            for at, two in enumerate(right):
                both = {**one.members, **two.members}
                if self.inside({**around, **both}, bounds) and self.holds(
                    tree.condition, {**around, **both}
                ):
                    found.append(Made(both, latest(one.ts_us, two.ts_us)))
                    partners.add(at)
                    alone = False
            if alone and tree.kind is not JoinKind.INNER:
                found.append(self.without(one, tree.right, tree.condition, around, bounds))
        if tree.kind is JoinKind.FULL:
            found += [
                self.without(two, tree.left, tree.condition, around, bounds)
                for at, two in enumerate(right)
                if at not in partners
            ]
        return found

    def without(
        self,
        made: Made,
        missing: JoinTree,
        condition: bound.Expression | None,
        around: Members,
        bounds: Bounds,
    ) -> Made:
        """A row with NULL for one side, at the later of its time and the last instant."""
        members = {**made.members, **dict.fromkeys(leaves(missing))}
        if not self.waits:
            return Made(members, made.ts_us)
        known = {**around, **made.members}
        last = self.last_instant(known, missing, [condition], bounds)
        return Made(members, latest(made.ts_us, last))

    # EXISTS

    def asked(self, made: Made, exists: Exists, around: Members | None = None) -> Made | None:
        """The row with the time at which the answer is known, or None."""
        outer = {**(around or {}), **made.members}
        own = range(exists.first, exists.first + len(exists.items))
        ranges = {at: self.items[at].range_us for at in own}
        bounds = Bounds(exists.max_window_us, ranges)
        mentioned = {at: outer.get(at) for at in sorted(mentioned_by(exists))}
        true: list[int | None] = []
        for inner in self.joined(exists.tree, mentioned, bounds):
            known = {**mentioned, **inner.members}
            if not self.inside(known, bounds):
                continue
            if not self.holds(exists.where, known) or not self.holds(exists.window, known):
                continue
            if exists.compared is not None and not self.counts(exists, known):
                continue
            answered: Made | None = inner
            for nested in exists.exists:
                if answered is not None:
                    answered = self.asked(answered, nested, mentioned)
            if answered is not None:
                true.append(answered.ts_us)
        if exists.negated:
            if true:
                return None
            if not self.waits:
                return made
            present = {at: member for at, member in mentioned.items() if member is not None}
            last = self.last_instant(
                mentioned | present, exists.tree, [exists.where, exists.window], bounds, exists
            )
            return Made(made.members, latest(made.ts_us, last))
        if not true:
            return None
        if not self.waits or any(ts_us is None for ts_us in true):
            return made
        return Made(made.members, latest(made.ts_us, min(ts for ts in true if ts is not None)))

    def counts(self, exists: Exists, known: Members) -> bool:
        """`x = y` is TRUE; for NOT IN a NULL counts as well."""
        assert exists.compared is not None
        left, right = exists.compared
        equal = bound.Comparison(left, ComparisonOp.EQ, right, exists.span)
        value = evaluate(equal, self.scope(known))
        return value is True or (exists.negated and value is None)

    # Conditions

    def scope(self, members: Members) -> Scope:
        rows: list[Row | None] = []
        for at in range(len(self.items)):
            member = members.get(at)
            rows.append(None if member is None else member.row)
        return Scope(rows, functions=self.functions)

    def holds(self, condition: bound.Expression | None, members: Members) -> bool:
        return is_true(condition, self.scope(members))

    def inside(self, members: Members, bounds: Bounds) -> bool:
        """MAXWINDOW and RANGE over the stream items that are not NULL."""
        times = {
            at: member.ts_us
            for at, member in members.items()
            if member is not None and member.ts_us is not None
        }
        if not times:
            return True
        newest, oldest = max(times.values()), min(times.values())
        if bounds.max_window_us is not None and newest - oldest > bounds.max_window_us:
            return False
        for at, ts_us in times.items():
            width = bounds.ranges.get(at)
            if width is not None and newest > ts_us + width:
                return False
        return True

    # Last instants

    def last_instant(
        self,
        known: Members,
        missing: JoinTree,
        conditions: Sequence[bound.Expression | None],
        bounds: Bounds,
        exists: Exists | None = None,
    ) -> int | None:
        """The largest result time that a combination of the missing side could have by the time conditions."""
        times = {at: member for at, member in known.items() if member is not None}
        context = set() if exists is None else set(times)
        nested = () if exists is None else exists.exists
        ways = self.ways(missing, bounds, set(times), context, conditions, nested)
        found = [self.largest(times, present, limits) for present, limits in ways]
        return max([each for each in found if each is not None], default=None)

    def narrowed(
        self,
        limits: Limits,
        conditions: Sequence[bound.Expression | None],
        present: set[int],
    ) -> Limits | None:
        """More limits; None where a time condition is against an item that is NULL."""
        found = list(limits)
        for condition in conditions:
            for part in conjuncts(condition):
                items = {column.item for column in columns(part)}
                if not self.is_time(part):
                    continue
                if not items <= present:
                    return None
                found += self.limits_of(part)
        return found

    def ways(
        self,
        tree: JoinTree,
        bounds: Bounds,
        known: set[int],
        context: set[int],
        conditions: Sequence[bound.Expression | None],
        nested: Sequence[Exists] = (),
    ) -> Iterator[tuple[set[int], Limits]]:
        """Which items can have a time in a combination of a side that is joined with known items, and their limits.

        An item that is missing in the combination has a time too: its last instant.
        """
        for present, absent, limits in self.patterns(tree, bounds, context):
            together = known | present
            own = [*limits, *self.windows(together, bounds)]
            narrowed = self.narrowed(own, conditions, together)
            if narrowed is None:
                continue
            yield present, narrowed
            for beside, side, condition in absent:
                for inner, more in self.ways(side, bounds, beside | context, context, [condition]):
                    yield present | inner, [*narrowed, *more]
            for each in nested:
                inside = range(each.first, each.first + len(each.items))
                windows = Bounds(each.max_window_us, {at: self.items[at].range_us for at in inside})
                seen = {at for at in mentioned_by(each) if at in together}
                asked = [each.where, each.window]
                for inner, more in self.ways(each.tree, windows, seen, seen, asked, each.exists):
                    yield present | inner, [*narrowed, *more]

    def patterns(
        self, tree: JoinTree, bounds: Bounds, context: set[int]
    ) -> Iterator[tuple[set[int], list[Missing], Limits]]:
        """The sets of items that can be present together, what is missing in each, and the limits among them."""
        if isinstance(tree, int):
            yield {tree}, [], self.windows({tree} | context, bounds)
            return
        left = list(self.patterns(tree.left, bounds, context))
        right = list(self.patterns(tree.right, bounds, context))
        for one, two in product(left, right):
            both = one[0] | two[0]
            limits = self.narrowed([*one[2], *two[2]], [tree.condition], both | context)
            if limits is not None:
                windows = self.windows(both | context, bounds)
                yield both, [*one[1], *two[1]], [*limits, *windows]
        if tree.kind is not JoinKind.INNER:
            for present, absent, limits in left:
                yield present, [*absent, (present, tree.right, tree.condition)], limits
        if tree.kind is JoinKind.FULL:
            for present, absent, limits in right:
                yield present, [*absent, (present, tree.left, tree.condition)], limits

    def windows(self, present: set[int], bounds: Bounds) -> Limits:
        streams = [at for at in present if self.items[at].relation.is_stream]
        return [
            (earlier, later, width)
            for earlier, later in product(streams, streams)
            for width in (bounds.max_window_us, bounds.ranges.get(earlier))
            if width is not None and earlier != later
        ]

    def is_time(self, condition: bound.Expression) -> bool:
        mentioned = list(columns(condition))
        return bool(mentioned) and all(
            self.items[each.item].relation.event_time == each.column
            or window_end_after(self.items[each.item], each.column) is not None
            for each in mentioned
        )

    def limits_of(self, condition: bound.Expression) -> Limits:
        """`later <= earlier + us` for a comparison of two event times, whether equality is inside or not."""
        if not isinstance(condition, bound.Comparison):
            return []
        of_windows = self.window_limits(condition)
        if of_windows:
            return of_windows
        if isinstance(condition.left, bound.FunctionCall) and condition.left.name == "abs":
            return []  # random queries have none
        items = sorted({column.item for column in columns(condition)})
        if len(items) != 2:
            return []
        one, two = items
        base = self.difference_us(condition, {one: 0, two: 0})
        slope_one = self.difference_us(condition, {one: HOUR_US, two: 0}) - base
        slope_two = self.difference_us(condition, {one: 0, two: HOUR_US}) - base
        if {slope_one, slope_two} != {HOUR_US, -HOUR_US}:
            return []
        plus, minus = (one, two) if slope_one > 0 else (two, one)
        # plus - minus + base  op  0
        found = []
        if condition.op in (ComparisonOp.LT, ComparisonOp.LE, ComparisonOp.EQ):
            found.append((minus, plus, -base))
        if condition.op in (ComparisonOp.GT, ComparisonOp.GE, ComparisonOp.EQ):
            found.append((plus, minus, base))
        return found

    def window_limits(self, condition: bound.Comparison) -> Limits:
        """Equal columns of windows: they are one instant, and neither item is after the end of its window."""
        named = list(columns(condition))
        if condition.op is not ComparisonOp.EQ or len({each.item for each in named}) != 2:
            return []
        places = [(each.item, each.column) for each in named]
        ends = [window_end_after(self.items[item], column) for item, column in places]
        found: Limits = [(places[0], places[1], 0), (places[1], places[0], 0)]
        for place, us in zip(places, ends, strict=True):
            if us is None:
                return []
            found.append((place, place[0], us))
        return found

    def difference_us(self, condition: bound.Comparison, times: Mapping[int, int]) -> int:
        rows: list[Row | None] = []
        for at, item in enumerate(self.items):
            numeric = item.relation.is_stream and (
                item.relation.time_type is not ColumnType.TIMESTAMP
            )
            time: Value = times.get(at, 0)
            if numeric:
                whole = item.relation.time_type is ColumnType.BIGINT
                time = times.get(at, 0) // 1_000_000 if whole else times.get(at, 0) / 1_000_000
            rows.append(tuple(time for _ in item.relation.columns))
        scope = Scope(rows, functions=self.functions)
        left, right = evaluate(condition.left, scope), evaluate(condition.right, scope)
        assert isinstance(left, int | float)
        assert isinstance(right, int | float)
        in_seconds = condition.left.type in (ColumnType.BIGINT, ColumnType.DOUBLE)
        return round((left - right) * (1_000_000 if in_seconds else 1))

    def largest(
        self,
        known: Mapping[int, Member],
        present: set[int],
        limits: Limits,
    ) -> int | None:
        """The largest time of an item that is not known, as far as the limits allow."""
        times = {at: member.ts_us for at, member in known.items() if member.ts_us is not None}
        wanted = [at for at in present if at not in known and self.items[at].relation.is_stream]
        most: dict[Node, int] = dict(times)
        for node in (each for limit in limits for each in limit[:2]):
            if isinstance(node, tuple) and node[0] in known:
                value = known[node[0]].row[node[1]]
                assert isinstance(value, int | float)
                type_ = self.items[node[0]].relation.columns[node[1]].type
                most[node] = value if type_ is ColumnType.TIMESTAMP else round(value * 1_000_000)
        for _ in range(len(self.items) + 1):
            for earlier, later, us in limits:
                if earlier in most and later not in known:
                    reached = most[earlier] + us
                    most[later] = min(most.get(later, reached), reached)
        reached_at = [most[at] for at in wanted if at in most]
        return max(reached_at, default=None)


def window_end_after(item: bound.Item, column: int) -> int | None:
    """How long after its value the window of a column ends; None where it is no column of TUMBLE or HOP."""
    own = len(item.relation.columns)
    if column >= own:
        window = item.window
        assert window is not None
        of_session = window.kind is bound.WindowKind.SESSION
        return 0 if column > own else None if of_session else window.size_us
    view = item.relation.view
    if view is None or not item.relation.is_stream:
        return None
    at = column - (1 if view.adds_time else 0)
    if at < 0:
        return None
    ends = set()
    for branch in view.branches:
        output = branch.outputs[at].expression
        is_column = branch.pull is None and isinstance(output, bound.ColumnRef)
        ends.add(window_end_after(branch.items[output.item], output.column) if is_column else None)
    return ends.pop() if len(ends) == 1 else None


def latest(one: int | None, two: int | None) -> int | None:
    known = [each for each in (one, two) if each is not None]
    return max(known, default=None)


def listed(items: range) -> JoinTree:
    tree: JoinTree = items[0]
    for at in items[1:]:
        tree = Joined(JoinKind.INNER, tree, at, None)
    return tree


def leaves(tree: JoinTree) -> list[int]:
    return [tree] if isinstance(tree, int) else [*leaves(tree.left), *leaves(tree.right)]


def conjuncts(condition: bound.Expression | None) -> list[bound.Expression]:
    if condition is None:
        return []
    if isinstance(condition, bound.And):
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def columns(expression: bound.Expression) -> Iterator[bound.ColumnRef]:
    if isinstance(expression, bound.ColumnRef):
        yield expression
    for part in bound.children(expression):
        yield from columns(part)


def mentioned_by(exists: Exists) -> set[int]:
    """The items around a query inside EXISTS that it speaks of."""
    own = set(range(exists.first, exists.first + len(exists.items)))
    expressions = [exists.where, exists.window, *(exists.compared or ())]
    expressions += tree_conditions(exists.tree)
    found = {column.item for each in expressions if each is not None for column in columns(each)}
    for nested in exists.exists:
        found |= mentioned_by(nested)
    return found - own


def tree_conditions(tree: JoinTree) -> list[bound.Expression | None]:
    if isinstance(tree, int):
        return []
    return [*tree_conditions(tree.left), *tree_conditions(tree.right), tree.condition]
