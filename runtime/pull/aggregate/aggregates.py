"""Aggregates as columns: from partial aggregates, or straight from the rows of each group.

SUM of BIGINT is exact and NULL where the total does not fit; AVG is the exact quotient rounded once; sums of doubles carry
twice the precision and are rounded at the end. Where the finite values of a group overflow on the way, the total is made
again in exact arithmetic, so that the answer does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import AggregateFunction
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.columns import DTYPES, Column, null_column, select, take
from cqc.runtime.pull.aggregate.decimal_totals import decimal_totals
from cqc.runtime.pull.aggregate.grouping import first_rows, number_values
from cqc.runtime.pull.aggregate.partials import (
    COUNT,
    DOUBLE_LEAST,
    DOUBLE_MOST,
    HIGH,
    LOW,
    REST,
    SPECIAL,
    SUM,
    WHOLE_LEAST,
    WHOLE_MOST,
    partials_by_group,
)
from cqc.runtime.pull.aggregate.row_aggregates import group_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Aggregate

ValuesOf = Callable[
    [int], "NDArray[np.float64]"
]  # the values (not NULL) that one partial is made of
_EXACT = 1 << 53
_TOTALS = (AggregateFunction.SUM, AggregateFunction.AVG)


def has_partials(aggregate: Aggregate) -> bool:
    """Whether it can be put together from partials; distinct values and the order of texts need the rows."""
    if aggregate.function.needs_rows:
        return False
    if aggregate.argument is None or aggregate.function is AggregateFunction.COUNT:
        return not aggregate.distinct
    is_text = aggregate.argument.type.held_as_text
    return not aggregate.distinct and not is_text


def has_tree(aggregate: Aggregate) -> bool:
    """Whether trees over a history can answer it: all but what has no type."""
    if aggregate.function.needs_rows:
        return False
    if aggregate.argument is None:
        return True
    if isinstance(aggregate.argument.type, DecimalType):
        return aggregate.function not in (AggregateFunction.SUM, AggregateFunction.AVG)
    return aggregate.argument.type is not ColumnType.NULL


def needs_finer_groups(aggregate: Aggregate) -> bool:
    """Whether it is about distinct values; the least and the greatest are the same either way."""
    extremes = (AggregateFunction.MIN, AggregateFunction.MAX)
    return aggregate.distinct and aggregate.function not in extremes


def count_column(counts: NDArray[np.int64]) -> Column:
    """COUNT(*)."""
    return Column(ColumnType.BIGINT, counts)


def finish(aggregate: Aggregate, partials: NDArray[Any], values_of: ValuesOf) -> tuple[Column, int]:
    """The aggregate of each partial, and how many of them failed (a total that does not fit)."""
    function = aggregate.function
    counts = partials[:, COUNT].astype(np.int64)
    if function is AggregateFunction.COUNT:
        return count_column(counts), 0
    present = None if counts.all() else counts > 0
    is_double = partials.dtype == np.float64
    if function is AggregateFunction.SUM and is_double:
        totals = _double_totals(partials, values_of)
        return Column(ColumnType.DOUBLE, totals, present), 0
    if function is AggregateFunction.SUM:
        return _whole_totals(aggregate.type, partials, present)
    if function is AggregateFunction.AVG:
        means = _double_means(partials, values_of) if is_double else _whole_means(partials)
        if aggregate.type is ColumnType.INTERVAL:
            return Column(ColumnType.INTERVAL, half_away(means), present), 0
        return Column(ColumnType.DOUBLE, means, present), 0
    is_least = function is AggregateFunction.MIN
    if is_double:
        extremes = partials[:, DOUBLE_LEAST if is_least else DOUBLE_MOST]
    else:
        extremes = partials[:, WHOLE_LEAST if is_least else WHOLE_MOST]
    return Column(aggregate.type, extremes.astype(DTYPES[aggregate.type]), present), 0


def _whole_totals(
    type_: ColumnType, partials: NDArray[np.int64], present: NDArray[np.bool_] | None
) -> tuple[Column, int]:
    high = partials[:, HIGH] + (partials[:, LOW] >> 32)
    fits = (high >= -(1 << 31)) & (high < 1 << 31)
    totals = (np.where(fits, high, 0) << 32) | (partials[:, LOW] & 0xFFFFFFFF)
    failed = int(len(fits) - np.count_nonzero(fits))
    if failed:
        present = fits if present is None else present & fits
    return Column(type_, totals, present), failed


def _whole_means(partials: NDArray[np.int64]) -> NDArray[np.float64]:
    counts = np.maximum(partials[:, COUNT], 1)
    totals = partials[:, HIGH].astype(np.float64) * 2.0**32 + partials[:, LOW]
    means = totals / counts
    for row in np.flatnonzero(
        np.abs(totals) >= _EXACT
    ).tolist():  # the double is no longer the exact total
        exact = (int(partials[row, HIGH]) << 32) + int(partials[row, LOW])
        means[row] = exact / int(counts[row])
    return means


def half_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest whole numbers, a half away from zero."""
    return (np.sign(values) * np.floor(np.abs(values) + 0.5)).astype(np.int64)


