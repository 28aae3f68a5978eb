"""Constants over all rows, and nested values as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ArrayType, ColumnType
from cqc.runtime.columns import nested
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.nested.spread import spread

if TYPE_CHECKING:
    import pytest


def test_a_constant_stands_on_every_row() -> None:
    assert spread(Column(ColumnType.BIGINT, np.asarray(7)), 3).values.tolist() == [7, 7, 7]
    text = Column(ColumnType.STRING, pa.scalar("a"))
    assert spread(text, 2).values.to_pylist() == ["a", "a"]


def test_nested_values_are_not_written_as_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("texts were asked for")

    monkeypatch.setattr(nested, "encoded", never)
    column = nested.nested_column(ArrayType(ColumnType.BIGINT), pa.array([[1], None]))
    assert spread(column, 2) is column
