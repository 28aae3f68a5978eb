"""Aggregates that need the rows of a group: the first and the last, order statistics, moments, lists and sketches.

    group_rows(aggregate, columns, groups, count)

gets for each row the values of the aggregate's arguments (in the order of `Aggregate.inputs`) and the number of its group, and gives
one value a group with the number of failures. Nothing is kept between calls: what comes out depends on the rows alone. Rows come
as they arrived; where event time decides, the aggregate has event times among its inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import AggregateFunction as F
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, concatenate, null_column, select, take
from cqc.runtime.columns.nested import inner_of_column, lists_of, nested_column
from cqc.runtime.pull.aggregate.grouping import first_rows, number_rows
from cqc.runtime.pull.aggregate.moments import moments, pair_moments
from cqc.runtime.pull.aggregate.sketches import distinct_estimates, quantile_estimates
from cqc.runtime.pull.aggregate.user_aggregates import user_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Aggregate


class Rows:
    """The rows that count for one aggregate: its arguments by column, its event time, and the group of each."""

    def __init__(
        self, aggregate: Aggregate, columns: Sequence[Column], groups: NDArray[np.int64], count: int
    ) -> None:
        self.aggregate = aggregate
        self.count = count
        values = 1 + len(aggregate.more)
        self.values = list(columns[:values])
        self.times = list(columns[values : values + len(aggregate.times)])
        self.orders = list(columns[values + len(aggregate.times) :])
        self.groups = groups
        self._keep_those_that_count()
        if aggregate.distinct:
            self._keep_distinct()

    def _keep_those_that_count(self) -> None:
        """NULL arguments do not count, but for the value that `first`, `last`, `max_by` and `min_by` give."""
        function = self.aggregate.function
        keeps_null = function in (F.MAX_BY, F.MIN_BY) or (
            function in (F.FIRST, F.LAST) and not self.aggregate.ignores_null
        )
        needed = [*(self.values[1:] if keeps_null else self.values), *self.times[:1]]
        masks = [column.valid for column in needed if column.valid is not None]
        if masks:
            self._select(np.logical_and.reduce(masks))

    def _select(self, mask: NDArray[np.bool_]) -> None:
        self.values = [select(column, mask) for column in self.values]
        self.times = [select(column, mask) for column in self.times]
        self.orders = [select(column, mask) for column in self.orders]
        self.groups = self.groups[mask]

    def _keep_distinct(self) -> None:
        """Each value (of all arguments together) of each group once: the first of its rows."""
        group = Column(ColumnType.BIGINT, self.groups)
        numbers, count = number_rows([group, *self.values], len(self.groups))
        firsts = np.sort(first_rows(numbers, count))
        self.values = [take(column, firsts) for column in self.values]
        self.times = [take(column, firsts) for column in self.times]
        self.orders = [take(column, firsts) for column in self.orders]
        self.groups = self.groups[firsts]

    def time(self) -> NDArray[np.int64]:
        """The latest event time of each row."""
        latest = np.full(len(self.groups), np.iinfo(np.int64).min)
        for column in self.times:
            latest = np.maximum(latest, column.values)
        return latest

    def numbers(self, at: int = 0) -> NDArray[np.float64]:
        """The values of one argument as doubles."""
        return np.asarray(self.values[at].values, dtype=np.float64)

    def one_of_each(self, order: NDArray[np.int64]) -> Column:
        """The value at the first row of each group in an order, which goes by groups; NULL for a group without rows."""
        column = self.values[0]
        found = np.full(self.count, -1)
        groups = self.groups[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = groups[1:] != groups[:-1]
        found[groups[is_first]] = order[is_first]
        return at_rows(column, found)


def at_rows(column: Column, rows: NDArray[np.int64]) -> Column:
    """The values at some rows, NULL where the row is -1."""
    if not len(column):
        return null_column(column.type, len(rows))
    if (rows >= 0).all():
        return take(column, rows)
    with_null = concatenate([column, null_column(column.type, 1)])
    return take(with_null, np.where(rows < 0, len(column), rows))


def ranks(column: Column) -> NDArray[np.int64]:
    """Whole numbers in the order of the values (not NULL), equal where these are: NaN is greatest, -0.0 is 0.0."""
    if column.type.held_as_text:
        encoded = column.values.dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return rank[codes]
    values = column.values + 0.0 if column.type is ColumnType.DOUBLE else column.values
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _first(rows: Rows) -> Column:
    return rows.one_of_each(np.lexsort((rows.time(), rows.groups)))


def _last(rows: Rows) -> Column:
    arrival = np.arange(len(rows.groups))
    return rows.one_of_each(np.lexsort((-arrival, -rows.time(), rows.groups)))


def _best_by(*, greatest: bool) -> Callable[[Rows], Column]:
    def best(rows: Rows) -> Column:
        rank = ranks(rows.values[1])
        return rows.one_of_each(np.lexsort((rows.time(), -rank if greatest else rank, rows.groups)))

    return best


def _mode(rows: Rows) -> Column:
    """The value that is there most often, the smallest of those."""
    rank = ranks(rows.values[0])
    span = int(rank.max()) + 1 if len(rank) else 1
    _, numbers, counts = np.unique(
        rows.groups * span + rank, return_inverse=True, return_counts=True
    )
    return rows.one_of_each(np.lexsort((rank, -counts[numbers], rows.groups)))


def _moment(rows: Rows) -> Column:
    values, present = moments(rows.aggregate.function, rows.numbers(), rows.groups, rows.count)
    return Column(ColumnType.DOUBLE, values, present)


def _pair(rows: Rows) -> Column:
    values, present = pair_moments(
        rows.aggregate.function, rows.numbers(0), rows.numbers(1), rows.groups, rows.count
    )
    return Column(ColumnType.DOUBLE, values, present)


def _sorted_groups(rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The values of each group in their order, where each group begins, and how many it has."""
    order = np.lexsort((rows.numbers(), rows.groups))
    sizes = np.bincount(rows.groups, minlength=rows.count)
    return rows.numbers()[order], np.cumsum(sizes) - sizes, sizes


