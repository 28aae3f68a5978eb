"""Columns that were written for a checkpoint are read back as they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.columns.saved_columns import loaded, loaded_array, loaded_column, saved


def test_values_and_nulls_come_back() -> None:
    number = Column(ColumnType.BIGINT, np.array([1, 2]), np.array([True, False]))
    table = loaded(saved({"n": number, "t": text_column(pa.array(["a", None])), "a": np.eye(2)}))
    assert loaded_column(table, "n", ColumnType.BIGINT).is_valid().tolist() == [True, False]
    assert loaded_column(table, "t", ColumnType.STRING).values.to_pylist() == ["a", None]
    assert loaded_array(table, "a").tolist() == [[1.0, 0.0], [0.0, 1.0]]
