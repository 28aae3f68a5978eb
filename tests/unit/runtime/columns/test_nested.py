"""Nested columns: an Arrow array, and texts that are equal where values are."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import type_of_text
from cqc.runtime.columns.columns import concatenate, cut, select, take
from cqc.runtime.columns.nested import NestedColumn, decoded, encoded, inner_type, nested_of

TYPE = type_of_text("STRUCT<a: DOUBLE, b: ARRAY<STRUCT<c: STRING, d: MAP<STRING, BIGINT>>>>")
VALUES = [
    {"0": 1.5, "1": [{"0": 'x"y\n', "1": [{"0": "k", "1": 3}, {"0": "z", "1": None}]}, None]},
    None,
    {"0": None, "1": None},
    {"0": -math.inf, "1": []},
]


def column() -> NestedColumn:
    array = pa.array(VALUES, inner_type(TYPE))
    return NestedColumn(TYPE, array, np.array([True, False, True, True]))


def test_texts_read_back_as_the_values() -> None:
    texts = encoded(TYPE, column().nested)
    assert decoded(TYPE, texts).to_pylist() == VALUES
    assert texts.to_pylist()[1] is None


def test_nan_survives() -> None:
    type_ = type_of_text("ARRAY<DOUBLE>")
    (back,) = decoded(type_, encoded(type_, pa.array([[math.nan]]))).to_pylist()
    assert math.isnan(back[0])


def test_rows_are_taken_selected_cut_and_joined() -> None:
    whole = column()
    assert nested_of(take(whole, np.array([3, 0]))).to_pylist() == [VALUES[3], VALUES[0]]
    assert nested_of(select(whole, np.array([False, False, True, False]))).to_pylist() == [
        VALUES[2]
    ]
    assert nested_of(cut(whole, 1, 3)).to_pylist() == VALUES[1:3]
    assert nested_of(concatenate([whole, cut(whole, 0, 1)])).to_pylist() == [*VALUES, VALUES[0]]
