"""Estimates depend on the multiset of values alone, and are near enough."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, from_python
from cqc.runtime.pull.aggregate.sketches import distinct_estimates, quantile_estimates


def numbers(values: np.ndarray) -> Column:
    return Column(ColumnType.BIGINT, values.astype(np.int64))


@pytest.mark.parametrize("count", [0, 1, 2, 100, 5_000, 200_000])
def test_the_number_of_distinct_values_is_near(count: int) -> None:
    values = np.repeat(np.arange(count) * 7919, 2)
    (found,) = distinct_estimates(numbers(values), np.zeros(len(values), np.int64), 1)
    assert abs(found - count) <= 0.05 * count


def test_the_order_of_the_values_does_not_matter() -> None:
    values = np.random.default_rng(3).integers(0, 10**6, 10_000)
    groups = np.zeros(len(values), np.int64)
    assert distinct_estimates(numbers(values), groups, 1) == distinct_estimates(
        numbers(values[::-1].copy()), groups, 1
    )


def test_each_group_has_its_own_estimate_and_an_empty_one_has_none() -> None:
    texts = from_python(ColumnType.STRING, ["a", "b", "a", "é"])
    assert distinct_estimates(texts, np.array([0, 0, 0, 2]), 3).tolist() == [2, 0, 1]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_a_quantile_is_off_by_no_more_than_the_accuracy_says(share: float) -> None:
    values = np.random.default_rng(4).lognormal(3, 2, 5_000) * np.where(np.arange(5_000) % 3, 1, -1)
    (found,) = quantile_estimates(values, np.zeros(5_000, np.int64), 1, share, 100)
    exact = np.sort(values)[max(int(np.ceil(5_000 * share)) - 1, 0)]
    assert abs(found - exact) <= 0.0101 * abs(exact)
