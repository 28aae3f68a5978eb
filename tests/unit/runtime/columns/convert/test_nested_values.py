"""Nested values from Python, Arrow and JSON, with what does not fit marked."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import type_of_text
from cqc.runtime.columns.convert.arrow_columns import column_of_arrow
from cqc.runtime.columns.convert.arrow_out import to_objects
from cqc.runtime.columns.convert.python_columns import column_of_values

STRUCT = type_of_text("STRUCT<a: BIGINT, b: ARRAY<STRING>>")


def test_names_of_fields_match_in_any_case_and_a_missing_one_is_null() -> None:
    column, bad = column_of_values(STRUCT, [{"A": 1}, {"b": ["x", 5]}, None])
    assert bad is None
    assert to_objects(column) == [{"a": 1, "b": None}, {"a": None, "b": ["x", "5"]}, None]


def test_a_value_with_a_bad_part_is_bad() -> None:
    _, bad = column_of_values(STRUCT, [{"a": "no"}, {"a": 1}, "text"])
    assert bad is not None
    assert bad.tolist() == [True, False, True]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([{"a": 1, "b": ["x"]}, None]),
        pa.array(['{"a": 1, "b": ["x"]}', None]),
        pa.array(['{"a": "1", "b": ["x"], "c": {}}', None]),
    ],
)
def test_arrow_gives_the_same(array: pa.Array) -> None:
    column, bad = column_of_arrow(STRUCT, array)
    assert bad is None
    assert to_objects(column) == [{"a": 1, "b": ["x"]}, None]


def test_a_map_comes_as_an_object_or_as_a_map_of_arrow() -> None:
    type_ = type_of_text("MAP<STRING, DOUBLE>")
    column, _ = column_of_values(type_, [{"k": 1, "z": None}, {}, None])
    assert to_objects(column) == [{"k": 1.0, "z": None}, {}, None]
    array = pa.array([[("k", 1.0)], None], pa.map_(pa.string(), pa.float64()))
    column, _ = column_of_arrow(type_, array)
    assert to_objects(column) == [{"k": 1.0}, None]
