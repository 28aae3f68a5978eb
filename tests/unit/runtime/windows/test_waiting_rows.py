from __future__ import annotations

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.columns.saved_columns import loaded, loaded_array, saved
from cqc.runtime.windows.waiting_rows import Rows, window_column

TYPES = (
    ColumnType.STRING,
    ColumnType.BIGINT,
    ColumnType.BOOLEAN,
    ColumnType.DOUBLE,
    ColumnType.TIMESTAMP,
)
VALUES: tuple[list[object], ...] = (["a", None], [1, None], [None, True], [0.5, None], [None, 7])


def test_rows_come_back_from_text_as_they_were() -> None:
    times = np.array([1, 2], np.int64)
    columns = tuple(from_python(type_, values) for type_, values in zip(TYPES, VALUES, strict=True))
    rows = Rows.loaded(Rows(times, times + 5, columns).saved(), TYPES)
    assert rows.ts_us.tolist() == [1, 2]
    assert rows.end_us.tolist() == [6, 7]
    assert [to_python(column) for column in rows.columns] == list(VALUES)


def test_partial_aggregates_come_back_column_by_column() -> None:
    partials = np.arange(12, dtype=np.float64).reshape(3, 4)
    assert loaded_array(loaded(saved({"p": partials})), "p").tolist() == partials.tolist()


def test_rows_join_and_none_are_none() -> None:
    none = Rows.none(TYPES)
    assert len(Rows.joined([none, none])) == 0


def test_a_window_shows_seconds_where_event_time_is_a_number() -> None:
    us = np.array([1_500_000, -2_000_000], np.int64)
    assert to_python(window_column(us, ColumnType.DOUBLE)) == [1.5, -2.0]
    assert to_python(window_column(us, ColumnType.TIMESTAMP)) == [1_500_000, -2_000_000]
