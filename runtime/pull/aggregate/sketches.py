"""Estimates whose state depends on the multiset of values alone: not on their order, nor on how they were put together.

`approx_count_distinct` is HyperLogLog with 4,096 registers of the greatest rank of the values' hashes, and Ertl's estimator of the
registers (2017), which needs neither a history nor tables; its standard error is 1.04 / sqrt(4096), 1.6 %. The hash of a number is the
finaliser of SplitMix64 of its 64 bits (a DOUBLE's after -0.0 became 0.0), that of a text the first 64 bits of BLAKE2b of its UTF-8.

`approx_percentile` is DDSketch: values are counted in buckets whose borders grow by a factor of (1 + a) / (1 - a), so the answer
is off by at most a share a of the value that is there; a is 1 / accuracy, and the accuracy 10,000 unless the query says another.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.pull.aggregate.grouping import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

BITS = 12
REGISTERS = 1 << BITS
_RANKS = 64 - BITS
_LEAST_SIZE = 1e-300  # smaller ones are counted as 0


def hashes(column: Column) -> NDArray[np.uint64]:
    """64 bits for each value (not NULL), the same for equal values in every process."""
    if column.type.held_as_text:
        encoded = column.values.dictionary_encode()
        made = [
            int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
            for text in encoded.dictionary.to_pylist()
        ]
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        return np.asarray(np.array(made, np.uint64)[codes])
    mixed = canonical(column).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def distinct_estimates(column: Column, groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """About how many distinct values each group has."""
    if not len(groups):
        return np.zeros(count, np.int64)
    hashed = hashes(column)
    register = (hashed >> np.uint64(64 - BITS)).astype(np.int64)
    rest = hashed << np.uint64(BITS)
    # The rank is the number of leading zeros and one more; the top bit of a double's exponent says where the first one is.
    high = (rest >> np.uint64(12)).astype(np.float64)
    rank = np.where(high > 0, 52 - np.floor(np.log2(np.maximum(high, 1.0))), _RANKS + 1)
    rank = np.minimum(rank, _RANKS + 1).astype(np.int64)
    estimates = np.zeros(count, np.int64)
    order = np.lexsort((rank, register, groups))
    places = groups[order] * REGISTERS + register[order]
    is_last = np.append(places[1:] != places[:-1], True)
    greatest, owners = rank[order][is_last], groups[order][is_last]
    for group in np.unique(owners).tolist():
        ranks = np.bincount(greatest[owners == group], minlength=_RANKS + 2)
        ranks[0] = REGISTERS - ranks[1:].sum()
        estimates[group] = round(_estimate(ranks))
    return estimates


def _estimate(ranks: NDArray[np.int64]) -> float:
    """Ertl's estimator: `ranks[k]` registers have the rank k."""
    top = _RANKS + 1
    total = REGISTERS * _tau(1 - ranks[top] / REGISTERS)
    for rank in range(_RANKS, 0, -1):
        total = 0.5 * (total + ranks[rank])
    total += REGISTERS * _sigma(ranks[0] / REGISTERS)
    return REGISTERS * REGISTERS / (2 * math.log(2)) / total if total < math.inf else 0.0


def _sigma(x: float) -> float:
    if x == 1:
        return math.inf
    power, total, before = 1.0, x, -1.0
    while total != before:
        x *= x
        before = total
        total += x * power
        power += power
    return total


def _tau(x: float) -> float:
    if x in (0, 1):
        return 0.0
    power, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x = math.sqrt(x)
        before = total
        power *= 0.5
        total -= (1 - x) ** 2 * power
    return total / 3


def quantile_estimates(
    values: NDArray[np.float64],
    groups: NDArray[np.int64],
    count: int,
    share: float,
    accuracy: int,
) -> NDArray[np.float64]:
    """About the value at that share of each group: in the middle of the bucket that holds it."""
    error = 1 / max(accuracy, 1)
    growth = (1 + error) / (1 - error) if error < 1 else 3.0
    with np.errstate(all="ignore"):
        size = np.abs(values)
        bucket = np.ceil(np.log(size) / math.log(growth))
        middle = 2 * np.power(growth, bucket) / (growth + 1)
    middle = np.where(size < _LEAST_SIZE, 0.0, np.where(np.isfinite(size), middle, size))
    estimates = np.where(values < 0, -middle, middle)
    estimates = np.where(np.isnan(values), np.nan, estimates)
    order = np.lexsort((estimates, groups))
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    at = np.maximum(np.ceil(sizes * share).astype(np.int64) - 1, 0)
    safe = np.append(estimates[order], 0.0)
    return safe[np.where(sizes > 0, starts + at, len(values))]
