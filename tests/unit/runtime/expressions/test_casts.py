"""CAST between types: what has a counterpart is it, what has none fails, NULL stays NULL, one value is cast like a column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.expressions.casts import cast, null_where
from cqc.runtime.expressions.expression_kernels import constant

FAILS = object()
HOUR_US = 3_600_000_000
CASES: list[tuple[T, T, Any, Any]] = [
    (T.BIGINT, T.DOUBLE, 2**53 + 1, 2.0**53), (T.BIGINT, T.STRING, -7, "-7"), (T.BIGINT, T.BOOLEAN, -7, True),
    (T.BIGINT, T.TIMESTAMP, 3600, HOUR_US), (T.BIGINT, T.TIMESTAMP, 2**60, FAILS),
    (T.DOUBLE, T.BIGINT, -1.9, -1), (T.DOUBLE, T.BIGINT, math.nan, FAILS), (T.DOUBLE, T.BIGINT, 2.0**63, FAILS),
    (T.DOUBLE, T.STRING, 1e7, "1.0E7"), (T.DOUBLE, T.BOOLEAN, -0.0, False), (T.DOUBLE, T.BOOLEAN, math.nan, True),
    (T.DOUBLE, T.TIMESTAMP, 1.5, 1_500_000), (T.DOUBLE, T.TIMESTAMP, 1e300, FAILS),
    (T.BOOLEAN, T.BIGINT, True, 1), (T.BOOLEAN, T.DOUBLE, False, 0.0), (T.BOOLEAN, T.STRING, True, "true"),
    (T.TIMESTAMP, T.BIGINT, -1, -1), (T.TIMESTAMP, T.DOUBLE, 1_500_000, 1.5), (T.TIMESTAMP, T.STRING, 0, "1970-01-01 00:00:00"),
    (T.INTERVAL, T.BIGINT, HOUR_US, 3600), (T.INTERVAL, T.DOUBLE, 500_000, 0.5),
    (T.STRING, T.BIGINT, " 7", 7), (T.STRING, T.BIGINT, "7.0", FAILS), (T.STRING, T.DOUBLE, "1d", 1.0), (T.STRING, T.BOOLEAN, "yes", True),
    (T.STRING, T.BOOLEAN, "maybe", FAILS), (T.STRING, T.TIMESTAMP, "1970", 0), (T.STRING, T.TIMESTAMP, "soon", FAILS),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "value", "expected"), CASES)
def test_a_value_is_cast_or_fails(source: T, target: T, value: Any, expected: Any) -> None:
    column, failed = cast(from_python(source, [value, None]), target)
    wrong = [False, False] if failed is None else failed.tolist()
    assert wrong[0] is (expected is FAILS)
    if expected is not FAILS:
        assert to_python(column) == [expected, None]
    else:
        assert to_python(column)[1] is None


@pytest.mark.parametrize(("source", "target", "value", "expected"), CASES)
def test_a_constant_is_cast_like_a_column(source: T, target: T, value: Any, expected: Any) -> None:
    column, failed = cast(constant(value, source), target)
    if expected is FAILS:
        assert failed is not None
        assert bool(failed)
    else:
        got = (
            column.values.as_py() if isinstance(column.values, pa.Scalar) else column.values.item()
        )
        assert got == expected


def test_a_type_is_itself() -> None:
    column = from_python(T.BIGINT, [1])
    assert cast(column, T.BIGINT) == (column, None)


def test_what_the_binder_refuses_is_a_bug_here() -> None:
    with pytest.raises(InternalError, match="no cast from INTERVAL to BOOLEAN"):
        cast(from_python(T.INTERVAL, [1]), T.BOOLEAN)


def test_texts_are_made_null_where_a_mask_says_so() -> None:
    assert null_where(pa.array(["a", "b"]), np.array([True, False])).to_pylist() == [None, "b"]
    assert null_where(pa.scalar("a"), np.asarray(True)).as_py() is None
    assert null_where(pa.scalar("a"), np.asarray(False)).as_py() == "a"
