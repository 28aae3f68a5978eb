"""Numbers, truth values and timestamps as text: whole columns against one text at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.instants import format_instant, parse_instant
from cqc.runtime.columns.number_text import (
    bigint_of,
    double_of,
    java_text,
    parse_bigint,
    parse_boolean,
    parse_double,
)
from cqc.runtime.columns.timestamp_text import (
    format_cast,
    format_iso,
    parse_cast,
    parse_iso,
    to_datetime,
)

NUMBER_LIKE = st.text("0123456789+-.eExX _naifNI\t", max_size=8)
TIME_LIKE = st.from_regex(
    r"\A[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"([T ][0-2][0-9](:[0-6][0-9](:[0-6][0-9](\.[0-9]{0,8})?)?)?(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?)?\Z"
)


def one(parsed: tuple[Any, Any]) -> Any:
    values, bad = parsed
    return None if bad[0] else values.tolist()[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("12", 12), ("-0", 0), ("+5", 5), (" 7\t", 7), ("007", 7)),
        *(("9223372036854775807", 2**63 - 1), ("9223372036854775808", None)),
        *(("1.0", None), ("0x10", None), ("1_0", None), ("", None), (" ", None), ("\uff11", None)),
        ("9" * 5000, None),
    ],
)
def test_bigint_in_data(text: str, value: int | None) -> None:
    assert one(parse_bigint(pa.array([text]))) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1", 1.0), ("1.", 1.0), (".5", 0.5), ("+1e3", 1000.0), ("1E-2", 0.01), (" 2 ", 2.0)),
        *(("1e400", math.inf), ("INFINITY", math.inf), ("-infinity", -math.inf), ("inf", math.inf)),
        *(("1d", None), ("0x1p3", None), (".", None), ("1e", None), ("+nan", None), ("", None)),
    ],
)
def test_double_in_data(text: str, value: float | None) -> None:
    assert one(parse_double(pa.array([text]))) == value


def test_nan_in_any_case() -> None:
    assert all(math.isnan(one(parse_double(pa.array([text])))) for text in ("NaN", "nan", "NAN"))


def test_booleans_in_data_are_true_and_false_in_any_case() -> None:
    values, bad = parse_boolean(pa.array(["true", "FALSE", "tRuE", "1", "yes", None]))
    assert values.tolist()[:3] == [True, False, True]
    assert bad.tolist() == [False, False, False, True, True, False]


def test_cast_reads_text_more_loosely() -> None:
    assert one(parse_double(pa.array(["1d"]), cast=True)) == 1.0
    assert one(parse_bigint(pa.array(["\x01 5\n"]), cast=True)) == 5
    assert one(parse_boolean(pa.array([" YES "]), cast=True)) is True


@settings(max_examples=50)
@given(st.lists(st.none() | NUMBER_LIKE, max_size=4))
def test_a_column_of_numbers_is_read_like_each_of_its_texts(texts: list[str | None]) -> None:
    array = pa.array(texts, type=pa.string())
    whole, no_whole = parse_bigint(array)
    double, no_double = parse_double(array)
    for at, text in enumerate(texts):
        if text is None:
            assert not no_whole[at]
            assert not no_double[at]
            continue
        trimmed = text.strip(" \t")
        assert (None if no_whole[at] else int(whole[at])) == bigint_of(trimmed)
        wanted = double_of(trimmed)
        assert no_double[at] == (wanted is None)
        assert wanted is None or np.array_equal(double[at], wanted, equal_nan=True)


@settings(max_examples=50)
@given(st.lists(st.none() | TIME_LIKE, max_size=3))
def test_a_column_of_timestamps_is_read_like_each_of_its_texts(texts: list[str | None]) -> None:
    us, bad = parse_iso(pa.array(texts, type=pa.string()))
    for at, text in enumerate(texts):
        wanted = None if text is None else parse_instant(text)
        assert bad[at] == (text is not None and wanted is None)
        assert wanted is None or us[at] == wanted


@settings(max_examples=50)
@given(
    st.lists(st.datetimes().map(str), min_size=1, max_size=4), st.sampled_from(["", "Z", "+02:30"])
)
def test_clean_timestamps_are_read_exactly(texts: list[str], zone: str) -> None:
    zoned = [text + zone for text in texts]
    us, bad = parse_iso(pa.array(zoned))
    assert not bad.any()
    assert us.tolist() == [parse_instant(text) for text in zoned]


def test_a_slice_of_a_text_array_is_read_in_its_own_bounds() -> None:
    array = pa.array(["x", "2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z", "y"]).slice(1, 2)
    us, bad = parse_iso(array)
    assert not bad.any()
    assert us.tolist() == [1_704_067_200_000_000, 1_704_067_201_000_000]
    numbers, bad = parse_bigint(pa.array(["x", "1", "2"]).slice(1, 2))
    assert numbers.tolist() == [1, 2]
    assert not bad.any()


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024", "2024-01-01T00:00:00Z"),
        ("2024-2", "2024-02-01T00:00:00Z"),
        ("2024-1-2 3", "2024-01-02T03:00:00Z"),
        ("2024-1-2 3:4:5", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.1234567+2", "2024-01-02T01:04:05.123456Z"),
        ("2024-01-02 03:04:05+2:30", "2024-01-02T00:34:05Z"),
        ("2024-01-02 03:04:05 UTC", "2024-01-02T03:04:05Z"),
    ],
)
def test_what_cast_reads_as_a_timestamp(text: str, iso: str) -> None:
    us = one(parse_cast(pa.array([text])))
    assert format_instant(us) == iso


@pytest.mark.parametrize(
    "text", ["", "24", "2024-13-01", "2024-01-01T", "2024-01-01 24:00:00", "now"]
)
def test_what_cast_does_not_read(text: str) -> None:
    assert one(parse_cast(pa.array([text]))) is None


@settings(max_examples=50)
@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=4))
def test_columns_are_written_like_single_instants(values: list[int]) -> None:
    us = np.array(values, dtype=np.int64)
    assert format_iso(us).to_pylist() == [format_instant(value) for value in values]


def test_cast_writes_a_space_and_only_the_needed_digits() -> None:
    texts = format_cast(np.array([0, 1_500_000, 1_000_010])).to_pylist()
    assert texts == ["1970-01-01 00:00:00", "1970-01-01 00:00:01.5", "1970-01-01 00:00:01.00001"]


def test_instants_beyond_the_calendar_are_text() -> None:
    assert to_datetime(2**62) == "+148108-07-06T14:00:27.387904Z"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (1e-4, "1.0E-4")),
        *((9999999.0, "9999999.0"), (1e7, "1.0E7"), (123456789.125, "1.23456789125E8")),
        *((math.nan, "NaN"), (-math.inf, "-Infinity"), (1e300, "1.0E300")),
    ],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert java_text(value) == text
