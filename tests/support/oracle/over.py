"""OVER by its definition: for every row the rows of its partition, in order, and those of its frame."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import ComparisonOp, EndKind, OverFunction
from tests.support.oracle.aggregates import aggregate, group_key
from tests.support.oracle.scalars import Scope, Value, compare, evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning import bound

Timed = tuple[Scope, int]  # a row and its event time


def over_values(over: bound.Over, rows: Sequence[Timed], idle_us: int | None = None) -> list[Value]:
    """The value for each row; rows are in the order of their arrival."""
    found: list[Value] = [None] * len(rows)
    partitions: dict[tuple[object, ...], list[int]] = {}
    for number, (scope, _) in enumerate(rows):
        key = tuple(group_key(evaluate(part, scope)) for part in over.partition)
        partitions.setdefault(key, []).append(number)
    for numbers in partitions.values():
        for part in cut(in_order(over, rows, numbers), rows, idle_us):
            for place, number in enumerate(part):
                found[number] = value_at(over, rows, part, place)
    return found


def in_order(over: bound.Over, rows: Sequence[Timed], numbers: list[int]) -> list[int]:
    return sorted(
        numbers, key=cmp_to_key(lambda one, other: by_order(over, rows[one], rows[other]))
    )


def cut(numbers: list[int], rows: Sequence[Timed], idle_us: int | None) -> list[list[int]]:
    """A key that was silent for longer than KEY_IDLE starts anew."""
    parts: list[list[int]] = []
    for number in numbers:
        far = idle_us is not None and parts and rows[number][1] - rows[parts[-1][-1]][1] > idle_us
        if not parts or far:
            parts.append([])
        parts[-1].append(number)
    return parts


def by_order(over: bound.Over, one: Timed, other: Timed) -> int:
    if over.by_time:
        return (one[1] > other[1]) - (one[1] < other[1])
    for key in over.order:
        left, right = evaluate(key.expression, one[0]), evaluate(key.expression, other[0])
        if left is None and right is None:
            continue
        if left is None or right is None:
            here = (right is None) - (left is None)
            return here if key.nulls_first else -here
        direction = -1 if key.descending else 1
        if compare(ComparisonOp.LT, left, right):
            return -direction
        if compare(ComparisonOp.GT, left, right):
            return direction
    return 0


def value_at(over: bound.Over, rows: Sequence[Timed], part: list[int], place: int) -> Value:
    scopes = [rows[number][0] for number in part]
    if over.aggregate is not None:
        return aggregate(over.aggregate, frame(over, rows, part, place))
    number = int(evaluate(over.arguments[1], scopes[place]) or 0) if len(over.arguments) > 1 else 1
    peers = [
        at for at in range(len(part)) if by_order(over, rows[part[at]], rows[part[place]]) == 0
    ]
    match over.function:
        case OverFunction.ROW_NUMBER:
            return place + 1
        case OverFunction.RANK:
            return peers[0] + 1
        case OverFunction.DENSE_RANK:
            return 1 + sum(
                by_order(over, rows[part[at]], rows[part[at + 1]]) != 0 for at in range(place)
            )
        case OverFunction.PERCENT_RANK:
            return peers[0] / (len(part) - 1) if len(part) > 1 else 0.0
        case OverFunction.CUME_DIST:
            return (peers[-1] + 1) / len(part)
        case OverFunction.NTILE:
            return ntile(int(evaluate(over.arguments[0], scopes[place]) or 1), place, len(part))
        case OverFunction.LAG | OverFunction.LEAD:
            at = place - number if over.function is OverFunction.LAG else place + number
            if 0 <= at < len(part):
                return evaluate(over.arguments[0], scopes[at])
            return evaluate(over.arguments[2], scopes[place]) if len(over.arguments) > 2 else None
        case _:
            return framed(over, number, frame(over, rows, part, place))


def framed(over: bound.Over, number: int, seen: list[Scope]) -> Value:
    at = {OverFunction.FIRST_VALUE: 0, OverFunction.LAST_VALUE: len(seen) - 1}.get(
        over.function,  # type: ignore[arg-type]
        number - 1,
    )
    return evaluate(over.arguments[0], seen[at]) if 0 <= at < len(seen) else None


def ntile(buckets: int, place: int, size: int) -> int:
    """The first buckets have one more where they cannot all have as many."""
    left = place
    for bucket in range(1, buckets + 1):
        own = size // buckets + (bucket <= size % buckets)
        if left < own:
            return bucket
        left -= own
    raise AssertionError


def frame(over: bound.Over, rows: Sequence[Timed], part: list[int], place: int) -> list[Scope]:
    assert over.frame is not None
    inside = rows_inside if over.frame.by_rows else range_inside
    return [rows[part[at]][0] for at in range(len(part)) if inside(over, rows, part, place, at)]


def rows_inside(
    over: bound.Over, rows: Sequence[Timed], part: list[int], place: int, at: int
) -> bool:
    assert over.frame is not None
    start, end = over.frame.start, over.frame.end
    return lower(start, place) <= at <= upper(end, place, len(part))


def lower(end: bound.FrameEnd, place: int) -> float:
    match end.kind:
        case EndKind.FIRST:
            return 0
        case EndKind.BEFORE:
            return place - end.amount
        case EndKind.CURRENT:
            return place
        case EndKind.AFTER:
            return place + end.amount
        case EndKind.LAST:
            raise AssertionError


def upper(end: bound.FrameEnd, place: int, size: int) -> float:
    return size - 1 if end.kind is EndKind.LAST else lower(end, place)


def range_inside(
    over: bound.Over, rows: Sequence[Timed], part: list[int], place: int, at: int
) -> bool:
    assert over.frame is not None
    one, other = rows[part[place]], rows[part[at]]
    return not_before(over, over.frame.start, one, other) and not_after(
        over, over.frame.end, one, other
    )


def not_before(over: bound.Over, end: bound.FrameEnd, one: Timed, other: Timed) -> bool:
    if end.kind is EndKind.FIRST:
        return True
    if end.kind is EndKind.CURRENT:
        return by_order(over, other, one) >= 0
    return distance(over, end, one, other, by_order(over, other, one) >= 0, lambda d: d >= 0)


def not_after(over: bound.Over, end: bound.FrameEnd, one: Timed, other: Timed) -> bool:
    if end.kind is EndKind.LAST:
        return True
    if end.kind is EndKind.CURRENT:
        return by_order(over, other, one) <= 0
    return distance(over, end, one, other, by_order(over, other, one) <= 0, lambda d: d <= 0)


def distance(over, end, one, other, null_says, holds) -> bool:  # type: ignore[no-untyped-def]
    """Whether the other row is on the right side of the limit that lies so far from this one."""
    amount = -end.amount if end.kind is EndKind.BEFORE else end.amount
    if over.by_time:
        return bool(holds(other[1] - one[1] - amount))
    key = over.order[0]
    here, there = evaluate(key.expression, one[0]), evaluate(key.expression, other[0])
    if here is None or there is None:
        return bool(null_says)  # NULL has no distance: it is where the order puts it
    if key.descending:
        here, there = -here, -there
    return bool(holds(there - here - amount))
