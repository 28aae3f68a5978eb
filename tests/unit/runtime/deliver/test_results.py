"""Blocks of shared rows become results in result-time order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import Column, from_python
from cqc.runtime.deliver import results
from cqc.runtime.deliver.results import (
    NO_TIME,
    Result,
    ResultBlock,
    in_time_order,
    merge,
    python_values,
    results_of,
    time_value,
)
from tests.support.relations import block

if TYPE_CHECKING:
    import pytest


def test_results_of_all_queries_come_in_time_order() -> None:
    blocks = in_time_order(
        [
            block("a", {"x": (T.BIGINT, [1, 2])}, [3_000_000, 1_000_000]),
            block("b", {"x": (T.BIGINT, [7])}, [2_000_000]),
        ]
    )
    shown = [(result.query, result.row["x"]) for result in results_of(blocks)]
    assert shown == [("a", 2), ("b", 7), ("a", 1)]


def test_equal_times_keep_their_order() -> None:
    blocks = [
        block("a", {"x": (T.BIGINT, [1, 2])}, [5, 5]),
        block("b", {"x": (T.BIGINT, [3])}, [5]),
    ]
    assert [result.row["x"] for result in results_of(in_time_order(blocks))] == [1, 2, 3]


def test_picks_are_rows_of_shared_columns() -> None:
    few = block("a", {"x": (T.BIGINT, list(range(100)))}, [1, 2], picks=[7, 99])
    assert [result.row for result in results_of([few])] == [{"x": 7}, {"x": 99}]


def test_values_are_pythons() -> None:
    everything = block(
        "q",
        {"t": (T.TIMESTAMP, [1_500_000]), "n": (T.STRING, [None]), "i": (T.INTERVAL, [500_000])},
        [1_000_000],
    )
    assert list(results_of([everything])) == [
        Result(
            "q",
            {"t": datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC), "n": None, "i": 0.5},
            ts=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        )
    ]


def test_pull_results_have_an_instant_instead() -> None:
    pulled = block("q", {"n": (T.BIGINT, [0])}, [NO_TIME], is_at=True)
    assert list(results_of([pulled])) == [Result("q", {"n": 0}, ts=None, at=None)]
    later = block("q", {"n": (T.BIGINT, [0])}, [2_000_000], time_type=T.BIGINT, is_at=True)
    assert next(results_of([later])).at == 2


def test_numeric_event_time_stays_a_number() -> None:
    assert time_value(2_000_000, T.BIGINT) == 2
    assert isinstance(time_value(2_000_000, T.BIGINT), int)
    assert time_value(2_500_000, T.BIGINT) == 2.5
    assert isinstance(time_value(2_000_000, T.DOUBLE), float)


def test_merging_nothing_gives_nothing() -> None:
    block_of, place = merge([])
    assert (len(block_of), len(place)) == (0, 0)
    assert list(results_of([])) == []


def test_own_columns_hold_the_rows_of_the_query_alone() -> None:
    mine = block("a", {"x": (T.BIGINT, [4, 5, 6])}, [1, 2], picks=[2, 0])
    (column,) = mine.own_columns()
    assert isinstance(column, Column)
    assert np.array_equal(column.values, [6, 4])


def test_few_rows_of_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(column: Column) -> list[object]:
        made.append(len(column))
        return python_values(column)

    monkeypatch.setattr(results, "python_values", counted)
    values = list(range(1_000))
    shared = block("a", {"x": (T.BIGINT, values), "y": (T.BIGINT, values)}, [5, 6, 7], [900, 7, 7])
    other = replace(shared, query="b", picks=np.array([7, 3]), times_us=np.array([5, 6]))
    rows = [(each.query, each.row) for each in results_of([shared, other])]
    expected = [("a", 900), ("b", 7), ("a", 7), ("b", 3), ("a", 7)]
    assert rows == [(query, {"x": value, "y": value}) for query, value in expected]
    assert made == [3, 3]


def test_a_query_that_has_all_rows_in_order_is_given_them_as_they_are() -> None:
    column = from_python(T.BIGINT, [5, 6, 7])
    times = np.arange(3)
    for picks, same in (([0, 1, 2], True), ([0, 2, 1], False), ([0, 1], False), ([1, 2, 2], False)):
        own_block = ResultBlock(
            "q", ("x",), (column,), np.array(picks), times[: len(picks)], T.BIGINT, False
        )
        (own,) = own_block.own_columns()
        assert (own is column) == same
        assert own.values.tolist() == [5 + pick for pick in picks]
