"""Arrow arrays as columns: the same values are taken as from Python, whatever the layout, and some without a copy."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.columns.convert.arrow_columns import column_of_arrow, values_of_arrow
from cqc.runtime.columns.convert.python_columns import column_of_values

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
ARRAYS: list[tuple[T, Any]] = [
    (T.BIGINT, pa.array([1, None, -3], pa.int8())),
    (T.BIGINT, pa.array([2**64 - 1, 3], pa.uint64())),
    (T.BIGINT, pa.array([1.0, 1.5])),
    (T.DOUBLE, pa.array([1, None], pa.int32())),
    (T.DOUBLE, pa.array([1.5, None], pa.float32())),
    (T.DOUBLE, pa.array([Decimal("0.25"), None])),
    (T.BOOLEAN, pa.array([True, None, False])),
    (T.BOOLEAN, pa.array([0, 1])),
    (T.STRING, pa.array(["a", None, "ü"], pa.large_string())),
    (T.STRING, pa.array(["a", None, "a"]).dictionary_encode()),
    (T.STRING, pa.array([1, 2])),
    (T.STRING, pa.array(["a" * 20, None], pa.string_view())),
    (T.TIMESTAMP, pa.array([NOON, None], pa.timestamp("s", "Europe/Berlin"))),
    (T.TIMESTAMP, pa.array([NOON, None], pa.timestamp("ms"))),
    (T.TIMESTAMP, pa.array([date(2024, 1, 1), None])),
    (T.TIMESTAMP, pa.array(["2024-01-01T12:00:00Z", "soon", None])),
]


@pytest.mark.parametrize(("type_", "array"), ARRAYS)
def test_the_same_is_taken_as_from_python(type_: T, array: Any) -> None:
    column, bad = column_of_arrow(type_, array)
    expected, expected_bad = column_of_values(type_, values_of_arrow(array))
    marks = np.zeros(len(array), np.bool_)
    wrong, expected_wrong = (marks if each is None else each for each in (bad, expected_bad))
    assert wrong.tolist() == expected_wrong.tolist()
    for value, other, is_bad in zip(to_python(column), to_python(expected), wrong, strict=True):
        assert is_bad or value == other


@pytest.mark.parametrize(("type_", "array"), ARRAYS)
def test_a_part_of_an_array_is_not_the_whole(type_: T, array: Any) -> None:
    column, _ = column_of_arrow(type_, array)
    part, _ = column_of_arrow(type_, array[1:])
    assert to_python(part) == to_python(column)[1:]


def test_numbers_of_the_columns_own_layout_are_not_copied() -> None:
    array = pa.array([1, 2, 3])
    column, bad = column_of_arrow(T.BIGINT, array[1:])
    assert (column.values.tolist(), bad) == ([2, 3], None)
    assert column.values.ctypes.data == array.buffers()[1].address + 8


def test_nanoseconds_are_cut() -> None:
    array = pa.array([1_999, -1, None], pa.timestamp("ns"))
    assert to_python(column_of_arrow(T.TIMESTAMP, array)[0]) == [1, -1, None]


def test_an_instant_beyond_the_calendar_is_marked_in_any_unit() -> None:
    for unit, far in (("s", 10**15), ("ms", 10**17), ("us", 2**62)):
        _, bad = column_of_arrow(T.TIMESTAMP, pa.array([0, far], pa.timestamp(unit)))
        assert bad is not None
        assert bad.tolist() == [False, True]


def test_text_that_is_none_is_marked() -> None:
    array = pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())
    _, bad = column_of_arrow(T.STRING, array)
    assert bad is not None
    assert bad.tolist() == [False, True]


def test_an_array_of_nothing_but_null_is_of_any_type() -> None:
    for type_ in (T.BIGINT, T.DOUBLE, T.BOOLEAN, T.STRING, T.TIMESTAMP):
        column, bad = column_of_arrow(type_, pa.nulls(2))
        assert (to_python(column), bad) == ([None, None], None)
