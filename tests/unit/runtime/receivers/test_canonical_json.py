"""Canonical JSON: numbers as JavaScript writes them, names in the order of their UTF-16 units."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.receivers.canonical_json import canonical_number, canonical_rows


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (110.0, "110"),
        (-1.25, "-1.25"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (333333333.33333329, "333333333.3333333"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
    ],
)
def test_numbers_are_written_as_the_standard_says(value: float, text: str) -> None:
    assert canonical_number(value) == text


def test_names_are_sorted_by_utf16_and_text_is_escaped_no_more_than_it_must_be() -> None:
    columns = [
        Column(ColumnType.STRING, pa.array(['a"\n\u2028é']), None),
        Column(ColumnType.BIGINT, np.array([7]), None),
        Column(ColumnType.BOOLEAN, np.array([True]), np.array([False])),
    ]
    rows = canonical_rows(["\ufb33", "\U0001f600", "a"], columns, 1).to_pylist()
    assert rows == ['{"a":null,"\U0001f600":"7","\ufb33":"a\\"\\n\u2028é"}']
