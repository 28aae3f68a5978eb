import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.cases.cells import at_path, read_json_value, read_value, write_time, write_value

STRING, TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP


@pytest.mark.parametrize("text", ["", "NULL", " a", "a ", "a|b", "it's", "'", "{", "# x", "--- x"])
def test_text_is_written_as_it_reads(text: str) -> None:
    assert read_value(write_value(text, STRING), STRING) == text


@pytest.mark.parametrize("cell", ["12:30:00", "12:30:00.000001", "2023-12-31T23:59:59Z"])
def test_times_of_the_first_of_2024_are_short(cell: str) -> None:
    assert write_value(read_value(cell, TIMESTAMP), TIMESTAMP) == cell


def test_times_that_are_numbers_are_seconds() -> None:
    assert write_time(5_000_000, ColumnType.BIGINT) == "5"
    assert write_time(1_500_000, ColumnType.DOUBLE) == "1.5"


def test_json_values_are_read_as_a_file_of_them_is() -> None:
    assert read_json_value({"a": [1]}, STRING) == '{"a": [1]}'
    assert read_json_value(7, STRING) == "7"
    assert read_json_value("7", ColumnType.BIGINT) == 7
    assert at_path({"Event": {"System": {"EventID": 1}}}, ("event", "system", "EventID")) == 1
    assert at_path({"Event": 5}, ("Event", "System")) is None
