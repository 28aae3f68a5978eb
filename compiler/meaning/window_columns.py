"""Columns that hold the start or the end of a window, and how far event times can be from them.

TUMBLE, HOP and SESSION add such columns, and views pass them on. Two items with equal window columns are bounded against one
another; and a column whose window no row of its view is after says when a group or a partition is complete.

    TUMBLE(s, 10 SEC)               window_end      event times are 10 s to 1 us before it
    ... GROUP BY window_end, k      window_end      the event time of a row is exactly that
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import (
    And,
    Cast,
    ColumnRef,
    Comparison,
    ComparisonOp,
    TableWindow,
    WindowKind,
)
from cqc.compiler.meaning.join_tree import Joined, JoinKind, joins_of, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cqc.compiler.meaning.bound import Expression, Item, Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.join_tree import JoinTree

Place = tuple[int, int]  # an item and one of its columns


@record
class WindowColumn:
    """What is known of a window column, in microseconds after its value; None where nothing is.

    `end_us`: the end of the window. `least_us`, `most_us`: between these are event times. `is_late`: a row at the end of the window comes
    when the watermark is greater, not when it has reached it. `window`: where the column comes from.
    """

    end_us: int | None
    least_us: int | None
    most_us: int | None
    is_late: bool
    window: TableWindow

    @property
    def is_complete(self) -> bool:
        """Whether no row is after the end of its window."""
        return None not in (self.end_us, self.most_us) and self.most_us <= self.end_us  # type: ignore[operator]

    @property
    def last(self) -> tuple[int, bool] | None:
        """The last instant for rows with a value of this column, after the value, and whether rows come before it alone."""
        if self.is_complete:
            assert self.end_us is not None
            return self.end_us, not self.is_late
        return None if self.most_us is None else (self.most_us, False)


Known = dict[int, WindowColumn]


def of_relation(relation: Relation) -> Known:
    """The window columns that a view passes on."""
    if relation.made_by is not None:
        return dict(relation.made_by.windows)
    if relation.view is None or not relation.is_stream:
        return {}
    first = 1 if relation.view.adds_time else 0
    found: Known | None = None
    for branch in relation.view.branches:
        own = of_outputs(branch)
        found = own if found is None else _both(found, own)
    return {at + first: each for at, each in (found or {}).items()}


def of_item(item: Item) -> Known:
    """The window columns of a FROM item, its own and those that a view passes on."""
    known = of_relation(item.relation)
    window = item.window
    if window is None:
        return known
    first = len(item.relation.columns)
    if window.kind is WindowKind.SESSION:
        known[first] = WindowColumn(None, 0, None, True, window)
        known[first + 1] = WindowColumn(0, None, -window.size_us, True, window)
        return known
    shift, size, late = int(window.after_start), window.size_us, window.end_comes_late
    known[first] = WindowColumn(size, shift, size - 1 + shift, late, window)
    known[first + 1] = WindowColumn(0, shift - size, shift - 1, late, window)
    return known


def of_outputs(query: Query) -> Known:
    """The outputs of a query that are window columns, against its result time."""
    if query.pull is not None or query.exists:
        return {}
    decided = query.decided
    if decided is not None and decided.by_window:
        by = query.items[decided.by]
        known = {
            (decided.by, at): each for at, each in _at_ends(of_item(by), _end_of(query)).items()
        }
    elif len(query.stream_items) == 1:
        (only,) = query.stream_items
        known = {(only, at): each for at, each in of_item(query.items[only]).items()}
    else:
        known = _of_join(query)
    return {
        at: known[output.expression.item, output.expression.column]
        for at, output in enumerate(query.outputs)
        if isinstance(output.expression, ColumnRef)
        and (output.expression.item, output.expression.column) in known
    }


def _end_of(query: Query) -> WindowColumn:
    """The column that decides about the rows of a query."""
    assert query.decided is not None
    by, end = query.items[query.decided.by], query.decided.end
    return of_item(by)[len(by.relation.columns) + 1 if end is None else end.column]


def _at_ends(known: Known, deciding: WindowColumn) -> Known:
    """The same for rows whose event time is the end of their window."""
    found: Known = {}
    for at, each in known.items():
        if each.window == deciding.window:
            exact = each.end_us if each.end_us is not None else deciding.window.size_us
            found[at] = replace(each, least_us=exact, most_us=each.end_us, is_late=deciding.is_late)
            continue
        end = deciding.end_us
        least = _sum(each.least_us, end, _minus(deciding.most_us))
        most = _sum(each.most_us, end, _minus(deciding.least_us))
        late = each.is_late or deciding.is_late
        found[at] = replace(each, least_us=least, most_us=most, is_late=late)
    return found


def _of_join(query: Query) -> dict[Place, WindowColumn]:
    """Columns that have an equal in every stream of a join: no row is later than the latest of them allows."""
    conditions = [query.where]
    nullable: set[int] = set()
    if query.tree is not None:
        conditions += [each.condition for each in joins_of(query.tree)]
        nullable = set(_nullable(query.tree))
    known = {at: of_item(query.items[at]) for at in query.stream_items}
    equal = equal_windows(conditions, known)
    found: dict[Place, WindowColumn] = {}
    for item, column in equal:
        if item in nullable:
            continue
        own = known[item][column]
        among = [known[other][at] for other, at in equal[item, column]]
        if {other for other, _ in equal[item, column]} != set(query.stream_items):
            continue
        most = [each.most_us for each in among]
        if query.tree is not None:
            most.append(own.end_us)
        if None not in most:
            latest = max(us for us in most if us is not None)
            late = any(each.is_late for each in among)
            for at, each in known[item].items():
                # The start and the end of one window are a fixed distance apart.
                if each.window == own.window and None not in (each.end_us, own.end_us):
                    moved = latest + each.end_us - own.end_us  # type: ignore[operator]
                    found[item, at] = replace(each, most_us=moved, is_late=late)
    return found


def equal_windows(
    conditions: Iterable[Expression | None], known: Mapping[int, Mapping[int, WindowColumn]]
) -> dict[Place, frozenset[Place]]:
    """The window columns that conditions say are equal, each with all of its equals and itself."""
    classes: dict[Place, frozenset[Place]] = {}
    for condition in conditions:
        for part in _conjuncts(condition):
            pair = equal_pair(part, known)
            if pair is None:
                continue
            both = classes.get(pair[0], frozenset(pair[:1])) | classes.get(
                pair[1], frozenset(pair[1:])
            )
            classes |= dict.fromkeys(both, both)
    return classes


def equal_pair(
    condition: Expression, known: Mapping[int, Mapping[int, WindowColumn]]
) -> tuple[Place, Place] | None:
    """Two window columns of different items that a condition says are equal."""
    if not isinstance(condition, Comparison) or condition.op is not ComparisonOp.EQ:
        return None
    left, right = _plain(condition.left), _plain(condition.right)
    if not isinstance(left, ColumnRef) or not isinstance(right, ColumnRef):
        return None
    if left.item == right.item:
        return None
    if left.column not in known.get(left.item, {}) or right.column not in known.get(right.item, {}):
        return None
    return (left.item, left.column), (right.item, right.column)


def other_ends(known: Known, column: int) -> list[int]:
    """The columns of the same windows as one: they have one value in each of them."""
    of = known[column]
    return [at for at, each in known.items() if each.window == of.window]


def _plain(expression: Expression) -> Expression:
    """A whole number that is compared as DOUBLE is the same instant."""
    return expression.operand if isinstance(expression, Cast) else expression


def _conjuncts(condition: Expression | None) -> Sequence[Expression]:
    if condition is None:
        return ()
    if isinstance(condition, And):
        return [part for each in condition.operands for part in _conjuncts(each)]
    return (condition,)


def _nullable(tree: JoinTree) -> Iterable[int]:
    if not isinstance(tree, Joined):
        return
    yield from _nullable(tree.left)
    yield from _nullable(tree.right)
    if tree.kind is not JoinKind.INNER:
        yield from leaves(tree.right)
    if tree.kind is JoinKind.FULL:
        yield from leaves(tree.left)


def _both(one: Known, two: Known) -> Known:
    """What is true of the columns of two branches."""
    found: Known = {}
    for at in one.keys() & two.keys():
        first, second = one[at], two[at]
        if first.end_us == second.end_us:
            least = _of_both(first.least_us, second.least_us, min)
            most = _of_both(first.most_us, second.most_us, max)
            late = first.is_late or second.is_late
            found[at] = WindowColumn(first.end_us, least, most, late, first.window)
    return found


def _of_both(one: int | None, two: int | None, chosen: Callable[[int, int], int]) -> int | None:
    return None if one is None or two is None else chosen(one, two)


def _sum(*parts: int | None) -> int | None:
    return None if None in parts else sum(each for each in parts if each is not None)


def _minus(us: int | None) -> int | None:
    return None if us is None else -us
