"""One row for each element."""

from __future__ import annotations

import numpy as np
import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType, array_of
from cqc.compiler.meaning.views import Unnest
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.convert.arrow_out import to_objects
from cqc.runtime.columns.convert.python_columns import column_of_values
from cqc.runtime.columns.unnested import unnested


@pytest.mark.parametrize("outer", [False, True])
def test_rows_without_elements_are_kept_where_asked(outer: bool) -> None:
    relation = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT, n BIGINT);").catalog.relations[
        "s"
    ]
    arrays, _ = column_of_values(array_of(ColumnType.BIGINT), [[7, None], None, [], [9]])
    times = np.array([1, 2, 3, 4]) * 1_000_000
    columns = [from_python(ColumnType.BIGINT, [1, 2, 3, 4]), arrays]
    made, ts_us = unnested(relation, Unnest(1, outer, True), columns, times)
    rows = list(zip(*map(to_objects, made), strict=True))
    kept = [(1, 7, 1), (1, None, 2)] + ([(2, None, None), (3, None, None)] if outer else [])
    assert rows == [*kept, (4, 9, 1)]
    assert (ts_us // 1_000_000).tolist() == [row[0] for row in rows]
