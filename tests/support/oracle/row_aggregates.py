"""Aggregates that need the rows of a group, one row after the other."""

from __future__ import annotations

import math
from collections import Counter
from functools import cmp_to_key
from statistics import fmean
from typing import TYPE_CHECKING

from cqc.compiler.functions.registered import user_functions
from cqc.compiler.meaning.bound import Aggregate
from cqc.compiler.meaning.bound import AggregateFunction as F
from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle.scalars import Scope, Value, evaluate, order_key

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[Value, list[Value], tuple[Value, ...], list[Value]]  # value, more, times, orders


def of_rows(wanted: Aggregate, members: Sequence[Scope]) -> Value:
    assert wanted.argument is not None
    rows: list[Row] = []
    for scope in members:
        value = evaluate(wanted.argument, scope)
        more = [evaluate(each, scope) for each in wanted.more]
        times = tuple(evaluate(each, scope) for each in wanted.times)
        orders = [evaluate(each.expression, scope) for each in wanted.order_by]
        if times and times[0] is None:
            continue
        keeps_null = wanted.function in (F.MAX_BY, F.MIN_BY) or (
            wanted.function in (F.FIRST, F.LAST) and not wanted.ignores_null
        )
        if (value is None and not keeps_null) or None in more:
            continue
        rows.append((value, more, times, orders))
    rows.sort(key=lambda row: max((t for t in row[2] if t is not None), default=0))  # type: ignore[type-var, arg-type, return-value]  # instants
    if wanted.distinct:
        seen: dict[object, Row] = {}
        for row in rows:
            seen.setdefault(
                tuple(None if v is None else order_key(v) for v in (row[0], *row[1])), row
            )
        rows = list(seen.values())
    return finish(wanted, rows)


def finish(wanted: Aggregate, rows: list[Row]) -> Value:
    values = [row[0] for row in rows]
    match wanted.function:
        case F.FIRST:
            return values[0] if values else None
        case F.LAST:
            return values[-1] if values else None
        case F.MAX_BY | F.MIN_BY:
            best: Row | None = None
            for row in rows:
                if best is None:
                    best = row
                    continue
                mine, other = order_key(row[1][0]), order_key(best[1][0])
                if mine > other if wanted.function is F.MAX_BY else mine < other:  # type: ignore[operator]  # of one type
                    best = row
            return None if best is None else best[0]
        case F.USER:
            return of_user(wanted, rows)
        case F.MODE:
            counts = Counter(order_key(value) for value in values)
            if not counts:
                return None
            most = max(counts.values())
            return min((v for v in values if counts[order_key(v)] == most), key=order_key)
        case F.COLLECT_LIST | F.COLLECT_SET:
            return sorted(values, key=order_key) if wanted.distinct else values  # type: ignore[return-value]  # an array
        case F.LISTAGG:
            return joined(wanted, rows)
        case F.MEDIAN | F.PERCENTILE | F.PERCENTILE_CONT | F.PERCENTILE_DISC:
            return percentile(wanted, [float(value) for value in values if value is not None])
        case F.APPROX_COUNT_DISTINCT:
            return len({order_key(value) for value in values})
        case F.APPROX_PERCENTILE:
            found = percentile(wanted, [float(v) for v in values if v is not None], discrete=True)
            is_whole = wanted.type is ColumnType.BIGINT and isinstance(found, float)
            return round(found) if is_whole else found  # type: ignore[arg-type, type-var]  # a number
        case F.CORR | F.COVAR_POP | F.COVAR_SAMP:
            pairs = [(float(row[0] or 0), float(row[1][0] or 0)) for row in rows]
            return of_pairs(wanted.function, pairs)
        case _:
            return moment(wanted.function, [float(value) for value in values if value is not None])


def of_user(wanted: Aggregate, rows: list[Row]) -> Value:
    """One state from the first row to the last."""
    steps = user_functions()[wanted.user].steps
    assert steps is not None
    state = steps.init()
    for value, more, _, _ in rows:
        state = steps.update(state, value, *more)
    return steps.finish(state)  # type: ignore[no-any-return]


def joined(wanted: Aggregate, rows: list[Row]) -> Value:
    if not rows:
        return None
    if wanted.distinct and not wanted.order_by:
        rows = sorted(rows, key=lambda row: str(row[0]).encode())

    def compare(one: Row, other: Row) -> int:
        for order, left, right in zip(wanted.order_by, one[3], other[3], strict=True):
            if left is None or right is None:
                if (left is None) != (right is None):
                    return -1 if (left is None) == order.nulls_first else 1
                continue
            if order_key(left) != order_key(right):
                less = order_key(left) < order_key(right)  # type: ignore[operator]  # of one type
                return -1 if less != order.descending else 1
        return 0

    rows = sorted(rows, key=cmp_to_key(compare))
    return wanted.separator.join(str(row[0]) for row in rows)


def percentile(wanted: Aggregate, values: list[float], *, discrete: bool = False) -> Value:
    if not values:
        return None
    values = sorted(values, key=lambda value: (math.isnan(value), value), reverse=wanted.descends)
    share = 0.5 if wanted.share is None else wanted.share
    if discrete or wanted.function is F.PERCENTILE_DISC:
        return values[max(math.ceil(len(values) * share) - 1, 0)]
    place = (len(values) - 1) * share
    low, high = math.floor(place), math.ceil(place)
    if low == high or values[low] == values[high]:
        return values[low]
    return (high - place) * values[low] + (place - low) * values[high]


def moment(function: F, values: list[float]) -> Value:
    count = len(values)
    if not count or (count < 2 and function in (F.STDDEV_SAMP, F.VAR_SAMP)):
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = fmean(values)
    second = math.fsum((value - mean) ** 2 for value in values)
    match function:
        case F.VAR_POP:
            return second / count
        case F.VAR_SAMP:
            return second / (count - 1)
        case F.STDDEV_POP:
            return math.sqrt(second / count)
        case F.STDDEV_SAMP:
            return math.sqrt(second / (count - 1))
        case F.SKEWNESS:
            third = math.fsum((value - mean) ** 3 for value in values)
            return None if second == 0 else math.sqrt(count) * third / math.sqrt(second**3)
        case _:
            fourth = math.fsum((value - mean) ** 4 for value in values)
            return None if second == 0 else count * fourth / second**2 - 3


def of_pairs(function: F, pairs: list[tuple[float, float]]) -> Value:
    count = len(pairs)
    if not count or (function is F.COVAR_SAMP and count < 2):
        return None
    left, right = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    together = math.fsum((x - left) * (y - right) for x, y in pairs)
    if function is F.COVAR_POP:
        return together / count
    if function is F.COVAR_SAMP:
        return together / (count - 1)
    first = math.fsum((x - left) ** 2 for x, _ in pairs)
    second = math.fsum((y - right) ** 2 for _, y in pairs)
    return None if 0 in (first, second) else together / math.sqrt(first * second)
