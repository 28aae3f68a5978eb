"""The elements of arrays as one column: where they begin, and passes over the elements of each row, beside Python's."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ArrayType
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.nested import nested_column
from cqc.runtime.expressions.nested.lists import (
    Lists,
    extreme_numbers,
    first_in_short_rows,
    rows_of_elements,
)

ROWS = [[1, 2], [], None, [3], [None], [5, None, 4], [7]]


def lists_of(rows: list[object], type_: T, arrow: pa.DataType) -> Lists:
    return Lists(nested_column(ArrayType(type_), pa.array(rows, pa.list_(arrow))))


@pytest.mark.parametrize("part", [slice(0, 7), slice(3, 5), slice(5, 7), slice(1, 1), slice(0, 2)])
def test_parts_of_arrays_have_their_own_elements(part: slice) -> None:
    whole = pa.array(ROWS, pa.list_(pa.int64()))
    nested = whole.slice(part.start, part.stop - part.start)
    lists = Lists(nested_column(ArrayType(T.BIGINT), nested))
    rows = ROWS[part]
    assert lists.lengths.tolist() == [len(row or ()) for row in rows]
    assert lists.flat.to_pylist() == [each for row in rows for each in row or ()]
    assert lists.rows.tolist() == [at for at, row in enumerate(rows) for _ in row or ()]
    assert lists.any_unknown().tolist() == [None in (row or ()) for row in rows]
    assert lists.any_of(~lists.known).tolist() == [None in (row or ()) for row in rows]


def test_the_row_of_each_element() -> None:
    assert rows_of_elements(np.array([0, 2, 2, 3])).tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("type_", "arrow", "row", "least", "most"),
    [
        (T.BIGINT, pa.int64(), [3, -(2**63), 2**63 - 1], -(2**63), 2**63 - 1),
        (T.BIGINT, pa.int64(), [None, 3, None, 1, None], 1, 3),
        (T.BIGINT, pa.int64(), [None], None, None),
        (T.BIGINT, pa.int64(), [], None, None),
        (T.DOUBLE, pa.float64(), [1.5, math.nan, -math.inf], -math.inf, math.nan),
        (T.DOUBLE, pa.float64(), [math.nan, 1.5, math.nan], 1.5, math.nan),
        (T.DOUBLE, pa.float64(), [math.nan], math.nan, math.nan),
        (T.DOUBLE, pa.float64(), [-0.0, 0.0], -0.0, -0.0),
        (T.BOOLEAN, pa.bool_(), [True, None, False], False, True),
    ],
)
def test_the_extremes_of_a_row(
    type_: T, arrow: pa.DataType, row: list[object], least: object, most: object
) -> None:
    for greatest, expected in ((False, least), (True, most)):
        for rows in ([row], [[row[0]] if row else [None], row, None]):
            found, there = extreme_numbers(lists_of(rows, type_, arrow), greatest=greatest)
            at = len(rows) // 2
            value = found.tolist()[at] if there[at] else None
            assert repr(value) == repr(expected)


@pytest.mark.parametrize(
    ("type_", "arrow", "rows"),
    [
        (T.BIGINT, pa.int64(), [[1, 1, 2**62, None, 1, None], None, [], [1], [0, None, 0]]),
        (T.DOUBLE, pa.float64(), [[0.0, -0.0, 1.5], [math.nan, -math.nan, None], [1.5, 2.5]]),
        (T.BOOLEAN, pa.bool_(), [[True, False, True, None, False], [False, None]]),
        (
            T.STRING,
            pa.string(),
            [["a", "", "é", "ab", "a", None, "é", ""], None, ["a"], [None] * 2],
        ),
    ],
)
def test_what_is_there_for_the_first_time(
    type_: T, arrow: pa.DataType, rows: list[list[object] | None]
) -> None:
    def key(value: object) -> object:
        return "NaN" if isinstance(value, float) and math.isnan(value) else value

    expected = [
        key(value) not in [key(each) for each in row[:at]]
        for row in rows
        if row
        for at, value in enumerate(row)
    ]
    assert first_in_short_rows(lists_of(rows, type_, arrow)).tolist() == expected
