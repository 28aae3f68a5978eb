"""DISTINCT, ORDER BY and LIMIT for the rows of several windows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.pull.over.ordering import SortKey, distinct_rows, limited_rows, sorted_rows

WINDOW = np.array([0, 0, 0, 1, 1])


def test_equal_rows_of_one_window_count_once() -> None:
    columns = [
        from_python(T.BIGINT, [1, 1, None, 1, 1]),
        from_python(T.STRING, ["a", "a", "a", "a", "b"]),
    ]
    assert distinct_rows(WINDOW, columns).tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (T.BIGINT, [3, None, 1, -(2**63), 2**63 - 1]),
        (T.DOUBLE, [float("nan"), None, -1.0, float("-inf"), 2.0]),
        (T.STRING, ["b", None, "a", "é", "z"]),
        (T.BOOLEAN, [True, None, False, False, True]),
    ],
)
def test_rows_are_sorted_within_their_windows(type_: T, values: list[Any]) -> None:
    column = from_python(type_, values)
    up = sorted_rows(WINDOW, [SortKey(column, descending=False, nulls_first=True)])
    down = sorted_rows(WINDOW, [SortKey(column, descending=True, nulls_first=False)])
    assert up.tolist() == [1, 2, 0, *([4, 3] if type_ is T.STRING else [3, 4])]
    assert down.tolist() == [0, 2, 1, *([3, 4] if type_ is T.STRING else [4, 3])]


def test_equal_keys_leave_rows_as_they_are_and_the_second_key_decides() -> None:
    first, second = from_python(T.BIGINT, [1] * 5), from_python(T.BIGINT, [2, 1, 2, 9, 8])
    keys = [SortKey(first, True, False), SortKey(second, False, False)]
    assert sorted_rows(WINDOW, keys[:1]).tolist() == [0, 1, 2, 3, 4]
    assert sorted_rows(WINDOW, keys).tolist() == [1, 0, 2, 4, 3]


def test_a_limit_holds_for_each_window() -> None:
    assert limited_rows(WINDOW, 2).tolist() == [0, 1, 3, 4]
    assert limited_rows(WINDOW, 0).tolist() == []
    assert limited_rows(np.zeros(0, np.int64), 3).tolist() == []
