"""Dates as text: the plain form, Spark's looser one for CAST, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.date_text import format_date, format_date_column, parse_date


def test_the_plain_form_is_read_and_written() -> None:
    texts = pa.array(["1970-01-01", "2024-02-29", "0001-01-01", "9999-12-31"])
    days, bad = parse_date(texts)
    assert days.tolist() == [0, 19782, -719162, 2932896]
    assert not bad.any()
    assert format_date(days).to_pylist() == texts.to_pylist()


@pytest.mark.parametrize("text", ["2024-02-30", "0000-01-01", "24-01-01", "", "2024"])
def test_what_is_no_date_in_data_is_told(text: str) -> None:
    days, bad = parse_date(pa.array(["1970-01-02", text]))
    assert (days.tolist()[0], bad.tolist()) == (1, [False, True])


def test_a_cast_reads_less_as_well() -> None:
    days, bad = parse_date(pa.array(["2024", "2024-3", "2024-03-01T10:00", "no"]), cast=True)
    assert bad.tolist() == [False, False, False, True]
    assert format_date(days[:3]).to_pylist() == ["2024-01-01", "2024-03-01", "2024-03-01"]


def test_null_positions_hold_any_text() -> None:
    column = Column(ColumnType.DATE, np.array([1, 10**9]), np.array([True, False]))
    assert format_date_column(column).to_pylist()[0] == "1970-01-02"
