"""Columns of every type: cut, picked, joined, and shown as Python and Arrow values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import (
    concatenate,
    cut,
    from_python,
    null_column,
    select,
    take,
    to_arrow,
    to_python,
)

VALUES: list[tuple[T, list[Any]]] = [
    (T.BIGINT, [1, None, 3]),
    (T.DOUBLE, [0.5, 1.5, None]),
    (T.STRING, ["a", None, "c"]),
    (T.BOOLEAN, [None, True, False]),
    (T.TIMESTAMP, [0, None, 5]),
    (T.INTERVAL, [7, 8, 9]),
]


@pytest.mark.parametrize(("type_", "values"), VALUES)
def test_parts_of_a_column(type_: T, values: list[Any]) -> None:
    column = from_python(type_, values)
    assert len(column) == 3
    assert to_python(column) == values
    assert to_python(take(column, np.array([2, 0, 0]))) == [values[2], values[0], values[0]]
    assert to_python(select(column, np.array([True, False, True]))) == [values[0], values[2]]
    assert to_python(cut(column, 1, 3)) == values[1:]
    assert to_python(concatenate([column, column])) == values * 2


@pytest.mark.parametrize(("type_", "values"), VALUES)
def test_arrow_arrays_hold_the_same_nulls(type_: T, values: list[Any]) -> None:
    array = to_arrow(from_python(type_, values))
    assert array.is_valid().to_pylist() == [value is not None for value in values]


@pytest.mark.parametrize("type_", [*(type_ for type_, _ in VALUES), T.NULL])
def test_a_null_column_is_nothing_but_null(type_: T) -> None:
    assert to_python(null_column(type_, 2)) == [None, None]


def test_timestamps_are_utc_in_arrow() -> None:
    assert str(to_arrow(from_python(T.TIMESTAMP, [0])).type) == "timestamp[us, tz=UTC]"
