"""Variances and their like, beside the statistics of Python."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from cqc.compiler.meaning.bound import AggregateFunction as F
from cqc.runtime.pull.aggregate.moments import moments, pair_moments

VALUES = np.array([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])


def one(function: F, values: np.ndarray) -> float | None:
    found, there = moments(function, values, np.zeros(len(values), np.int64), 1)
    return found[0] if there[0] else None


def test_a_large_mean_costs_no_digits() -> None:
    assert one(F.VAR_SAMP, VALUES) == 30.0
    assert one(F.STDDEV_POP, VALUES) == pytest.approx(statistics.pstdev([4, 7, 13, 16]), rel=1e-14)


def test_too_few_values_have_no_sample_variance() -> None:
    assert one(F.VAR_SAMP, VALUES[:1]) is None
    assert one(F.VAR_POP, VALUES[:1]) == 0.0
    assert one(F.VAR_POP, VALUES[:0]) is None


def test_equal_values_lean_nowhere() -> None:
    assert one(F.SKEWNESS, np.array([2.0, 2.0])) is None
    assert one(F.KURTOSIS, np.array([2.0, 2.0])) is None


def test_pairs_on_a_line_are_correlated() -> None:
    groups = np.zeros(4, np.int64)
    found, _ = pair_moments(F.CORR, VALUES, -2 * VALUES, groups, 1)
    assert found[0] == pytest.approx(-1.0)
    assert not pair_moments(F.CORR, VALUES, np.ones(4), groups, 1)[1][0]
    assert pair_moments(F.COVAR_SAMP, VALUES, VALUES, groups, 1)[0][0] == 30.0
