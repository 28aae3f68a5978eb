"""Groups and orders of rows: NULLs together, NaNs together and above all, -0.0 is 0.0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.pull.aggregate.grouping import number_rows
from cqc.runtime.pull.over.ordering import SortKey, distinct_rows, limited_rows, sorted_rows

ONE_WINDOW = np.zeros(5, np.int64)


def ordered(
    type_: T, values: list[Any], descending: bool = False, nulls_first: bool = True
) -> list[Any]:
    key = SortKey(from_python(type_, values), descending, nulls_first)
    return [values[row] for row in sorted_rows(np.zeros(len(values), np.int64), [key])]


def test_equal_rows_have_one_number() -> None:
    doubles = from_python(T.DOUBLE, [0.0, -0.0, math.nan, math.nan, None])
    texts = from_python(T.STRING, ["a", "a", "a", "b", None])
    assert number_rows([doubles], 5)[0].tolist() == [0, 0, 1, 1, 2]
    assert number_rows([doubles, texts], 5)[0].tolist() == [0, 0, 1, 2, 3]


def test_nulls_come_first_ascending_and_last_descending_unless_said() -> None:
    assert ordered(T.BIGINT, [2, None, -1]) == [None, -1, 2]
    assert ordered(T.BIGINT, [2, None, -1], descending=True, nulls_first=False) == [2, -1, None]
    assert ordered(T.STRING, ["b", None, "é", "a"], nulls_first=False) == ["a", "b", "é", None]


def test_nan_is_above_infinity_and_the_largest_numbers_keep_their_order() -> None:
    values = [math.inf, -math.inf, 0.0, -1.5]
    assert ordered(T.DOUBLE, [math.nan, *values])[:4] == [-math.inf, -1.5, 0.0, math.inf]
    assert ordered(T.BIGINT, [2**63 - 1, -(2**63)], descending=True) == [2**63 - 1, -(2**63)]


def test_distinct_and_limit_work_window_by_window() -> None:
    window = np.array([0, 0, 0, 1, 1])
    rows = distinct_rows(window, [from_python(T.BIGINT, [7, 7, 8, 7, 7])])
    assert rows.tolist() == [0, 2, 3]
    assert limited_rows(window, 2).tolist() == [0, 1, 3, 4]
    assert limited_rows(window[:0], 2).tolist() == []
