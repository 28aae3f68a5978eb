"""Values found in JSON text become columns as the same values from Python do."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.array_addresses import address
from cqc.runtime.columns.columns import to_python
from cqc.runtime.columns.convert.python_columns import column_of_values
from cqc.runtime.columns.convert.reading import Reading
from cqc.runtime.columns.repeated_text import RepeatedText, Repetition
from cqc.runtime.columns.timestamp_text import parse_iso
from cqc.runtime.sources.formats import json_values as scan
from cqc.runtime.sources.formats.json_columns import Found, column_of_found

TEXTS = [
    "null", "true", "false", "0", "-7", "3.0", "3.5", "1e3", "1e400", "-1e400", "9223372036854775807", "9223372036854775808",
    "1" * 400, "NaN", "Infinity", "-Infinity", '""', '"NaN"', '"-Infinity"', '"7"', r'"\u00fc"', '"2024-01-01T00:00:00Z"',
    '"soon"', "1700000000", "1700000000000", "1700000000000000", "1700000000000000000", "1700000000.5", "1e300", "[]", "{}",
]  # fmt: skip


def found(texts: list[str]) -> Found:
    data = np.frombuffer(",".join(texts).encode(), np.uint8)
    levels = np.zeros(scan.MOST_LEVELS, np.uint8)
    kinds, starts, ends, at = [], [], [], 0
    for _ in texts:
        end, kind = scan.scan_one(address(data), at, len(data), address(levels))
        is_text = kind in (scan.TEXT, scan.ESCAPED)
        kinds.append(kind)
        starts.append(at + is_text)
        ends.append(end - is_text)
        at = end + 1
    is_text = [kind in (scan.TEXT, scan.ESCAPED) for kind in kinds]
    others = sum(kind != scan.NULL for kind in kinds) - sum(is_text)
    return Found(
        data,
        np.array(kinds, np.uint8),
        np.array(starts, np.int32),
        np.array(ends, np.int32),
        sum(is_text),
        others,
    )


@pytest.mark.parametrize("type_", [T.BIGINT, T.DOUBLE, T.BOOLEAN, T.STRING, T.TIMESTAMP])
def test_a_column_is_what_python_values_make(type_: T) -> None:
    reading = Reading(lenient=type_ is not T.STRING)  # JSON text is as it was written
    column, bad = column_of_found(type_, found(TEXTS), reading)
    values = [json.loads(text) for text in TEXTS]
    expected, expected_bad = column_of_values(type_, values, reading)
    assert bad is not None
    assert expected_bad is not None
    assert dict(zip(TEXTS, bad.tolist(), strict=True)) == dict(
        zip(TEXTS, expected_bad.tolist(), strict=True)
    )
    assert repr(to_python(column)) == repr(to_python(expected))


def test_anything_has_its_json_text_as_it_was_written() -> None:
    texts = ["1.50", "true", '{"a":  [1, "é"]}', "NaN", '"7"', "null", r'"\n"', "1e3"]
    column, bad = column_of_found(T.STRING, found(texts))
    assert bad is None
    assert to_python(column) == ["1.50", "true", '{"a":  [1, "é"]}', "NaN", "7", None, "\n", "1e3"]


def test_text_is_what_cast_makes_of_it() -> None:
    column, bad = column_of_found(T.BIGINT, found(['" 7 "', '"x"', "8"]))
    assert to_python(column) == [7, None, 8]
    assert bad is not None
    assert bad.tolist() == [False, True, False]
    column, bad = column_of_found(T.BOOLEAN, found(['"yes"', "true", "null"]))
    assert (to_python(column), bad) == ([True, True, None], None)


def test_a_column_without_mistakes_has_no_marks() -> None:
    column, bad = column_of_found(T.STRING, found(['"a"', "null", r'"\n"']))
    assert (to_python(column), bad) == (["a", None, "\n"], None)
    column, bad = column_of_found(T.BIGINT, found(["1", "2"]))
    assert (to_python(column), bad, column.valid) == ([1, 2], None, None)


@pytest.mark.parametrize(
    ("texts", "is_coded"),
    [
        (['"a"', "null", r'"\\b"', "5"], True),
        (['"a"', r'"\u0061"', '"b"'], False),  # one text, written in two ways
        ([f'"{number}"' for number in range(70)], False),
    ],
)
def test_texts_that_repeat_are_kept_by_the_distinct_ones(texts: list[str], is_coded: bool) -> None:
    written = texts * (1 if len(texts) > 60 else 30)
    plain, _ = column_of_found(T.STRING, found(written))
    column, bad = column_of_found(T.STRING, found(written), repetition=Repetition())
    assert bad is None
    assert isinstance(column, RepeatedText) == is_coded
    assert to_python(column) == to_python(plain)


def test_a_column_that_nobody_reads_still_rejects_what_does_not_fit() -> None:
    column, bad = column_of_found(
        T.STRING, found(['"a"', r'"\ud800"']), Reading(lenient=False), is_read=False
    )
    assert to_python(column) == [None, None]
    assert bad is not None
    assert bad.tolist() == [False, True]


TIMES = [
    "2024-02-29T23:59:59Z",
    "2023-02-29T00:00:00Z",
    "1900-02-29T00:00:00.5Z",
    "2000-02-29T00:00:00.500000Z",
    "0001-01-01T00:00:00Z",
    "0000-12-31T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "2024-04-31T00:00:00Z",
    "2024-08-31T00:00:00.123Z",
    "2024-13-01T00:00:00Z",
    "2024-00-10T00:00:00Z",
    "2024-01-00T00:00:00Z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z",
    "2024-01-01T23:59:60Z",
    "2024-01-01T00:00:00.Z",
    "2024-01-01T00:00:00.1234567Z",
    "2024-01-01T00:00:00+01:00",
    "2024-01-01T00:00:00.12+01:00",
    "2024-01-01 00:00:00Z",
    "2024-01-01T00:00:00",
    "2024-01-01t00:00:00z",
    "2024-01-01T00:00:0xZ",
    "2024-01-01",
    "-024-01-01T00:00:00Z",
    "",
]


@pytest.mark.parametrize("text", TIMES)
def test_instants_are_those_of_their_texts(text: str) -> None:
    expected, wrong = parse_iso(pa.array([text]))
    for texts in (
        [json.dumps(text)],
        [json.dumps(text), '"2024-05-01T08:00:00.152Z"', "null", "7"],
    ):
        column, bad = column_of_found(T.TIMESTAMP, found(texts))
        assert bool(bad is not None and bad[0]) == bool(wrong[0])
        assert to_python(column)[0] == (None if wrong[0] else int(expected[0]))


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)))
def test_any_instant_is_read(instant: datetime) -> None:
    text = f"{instant.isoformat()}Z"
    expected, _ = parse_iso(pa.array([text]))
    column, bad = column_of_found(T.TIMESTAMP, found([json.dumps(text)]))
    assert (to_python(column), bad) == ([int(expected[0])], None)
