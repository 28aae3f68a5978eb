"""COUNT, SUM, AVG, MIN and MAX of groups: exact totals, NULLs, NaN, text, distinct values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cqc.compiler.meaning.bound import Aggregate, AggregateFunction, ColumnRef
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.pull.aggregate.aggregates import aggregate_rows
from tests.support.relations import SPAN

F = AggregateFunction


def one(function: F, type_: T, values: list[Any], distinct: bool = False) -> tuple[Any, int]:
    """The aggregate of one group, and how often it failed."""
    result = T.BIGINT if function is F.COUNT else T.DOUBLE if function is F.AVG else type_
    wanted = Aggregate(function, ColumnRef(0, 0, type_, SPAN), distinct, result, SPAN)
    groups = np.zeros(len(values), np.int64)
    column, failed = aggregate_rows(wanted, [from_python(type_, values)], groups, 1)
    (value,) = to_python(column)
    return value, failed


def test_a_total_that_does_not_fit_is_null_and_counted() -> None:
    assert one(F.SUM, T.BIGINT, [2**63 - 1, 1]) == (None, 1)
    assert one(F.SUM, T.BIGINT, [-(2**63), -1]) == (None, 1)


def test_a_total_that_only_overflows_on_the_way_is_exact() -> None:
    assert one(F.SUM, T.BIGINT, [2**63 - 1, 1, -1]) == (2**63 - 1, 0)
    assert one(F.SUM, T.DOUBLE, [1.7e308, 1.7e308, -1.7e308]) == (1.7e308, 0)
    assert one(F.AVG, T.DOUBLE, [1.7e308, 1.7e308]) == (1.7e308, 0)


def test_averages_are_rounded_once() -> None:
    assert one(F.AVG, T.BIGINT, [2**53 + 1, 2**53 + 1, 2**53 + 4])[0] == (3 * 2**53 + 6) / 3
    assert one(F.AVG, T.DOUBLE, [0.1] * 10)[0] == 0.1
    assert one(F.AVG, T.DOUBLE, [1e16, 1.0, -1e16])[0] == 1 / 3


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([math.inf, 1.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1.7e308, 1.7e308], math.inf),
    ],
)
def test_what_is_not_finite_adds_up_as_ieee_says(values: list[float], total: float) -> None:
    found = one(F.SUM, T.DOUBLE, values)[0]
    assert found == total or (math.isnan(found) and math.isnan(total))


def test_null_counts_for_nothing_and_no_values_give_null() -> None:
    assert one(F.COUNT, T.STRING, [None, "a"]) == (1, 0)
    assert one(F.COUNT, T.BIGINT, [None]) == (0, 0)
    for function in (F.SUM, F.AVG, F.MIN, F.MAX):
        assert one(function, T.BIGINT, [None, None]) == (None, 0)
    assert one(F.MIN, T.STRING, [None]) == (None, 0)


def test_texts_are_ordered_by_their_bytes() -> None:
    texts = ["b", "", "é", "a", None, "z"]
    assert one(F.MIN, T.STRING, texts)[0] == ""
    assert one(F.MAX, T.STRING, texts)[0] == "é"


def test_distinct_values_count_once() -> None:
    assert one(F.COUNT, T.DOUBLE, [0.0, -0.0, math.nan, math.nan, None], distinct=True)[0] == 2
    assert one(F.SUM, T.BIGINT, [3, 3, 4, None], distinct=True)[0] == 7


def test_truth_values_have_a_least_and_a_most() -> None:
    assert one(F.MIN, T.BOOLEAN, [True, False])[0] is False
    assert one(F.MAX, T.BOOLEAN, [True, None])[0] is True