def _share(rows: Rows) -> float:
    """The constant share of a percentile."""
    share = rows.aggregate.share
    return 0.5 if share is None else share


def _percentile(rows: Rows) -> Column:
    """Between the two values nearest to a place, by how near they are."""
    values, starts, sizes = _sorted_groups(rows)
    share = 1 - _share(rows) if rows.aggregate.descends else _share(rows)
    place = np.maximum(sizes - 1, 0) * share
    lower, upper = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    there = sizes > 0
    safe = np.append(values, 0.0)
    low = safe[np.where(there, starts + lower, len(values))]
    high = safe[np.where(there, starts + upper, len(values))]
    with np.errstate(all="ignore"):
        mixed = (upper - place) * low + (place - lower) * high
    return Column(ColumnType.DOUBLE, np.where((lower == upper) | (low == high), low, mixed), there)


def _percentile_disc(rows: Rows) -> Column:
    """The first value at or above that share of the rows."""
    values, starts, sizes = _sorted_groups(rows)
    share = _share(rows)
    at = np.maximum(np.ceil(sizes * share).astype(np.int64) - 1, 0)
    at = sizes - 1 - at if rows.aggregate.descends else at
    there = sizes > 0
    safe = np.append(values, 0.0)
    return Column(ColumnType.DOUBLE, safe[np.where(there, starts + at, len(values))], there)


def _in_order(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows group by group, in the order of WITHIN GROUP, else by event time, distinct ones by value; and how many a group has."""
    keys: list[Any] = [np.arange(len(rows.groups)), rows.time()]
    if rows.aggregate.distinct and not rows.orders:
        keys.append(ranks(rows.values[0]))
    for column, order in reversed(list(zip(rows.orders, rows.aggregate.order_by, strict=True))):
        keys += _order_keys(column, order.descending, order.nulls_first)
    return np.lexsort((*keys, rows.groups)), np.bincount(rows.groups, minlength=rows.count)


def _list(rows: Rows) -> Column:
    """The values as an array."""
    order, sizes = _in_order(rows)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    values = inner_of_column(take(rows.values[0], order))
    return nested_column(rows.aggregate.type, lists_of(offsets, values, None))


def _text_list(rows: Rows) -> Column:
    """Texts joined."""
    texts, between = rows.values[0].values, rows.aggregate.separator
    order_of, sizes = _in_order(rows)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), texts.take(pa.array(order_of)))
    joined = pc.binary_join(lists, between)
    there = sizes > 0
    if there.all():
        return Column(ColumnType.STRING, joined)
    missing = pc.if_else(pa.array(there), joined, pa.scalar(None, pa.string()))
    return Column(ColumnType.STRING, missing, there)


def _order_keys(column: Column, descending: bool, nulls_first: bool) -> list[NDArray[np.int64]]:
    """What to sort a column by, least important first."""
    valid = column.is_valid()
    rank = np.zeros(len(valid), np.int64)
    rank[valid] = ranks(select(column, valid))
    return [-rank if descending else rank, valid.astype(np.int64) * (1 if nulls_first else -1)]


def _distinct_count(rows: Rows) -> Column:
    return Column(ColumnType.BIGINT, distinct_estimates(rows.values[0], rows.groups, rows.count))


def _approx_percentile(rows: Rows) -> Column:
    estimates = quantile_estimates(
        rows.numbers(), rows.groups, rows.count, _share(rows), rows.aggregate.accuracy
    )
    there = np.bincount(rows.groups, minlength=rows.count) > 0
    type_ = rows.aggregate.type
    if type_ is ColumnType.DOUBLE:
        return Column(type_, estimates, there)
    return Column(type_, np.rint(np.where(there, estimates, 0.0)).astype(np.int64), there)


_KERNELS: dict[F, Callable[[Rows], Column]] = {
    F.FIRST: _first,
    F.LAST: _last,
    F.MAX_BY: _best_by(greatest=True),
    F.MIN_BY: _best_by(greatest=False),
    F.MODE: _mode,
    **dict.fromkeys(
        (F.STDDEV_SAMP, F.STDDEV_POP, F.VAR_SAMP, F.VAR_POP, F.SKEWNESS, F.KURTOSIS), _moment
    ),
    **dict.fromkeys((F.CORR, F.COVAR_SAMP, F.COVAR_POP), _pair),
    F.MEDIAN: _percentile,
    F.PERCENTILE: _percentile,
    F.PERCENTILE_CONT: _percentile,
    F.PERCENTILE_DISC: _percentile_disc,
    F.LISTAGG: _text_list,
    F.COLLECT_LIST: _list,
    F.COLLECT_SET: _list,
    F.APPROX_COUNT_DISTINCT: _distinct_count,
    F.APPROX_PERCENTILE: _approx_percentile,
}


def group_rows(
    aggregate: Aggregate, columns: Sequence[Column], groups: NDArray[np.int64], count: int
) -> tuple[Column, int]:
    """The aggregate of each group, and how many of them failed."""
    rows = Rows(aggregate, columns, groups, count)
    if aggregate.function is F.USER:
        return user_groups(rows)
    return _KERNELS[aggregate.function](rows), 0