def _double_totals(partials: NDArray[np.float64], values_of: ValuesOf) -> NDArray[np.float64]:
    special = partials[:, SPECIAL]
    with np.errstate(all="ignore"):
        totals = partials[:, SUM] + partials[:, REST]
    for row in np.flatnonzero(~np.isfinite(totals)).tolist():
        totals[row] = _rounded(_exact_total(values_of(row)))
    return np.where(special == 0.0, totals, special)


def _double_means(partials: NDArray[np.float64], values_of: ValuesOf) -> NDArray[np.float64]:
    counts, special = np.maximum(partials[:, COUNT], 1.0), partials[:, SPECIAL]
    with np.errstate(all="ignore"):
        totals = partials[:, SUM] + partials[:, REST]
        rest = partials[:, REST] - (totals - partials[:, SUM])
        means = totals / counts
        # What the division lost, from the exact product of quotient and count (Dekker).
        split = means * 134217729.0
        head = split - (split - means)
        product = means * counts
        lost = (
            (totals - product) - ((head * counts - product) + (means - head) * counts) + rest
        ) / counts
        means = np.where(np.isfinite(lost), means + lost, means)
    for row in np.flatnonzero(~np.isfinite(totals)).tolist():
        means[row] = _rounded(_exact_total(values_of(row)) / int(counts[row]))
    return np.where(special == 0.0, means, special / counts)


def _exact_total(values: NDArray[np.float64]) -> Fraction:
    return sum((Fraction(value) for value in values[np.isfinite(values)].tolist()), Fraction(0))


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def aggregate_rows(
    aggregate: Aggregate, columns: Sequence[Column], groups: NDArray[np.int64], group_count: int
) -> tuple[Column, int]:
    """The aggregate of each group from its rows, and how many failed; `columns` are its inputs' values for each row."""
    if aggregate.function.needs_rows:
        return group_rows(aggregate, columns, groups, group_count)
    column = columns[0] if columns else None
    if column is None:
        return count_column(np.bincount(groups, minlength=group_count).astype(np.int64)), 0
    if aggregate.distinct:
        column, groups = _distinct_values(column, groups)
    if isinstance(column.type, DecimalType) and aggregate.function in _TOTALS:
        return decimal_totals(aggregate, column, groups, group_count)
    if aggregate.function is not AggregateFunction.COUNT and column.type.held_as_text:
        return _extreme_text(aggregate, column, groups, group_count), 0
    partials = partials_by_group(column, groups, group_count)

    def values_of(group: int) -> NDArray[np.float64]:
        values: NDArray[np.float64] = column.values[(groups == group) & column.is_valid()]
        return values

    return finish(aggregate, partials, values_of)


def _distinct_values(column: Column, groups: NDArray[np.int64]) -> tuple[Column, NDArray[np.int64]]:
    """Each value of each group once."""
    own, count = number_values(column)
    numbers, distinct = number_values(Column(ColumnType.BIGINT, groups * max(count, 1) + own))
    rows = first_rows(numbers, distinct)
    return take(column, rows), groups[rows]


def _extreme_text(
    aggregate: Aggregate, column: Column, groups: NDArray[np.int64], group_count: int
) -> Column:
    """MIN and MAX in the order of the texts' bytes: by the rank of each distinct text."""
    if column.valid is not None:
        groups = groups[column.valid]
        column = select(column, column.valid)
    if not len(column):
        return null_column(column.type, group_count)
    encoded = column.values.dictionary_encode()
    ordered = pc.sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
    ranks = np.empty(len(ordered), np.int64)
    ranks[ordered] = np.arange(len(ordered))
    ranked = Column(ColumnType.BIGINT, ranks[encoded.indices.to_numpy()])
    partials = partials_by_group(ranked, groups, group_count)
    is_least = aggregate.function is AggregateFunction.MIN
    best = partials[:, WHOLE_LEAST if is_least else WHOLE_MOST]
    present = partials[:, COUNT] > 0
    texts = encoded.dictionary.take(pa.array(ordered[np.where(present, best, 0)]))
    if present.all():
        return Column(column.type, texts)
    texts = pc.if_else(pa.array(present), texts, pa.scalar(None, pa.string()))
    return Column(column.type, texts, present)
