"""Estimates whose state depends on the multiset of values alone: not on their order, nor on how they were put together.

`approx_count_distinct` is the CPC sketch of Apache DataSketches (package `datasketches`), the coupons of HyperLogLog kept whole, with 4,096
registers; its hash is MurmurHash3 of 128 bits with the seed 9001, of the 64 bits of a number (a DOUBLE's after -0.0 became 0.0) or of the
UTF-8 of a text. A sketch alone estimates by its history, and so does the package's HyperLogLog even where it was merged; a merged CPC
sketch goes by the number of its coupons (the estimator ICON), which is what is asked for. Its standard error is
ln 2 / sqrt(4096), 1.1 %.

`approx_percentile` is DDSketch (package `ddsketch`, its logarithmic mapping): values are counted in buckets whose borders grow by a factor of
(1 + a) / (1 - a), so the answer is off by at most a share a of the value that is there; a is 1 / accuracy, and the accuracy
10,000 unless the query says another. NaN is above every number, as elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

BITS = 12


def distinct_estimates(column: Column, groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """About how many distinct values each group has."""
    estimates = np.zeros(count, np.int64)
    if not len(groups):
        return estimates
    order = np.argsort(groups, kind="stable")
    owners, firsts = np.unique(groups[order], return_index=True)
    values = _hashable(column)
    stops = [*firsts[1:].tolist(), len(order)]
    for group, start, stop in zip(owners.tolist(), firsts.tolist(), stops, strict=True):
        estimates[group] = _estimate([values[at] for at in order[start:stop].tolist()])
    return estimates


def _hashable(column: Column) -> list[Any]:
    """The values (not NULL) as Python's, equal ones alike."""
    if column.type.held_as_text:
        texts: list[Any] = column.values.to_pylist()
        return texts
    numbers = column.values + 0.0 if column.type is ColumnType.DOUBLE else column.values
    return list(
        np.asarray(numbers, np.float64 if numbers.dtype == np.float64 else np.int64).tolist()
    )


def _estimate(values: list[Any]) -> int:
    from datasketches import cpc_sketch, cpc_union  # here: few queries ask for it

    sketch = cpc_sketch(BITS)
    update = sketch.update
    for value in values:
        update(value)
    merged = cpc_union(BITS)
    merged.update(sketch)
    estimate: float = merged.get_result().get_estimate()
    return round(estimate)


def quantile_estimates(
    values: NDArray[np.float64],
    groups: NDArray[np.int64],
    count: int,
    share: float,
    accuracy: int,
) -> NDArray[np.float64]:
    """About the value at that share of each group: in the middle of the bucket that holds it."""
    estimates = _bucket_values(values, accuracy)
    order = np.lexsort((estimates, groups))
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    at = np.maximum(np.ceil(sizes * share).astype(np.int64) - 1, 0)
    safe = np.append(estimates[order], 0.0)
    return safe[np.where(sizes > 0, starts + at, len(values))]


def _bucket_values(values: NDArray[np.float64], accuracy: int) -> NDArray[np.float64]:
    """What DDSketch would give for each value: that of its bucket, which is asked once for each bucket that holds one."""
    from ddsketch.mapping import LogarithmicMapping  # here: few queries ask for it

    mapping = LogarithmicMapping(min(1 / max(accuracy, 1), 0.5))
    size = np.abs(values)
    inside = (size >= mapping.min_possible) & (size <= mapping.max_possible)
    found = np.where(size > mapping.max_possible, size, 0.0)
    found = np.where(np.isnan(values), np.nan, found)
    if inside.any():
        distinct, places = np.unique(size[inside], return_inverse=True)
        keys = [mapping.key(value) for value in distinct.tolist()]
        shown = {key: mapping.value(key) for key in dict.fromkeys(keys)}
        found[inside] = np.array([shown[key] for key in keys])[places.reshape(-1)]
    return np.asarray(np.where(values < 0, -found, found))
