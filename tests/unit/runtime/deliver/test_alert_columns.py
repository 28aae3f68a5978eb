"""Texts of alerts, by column."""

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.alerts import Text
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.deliver.alert_columns import AlertColumns, text_of

COLUMNS = (
    text_column(pa.array(["a", None])),
    Column(ColumnType.DOUBLE, np.array([1.0, 2.5])),
    Column(ColumnType.TIMESTAMP, np.array([0, 1]), np.array([True, False])),
)


def test_outputs_stand_in_a_text_as_cast_to_string() -> None:
    text = Text("summary", ("<", "|", "|", ">"), (0, 1, 2))
    found = text_of(text, COLUMNS, np.array([0, 1])).to_pylist()
    assert found == ["<a|1.0|1970-01-01 00:00:00>", "<null|2.5|null>"]


def test_a_text_without_outputs_is_the_same_everywhere() -> None:
    assert text_of(Text("note", ("{}",), ()), COLUMNS, np.array([1])).to_pylist() == ["{}"]


def test_some_rows_are_taken_of_everything() -> None:
    numbers = np.array([1, 3])
    alert = AlertColumns("high", (), ("k",), (COLUMNS[0],), numbers, 10 * numbers, 2 * numbers)
    taken = alert.take(np.array([1]))
    assert taken.states.tolist() == [3]
    assert taken.since_us.tolist() == [30]
    assert taken.key_columns[0].values.to_pylist() == [None]
