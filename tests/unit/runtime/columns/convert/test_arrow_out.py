"""Columns as others want them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from cqc.compiler.meaning.types import type_of_text
from cqc.runtime.columns.convert.arrow_columns import column_of_arrow
from cqc.runtime.columns.convert.arrow_out import arrow_type, to_arrow, to_objects


def test_arrow_goes_out_as_it_came_in() -> None:
    type_ = type_of_text("STRUCT<d: DECIMAL(10, 2), m: MAP<STRING, BINARY>, t: ARRAY<TIMESTAMP>>")
    given = pa.array(
        [{"d": Decimal("1.50"), "m": [("k", b"x")], "t": [0, None]}, None], arrow_type(type_)
    )
    column, bad = column_of_arrow(type_, given)
    assert bad is None
    assert to_arrow(column).to_pylist() == given.to_pylist()
    assert to_objects(column)[0]["m"] == {"k": b"x"}
