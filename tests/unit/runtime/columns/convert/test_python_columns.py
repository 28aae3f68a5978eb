"""Python values as columns: what is of the type is taken, what is not is marked, and NULL is neither."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.columns.convert.python_columns import column_of_values, epoch_us
from cqc.runtime.columns.convert.reading import Reading

DAY_US = 86_400_000_000
TAKEN: list[tuple[T, Any, Any]] = [
    (T.BIGINT, 3.0, 3), (T.BIGINT, Decimal(4), 4), (T.BIGINT, np.int8(5), 5),
    (T.DOUBLE, Decimal("0.5"), 0.5), (T.DOUBLE, "-Infinity", -math.inf), (T.DOUBLE, 10**400, math.inf), (T.DOUBLE, 2**63, 2.0**63),
    (T.BOOLEAN, np.True_, True), (T.STRING, np.str_("ü"), "ü"),
    (T.TIMESTAMP, datetime(1970, 1, 2), DAY_US), (T.TIMESTAMP, date(1970, 1, 2), DAY_US),
    (T.TIMESTAMP, datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0),
    (T.TIMESTAMP, "1970-01-02", DAY_US), (T.TIMESTAMP, 86_400, DAY_US), (T.TIMESTAMP, 0.5, 500_000),
    (T.TIMESTAMP, np.datetime64("1970-01-02"), DAY_US),
]  # fmt: skip
REFUSED: list[tuple[T, Any]] = [
    (T.BIGINT, True), (T.BIGINT, 0.5), (T.BIGINT, 2**63), (T.BIGINT, "7"), (T.BIGINT, math.nan),
    (T.DOUBLE, True), (T.DOUBLE, "7"), (T.BOOLEAN, 1), (T.BOOLEAN, "true"), (T.STRING, 7), (T.STRING, "\ud800"), (T.STRING, b"x"),
    (T.TIMESTAMP, "yesterday"), (T.TIMESTAMP, True), (T.TIMESTAMP, math.inf), (T.TIMESTAMP, "\ud800"), (T.TIMESTAMP, 1e300),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "value", "expected"), TAKEN)
def test_a_value_of_the_type_is_taken(type_: T, value: Any, expected: Any) -> None:
    column, bad = column_of_values(type_, [value, None])
    assert (to_python(column), bad) == ([expected, None], None)


@pytest.mark.parametrize(("type_", "value"), REFUSED)
def test_a_value_of_another_type_is_marked_and_null_is_not(type_: T, value: Any) -> None:
    column, bad = column_of_values(type_, [None, value], Reading(lenient=False))
    assert bad is not None
    assert bad.tolist() == [False, True]
    assert len(column) == 2


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (T.BIGINT, " 7 ", 7), (T.DOUBLE, "7e1", 70.0), (T.BOOLEAN, "yes", True), (T.STRING, 7, "7"), (T.STRING, True, "true"),
        (T.STRING, {"a": [1, None]}, '{"a": [1, null]}'), (T.BIGINT, "7.5", None), (T.BOOLEAN, 1, None), (T.STRING, b"x", None),
    ],
)  # fmt: skip
def test_a_lenient_reading_loses_nothing(type_: T, value: Any, expected: Any) -> None:
    column, bad = column_of_values(type_, [value])
    assert to_python(column) == [expected]
    assert (bad is None) == (expected is not None)


@pytest.mark.parametrize("missing", [None, np.datetime64("NaT")])
def test_what_is_missing_is_null(missing: Any) -> None:
    column, bad = column_of_values(T.TIMESTAMP, [missing, datetime(1970, 1, 1, tzinfo=UTC)])
    assert (to_python(column), bad) == ([None, 0], None)


def test_one_odd_value_changes_nothing_for_the_others() -> None:
    usual, _ = column_of_values(T.BIGINT, [1, None, 3])
    mixed, bad = column_of_values(T.BIGINT, [1, None, 3, "x"])
    assert to_python(usual) == [1, None, 3]
    assert to_python(mixed)[:3] == to_python(usual)
    assert bad is not None
    assert bad.tolist() == [False, False, False, True]


def test_the_size_of_a_number_tells_its_unit() -> None:
    for scale in (1, 1_000, 1_000_000, 1_000_000_000):
        assert epoch_us(1_700_000_000 * scale) == 1_700_000_000_000_000
    assert epoch_us(-(10**11) + 1) is None  # seconds, far before the year 1


@pytest.mark.parametrize("type_", [*(type_ for type_, _ in REFUSED), T.DATE, T.BINARY])
def test_no_values_are_a_column_without_rows(type_: T) -> None:
    column, bad = column_of_values(type_, [])
    assert (len(column), bad) == (0, None)
